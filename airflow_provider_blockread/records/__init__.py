"""Record formats: where records start and end, and how they become Arrow batches."""

from __future__ import annotations

from airflow_provider_blockread.records.format import BaseFormat, RecordFormat
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.model import Walk
from airflow_provider_blockread.records.reading import read_records, scan_block
from airflow_provider_blockread.records.registry import make_format, record_format
from airflow_provider_blockread.records.statemap import StateMap
from airflow_provider_blockread.records.text.format import TextFormat

__all__ = [
    "BaseFormat",
    "ByteSource",
    "RecordFormat",
    "StateMap",
    "TextFormat",
    "Walk",
    "make_format",
    "read_records",
    "record_format",
    "scan_block",
]
