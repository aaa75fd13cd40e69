"""Files of any store: opened, listed and identified. Runs on executors; fsspec is loaded only if a store needs it."""

from __future__ import annotations

from airflow_provider_blockread.storage.stores import Stores

__all__ = ["Stores"]
