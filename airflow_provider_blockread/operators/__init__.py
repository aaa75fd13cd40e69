"""The four steps as Airflow operators: thin wrappers around `steps`."""

from __future__ import annotations
