"""Audit columns: they say where a sink's rows come from, and follow the columns of the function.

They are followed by the columns that a sink takes from the path of each file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, datetime
from urllib.parse import unquote

import pyarrow as pa

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.errors import FunctionError, OptionsError
from airflow_provider_blockread.exchange.model import ReadSpec
from airflow_provider_blockread.options import AsRead, ColumnarSink, FrameFunction, GenerationOptions, Sink
from airflow_provider_blockread.sinks.partitions import HIVE_NULL
from airflow_provider_blockread.spark.tasks.block_reader import Rows
from airflow_provider_blockread.spark.tasks.user_function import PLACE_TYPES, place_column, repeated

_DATE = re.compile(r"(?<![0-9])[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")
_INSTANT = pa.timestamp("us", "UTC")
_TYPES = PLACE_TYPES | {
    "_modified": _INSTANT,
    "_window": pa.string(),
    "_window_key": pa.string(),
    "_window_date": pa.date32(),
    "_loaded": _INSTANT,
}
_OF_BLOCK: dict[str, Callable[[Block], object]] = {
    "_file": lambda block: block.version.path,
    "_modified": lambda block: block.version.mtime_ns // 1000 or None,
    "_block": lambda block: block.number,
}
_OF_RECORD = ("_offset",)


def audited(schema: pa.Schema, options: GenerationOptions) -> pa.Schema:
    """Return the schema of what the sink gets, with the audit columns that its option requests.

    Raises:
        FunctionError: when the function's output does not determine one of them, or has another column of that name.
    """
    audit = [pa.field(name, _TYPES[name]) for name in _missing(schema, options)]
    return pa.schema([*schema, *audit, *(pa.field(name, pa.string()) for name in _of_path(schema, options))])


def check_date(sink: Sink, key: str) -> None:
    """Refuse a window whose key has no date, if the sink requests the date.

    Raises:
        OptionsError: naming the key.
    """
    if "_window_date" in sink.audit_columns and window_date(key) is None:
        msg = (
            f"the window's key {key!r} has no date such as 2026-01-31, which the sink's audit column _window_date"
            " holds; give the window a key with one, or use _window_key"
        )
        raise OptionsError(msg)


def window_date(key: str) -> date | None:
    """Return the first date in a window's key, or None; for an interval this is the day on which it starts."""
    for found in _DATE.findall(key):
        with suppress(ValueError):  # a month 13
            return date.fromisoformat(found)
    return None


def _of_path(schema: pa.Schema, options: GenerationOptions) -> Sequence[str]:
    """Return the columns that are taken from paths.

    Raises:
        FunctionError: when the rows already have such a column, or do not belong to a file.
    """
    sink = options.sink
    names = sink.path_columns if isinstance(sink, ColumnarSink) else ()
    if taken := next((name for name in names if name in schema.names), None):
        msg = f"the rows have a column {taken!r} of their own; leave it out of path_columns, or rename it"
        raise FunctionError(msg)
    if names and isinstance(options.function, FrameFunction) and "_file" not in schema.names:
        msg = (
            f"{options.function} does not return '_file', from which the sink's path_columns are taken; ask for it by"
            " columns=['_file'] and return it"
        )
        raise FunctionError(msg)
    return names


def _missing(schema: pa.Schema, options: GenerationOptions) -> list[str]:
    """Return the audit columns that rows do not have yet: a function may return those that it requested."""
    sink, function = options.sink, options.function
    unknown = (*_OF_BLOCK, *_OF_RECORD) if isinstance(function, FrameFunction) else _OF_RECORD
    missing = []
    for name in sink.audit_columns:
        if name in schema.names:
            own = isinstance(function, AsRead) and name not in function.columns  # otherwise the function returns it
            if own and not options.record_format.holds_members:
                msg = (
                    f"the records have a column {name!r} of their own, where the sink's audit columns are; leave it out"
                    " of audit, or rename theirs in a function"
                )
                raise FunctionError(msg)
            if schema.field(name).type != _TYPES[name]:
                found = schema.field(name).type
                msg = f"column {name!r} is {found}, but the sink's audit column is {_TYPES[name]}; rename one of them"
                raise FunctionError(msg)
        elif name not in unknown or function.rows_out == "all":
            missing.append(name)
        elif sink.needs_audit:
            way = f"ask for it by columns=[{name!r}] and return it" if name in PLACE_TYPES else "leave it out of audit"
            msg = f"{function} returns no column {name!r}, which the sink's audit asks for; {way}"
            raise FunctionError(msg)
    return missing


class Audit:
    """Adds the audit columns to batches of one job."""

    def __init__(self, spec: ReadSpec) -> None:
        self._options = spec.options
        self._of_window: dict[str, object] = {
            "_window": spec.window,
            "_window_key": spec.key,
            "_window_date": window_date(spec.key),
        }
        if spec.loaded_at:
            self._of_window["_loaded"] = datetime.fromisoformat(spec.loaded_at)

    def schema(self, schema: pa.Schema | None) -> pa.Schema | None:
        """Return the schema of what the sink gets, or None if only the function knows it."""
        return None if schema is None else audited(schema, self._options)

    def add(self, batch: pa.RecordBatch, rows: Rows | None = None) -> pa.RecordBatch:
        """Return a batch with the audit columns; `rows` are the rows from which it was made, if they are known.

        Raises:
            FunctionError: as `audited`.
        """
        missing, of_path = _missing(batch.schema, self._options), _of_path(batch.schema, self._options)
        for name in missing:
            batch = batch.append_column(name, self._column(name, batch.num_rows, rows))
        if of_path and batch.num_rows:
            files = (
                batch["_file"] if rows is None else self._column("_file", batch.num_rows, rows)
            ).dictionary_encode()
            for name in of_path:
                values = pa.array([path_value(path, name) for path in files.dictionary.to_pylist()], pa.string())
                batch = batch.append_column(name, values.take(files.indices))
        return batch

    def _column(self, name: str, length: int, rows: Rows | None) -> pa.Array:
        if rows is None or name in self._of_window:
            return pa.repeat(pa.scalar(self._of_window.get(name), _TYPES[name]), length)
        if name in _OF_RECORD:
            return place_column(name, rows)
        values = pa.array([_OF_BLOCK[name](block) for block in rows.blocks], _TYPES[name])
        # A function gets rows of a single block, and may return fewer.
        return repeated(values, rows) if len(values) > 1 else pa.repeat(values[0], length)


def path_value(path: str, name: str) -> str | None:
    """Return the value of a column in the folders of a file, as in Hive's `day=2026-01-02/`, or None for Hive's null.

    Raises:
        FunctionError: when no folder names the column.
    """
    for folder in reversed(path.split("/")[:-1]):
        key, equals, value = folder.partition("=")
        if equals and _unescaped(key) == name:
            return None if value in {"", HIVE_NULL} else _unescaped(value)
    msg = (
        f"{path} has no folder {name}=..., from which the sink's path_columns takes a column; leave the file out by the"
        " source's pattern, or the column out of path_columns"
    )
    raise FunctionError(msg)


def _unescaped(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:  # what looks like escapes is literal text
        return text
