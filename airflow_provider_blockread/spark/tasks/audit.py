"""Audit columns: what a sink's rows say about where they come from, behind the columns of the function."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pyarrow as pa

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.errors import FunctionError
from airflow_provider_blockread.exchange.model import ReadSpec
from airflow_provider_blockread.options import FrameFunction, GenerationOptions
from airflow_provider_blockread.spark.tasks.block_reader import Rows
from airflow_provider_blockread.spark.tasks.user_function import PLACE_TYPES, place_column

_INSTANT = pa.timestamp("us", "UTC")
_TYPES = PLACE_TYPES | {
    "_modified": _INSTANT,
    "_window": pa.string(),
    "_window_key": pa.string(),
    "_loaded": _INSTANT,
}
_OF_BLOCK = ("_file", "_modified", "_block")
_OF_RECORD = ("_offset",)


def audited(schema: pa.Schema, options: GenerationOptions) -> pa.Schema:
    """Return the schema of what the sink gets, with the audit columns that it asks for.

    Raises:
        FunctionError: when one of them is not known behind the function, or is another column of it.
    """
    return pa.schema([*schema, *(pa.field(name, _TYPES[name]) for name in _missing(schema, options))])


def _missing(schema: pa.Schema, options: GenerationOptions) -> list[str]:
    """Return the audit columns that rows do not have yet: a function may return those that it asked for."""
    sink, function = options.sink, options.function
    unknown = (*_OF_BLOCK, *_OF_RECORD) if isinstance(function, FrameFunction) else _OF_RECORD
    missing = []
    for name in sink.audit_columns:
        if name in schema.names:
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
        self._of_window: dict[str, object] = {"_window": spec.window, "_window_key": spec.key}
        if spec.loaded_at:
            self._of_window["_loaded"] = datetime.fromisoformat(spec.loaded_at)

    def schema(self, schema: pa.Schema | None) -> pa.Schema | None:
        """Return the schema of what the sink gets; None where only the function knows it."""
        return None if schema is None else audited(schema, self._options)

    def add(self, batch: pa.RecordBatch, rows: Rows | None = None) -> pa.RecordBatch:
        """Return a batch with the columns, if it is given of which rows it was made.

        Raises:
            FunctionError: as `audited`.
        """
        for name in _missing(batch.schema, self._options):
            batch = batch.append_column(name, self._column(name, batch.num_rows, rows))
        return batch

    def _column(self, name: str, length: int, rows: Rows | None) -> pa.Array:
        if rows is None or name in self._of_window:
            return pa.repeat(pa.scalar(self._of_window.get(name), _TYPES[name]), length)
        if len(rows.blocks) > 1 or name in _OF_RECORD:
            return _modified_column(rows) if name == "_modified" else place_column(name, rows)
        (block,) = rows.blocks  # of which a function may return fewer rows
        values = {"_file": block.version.path, "_block": block.number, "_modified": _modified(block)}
        return pa.repeat(pa.scalar(values[name], _TYPES[name]), length)


def _modified(block: Block) -> int | None:
    return block.version.mtime_ns // 1000 or None


def _modified_column(rows: Rows) -> pa.Array:
    """Return the column `_modified` of rows of several blocks."""
    values = pa.array([_modified(block) for block in rows.blocks], _INSTANT)
    return values.take(pa.array(np.repeat(np.arange(len(values)), rows.counts)))
