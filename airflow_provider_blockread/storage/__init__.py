"""Files of any store: opened, listed and identified. Runs on executors; needs fsspec."""

from __future__ import annotations

from airflow_provider_blockread.storage.listing import list_files
from airflow_provider_blockread.storage.stores import Stores

__all__ = ["Stores", "list_files"]
