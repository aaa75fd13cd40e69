"""Renames columns of rows to the names that an output uses, if names are matched without case."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from airflow_provider_blockread.errors import FunctionError, OptionsError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.options import ColumnarSink
from airflow_provider_blockread.sinks.plain import alike
from airflow_provider_blockread.sinks.protocol import Writer

_Make = Callable[[pa.Schema | None], Writer]


def known_names(option: ColumnarSink, place: str, there: Sequence[str], own: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the names under which tasks write columns that differ from them only by case; empty if case matters.

    Args:
        option: says whether case matters, and names the partition columns.
        place: the name of the output.
        there: the output's columns.
        own: columns that the sink fills itself.

    Raises:
        OptionsError: when two columns of the output differ only by case.
    """
    if option.case_sensitive:
        return ()
    if two := alike(there):
        msg = (
            f"{place} has columns {two[0]!r} and {two[1]!r}, which case_sensitive=False does not distinguish; rename"
            " one of them, or set case_sensitive=True"
        )
        raise OptionsError(msg)
    asked = [
        *option.path_columns,
        *(each.column for each in option.partitions),
        *option.sort_by,
        *option.encodings,
        *option.codecs,
    ]
    names = [*asked, *own, *there]  # existing names win
    return tuple({name.lower(): name for name in names}.values())


def unmatched(schema: pa.Schema, option: ColumnarSink) -> str:
    """Return in words which columns of rows cannot be matched, or an empty string if all can."""
    two = None if option.case_sensitive else alike(schema.names)
    return (
        f"columns {two[0]!r} and {two[1]!r} are one to case_sensitive=False; rename one in the function" if two else ""
    )


def matched(schema: pa.Schema, known: Sequence[str]) -> pa.Schema:
    """Return the schema with columns renamed to the known names; unknown columns keep their names."""
    names = {name.lower(): name for name in known}
    return pa.schema([field.with_name(names.get(field.name.lower(), field.name)) for field in schema], schema.metadata)


def matched_writer(option: ColumnarSink, known: Sequence[str], make: _Make, schema: pa.Schema | None) -> Writer:
    """Return a writer for rows of a schema that renames columns to their known names before it writes them."""
    return make(schema) if option.case_sensitive else _MatchedWriter(option, known, make, schema)


class _MatchedWriter:
    def __init__(self, option: ColumnarSink, known: Sequence[str], make: _Make, schema: pa.Schema | None) -> None:
        self._option, self._known, self._last = option, known, schema
        self._names = [] if schema is None else matched(schema, known).names
        self._writer = make(None if schema is None else matched(schema, known))

    def write(self, batch: pa.RecordBatch, block: int | None = None) -> None:
        """Rename the columns of a batch, and write it."""
        if batch.schema != self._last or not self._names:
            if problem := unmatched(batch.schema, self._option):
                raise FunctionError(problem)
            self._last, self._names = batch.schema, matched(batch.schema, self._known).names
        self._writer.write(batch.rename_columns(self._names), block)

    def close(self) -> list[OutputFile]:
        """Finish, and return the files."""
        return self._writer.close()

    def abort(self) -> None:
        """Remove all that was written."""
        self._writer.abort()
