"""The four steps as Airflow operators: thin skins over `steps`."""

from __future__ import annotations
