"""Makes the sink that an option describes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pkgutil import resolve_name
from typing import Any, cast

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.exchange.layout import published_quarantine
from airflow_provider_blockread.options import (
    ArchiveSink,
    ColumnarSink,
    CsvSink,
    CustomSink,
    DeltaSink,
    IcebergSink,
    JsonLinesSink,
    ParquetSink,
    PostgresSink,
    Sink,
    TextSink,
)
from airflow_provider_blockread.records.custom import Demands, make_object
from airflow_provider_blockread.sinks.archive import ArchiveDirectory
from airflow_provider_blockread.sinks.json_csv import CsvRows, JsonObjects
from airflow_provider_blockread.sinks.parquet import ParquetDirectory
from airflow_provider_blockread.sinks.protocol import Access, RecordSink
from airflow_provider_blockread.sinks.tables.format import TableFormat
from airflow_provider_blockread.sinks.tables.rows import RowTable
from airflow_provider_blockread.sinks.tables.table import Table
from airflow_provider_blockread.sinks.text import TextDirectory, TextLines
from airflow_provider_blockread.storage import Stores

#: The module with its class, and the extra, of each table format; its library is loaded only where commits are made.
_FORMATS: dict[type[Sink], tuple[str, str]] = {
    DeltaSink: ("delta.table:DeltaLake", "delta"),
    IcebergSink: ("iceberg.table:IcebergTable", "iceberg"),
    PostgresSink: ("postgres.table:PostgresTable", "postgres-table"),
}


#: Options of output files that also apply to the files of quarantined records.
_WRITING = ("compression", "row_group_bytes", "file_bytes", "conn_id")

_OWN_SINK = Demands(
    what="sink",
    base="sinks.Directory",
    page="docs/how_to/own_sink.md",
    values={"uri": str, "kind": str},
    methods=("prepare", "writer", "placed", "count", "steps", "state", "apply", "undo", "sweep", "is_empty"),
)


def make_sink(stores: Stores, option: Sink, kind: str = "output", access: Access | None = None) -> RecordSink:
    """Return the sink that an option describes.

    Args:
        stores: opens the sink's files.
        option: the sink's option.
        kind: `output`; or `quarantine`, for what `quarantine_of` returns.
        access: the fields of the connections of catalogs and databases, by id; not needed to write files.

    Raises:
        OptionsError: when a custom sink cannot be imported or built, or does not implement the protocol of sinks.
    """
    return _MAKERS[type(option)](stores, option, kind, {} if access is None else access)


def quarantine_of(option: Sink, feed: str, window: str) -> Sink:
    """Return the sink for the bad records of a window: Parquet files in the work area, whatever the sink's kind."""
    written = option if isinstance(option, ColumnarSink) else ParquetSink(option.uri)
    same = {name: getattr(written, name) for name in _WRITING}
    place = {"uri": published_quarantine(option.work_area, feed, window), "work_uri": option.work_area}
    return ParquetSink(**same | place)


def _table(stores: Stores, option: ColumnarSink, _: str, access: Access) -> RecordSink:
    cls = RowTable if isinstance(option, PostgresSink) else Table
    return cls(stores, option, partial(_format, stores, option, access))


def _format(stores: Stores, option: ColumnarSink, access: Access) -> TableFormat:
    path, extra = _FORMATS[type(option)]
    try:
        made: TableFormat = resolve_name(f"{__package__}.tables.{path}")(stores, option, access)
    except ImportError as error:
        msg = (
            f"{option.place}: a {option.kind} sink needs a package that is not installed here; install it:"
            f" pip install 'airflow-provider-blockread[{extra}]'"
        )
        raise OptionsError(msg) from error
    return made


def _custom(stores: Stores, option: CustomSink, _: str, access: Access) -> RecordSink:
    made = make_object(option.path, option.options, _OWN_SINK, lambda cls, own: cls(stores, option, access, **own))
    return cast("RecordSink", made)


_MAKERS: dict[type[Sink], Callable[[Stores, Any, str, Access], RecordSink]] = {
    ParquetSink: lambda stores, option, kind, _: ParquetDirectory(stores, option, kind),
    TextSink: lambda stores, option, *_: TextDirectory(stores, option, TextLines(option.terminator_bytes)),
    JsonLinesSink: lambda stores, option, *_: TextDirectory(stores, option, JsonObjects()),
    CsvSink: lambda stores, option, *_: TextDirectory(stores, option, CsvRows(option)),
    ArchiveSink: lambda stores, option, *_: ArchiveDirectory(stores, option),
    DeltaSink: _table,
    IcebergSink: _table,
    PostgresSink: _table,
    CustomSink: _custom,
}
