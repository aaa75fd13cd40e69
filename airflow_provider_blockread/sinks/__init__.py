"""Sinks: where records go. Groups write into staging; publishing moves what a proof has accepted."""

from __future__ import annotations

from airflow_provider_blockread.sinks.names import StagedName, output_name
from airflow_provider_blockread.sinks.parquet import ParquetWriter
from airflow_provider_blockread.sinks.publish import footer_rows, is_whole, publish_file, remove_file, sweep, target_uri

__all__ = [
    "ParquetWriter",
    "StagedName",
    "footer_rows",
    "is_whole",
    "output_name",
    "publish_file",
    "remove_file",
    "sweep",
    "target_uri",
]
