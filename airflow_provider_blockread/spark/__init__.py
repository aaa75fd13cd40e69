"""Code that runs on Spark: the application that reads one block group, and a data source for any session."""

from __future__ import annotations

from airflow_provider_blockread.spark.data_source.registering import register

__all__ = ["register"]
