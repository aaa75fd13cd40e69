"""From an option to the sink that does it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from airflow_provider_blockread.exchange.layout import published_quarantine
from airflow_provider_blockread.options import ParquetSink, Sink, TextSink
from airflow_provider_blockread.sinks.parquet import ParquetDirectory
from airflow_provider_blockread.sinks.protocol import RecordSink
from airflow_provider_blockread.sinks.text import TextDirectory
from airflow_provider_blockread.storage import Stores


def make_sink(stores: Stores, option: Sink, kind: str = "output") -> RecordSink:
    """Return the sink that an option describes; `kind` says whether it is an `output` or a `quarantine`."""
    return _MAKERS[type(option)](stores, option, kind)


def quarantine_of(option: Sink, feed: str, window: str) -> Sink:
    """Return where the bad records of a window go: Parquet files in the work area, whatever the sink."""
    made = option if isinstance(option, ParquetSink) else ParquetSink(option.uri)
    return replace(made, uri=published_quarantine(option.work_area, feed, window), work_uri=option.work_area)


_MAKERS: dict[type[Sink], Callable[[Stores, Any, str], RecordSink]] = {
    ParquetSink: ParquetDirectory,
    TextSink: TextDirectory,
}
