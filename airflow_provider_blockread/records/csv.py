"""Rows of separated, quoted fields."""

from __future__ import annotations

from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.records.format import Walk
from airflow_provider_blockread.records.source import ByteSource
from airflow_provider_blockread.records.text import TextFormat


class CsvFormat(TextFormat):
    """Rows of separated, quoted fields."""

    name = "csv"

    def __init__(self, option: Csv) -> None:
        """Take the option as the DAG author wrote it."""
        self.option = option

    def cut(self, source: ByteSource, offset: int, state: int) -> int:
        """Return the first record start at or after `offset`."""
        raise NotImplementedError

    def walk(self, buffer: bytes, *, final: bool) -> Walk:
        """Return the records of `buffer`."""
        raise NotImplementedError
