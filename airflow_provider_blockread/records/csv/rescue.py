"""Csv rows with what fits no column: it is kept as JSON text in the column `_rescued`.

These are fields that a header names and the schema does not, fields behind the last column, and values that are not of
their column's type. A field that is null holds nothing, and is not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import numpy as np
import pyarrow as pa

from airflow_provider_blockread.records.columns.rescued import Rescue, Rescuing, as_object, as_text
from airflow_provider_blockread.records.csv.fields import Dialect, Field, names_by_place
from airflow_provider_blockread.records.model import Chunk, Decoder

_EMPTY = Field("", quoted=False, closed=True)


class RescuingCsvDecoder(Rescuing[list[Field]]):
    """Decodes as `CsvDecoder`, and keeps what fits no column.

    A row is only bad where it has too few fields, is not framed as csv or not UTF-8, or lacks what must not be null.

    Args:
        make: returns the decoder to the columns of a schema, which are fields of the names.
        schema: the columns.
        names: of all fields, by their place.
        dialect: how rows are written.
        null: the text of a field that is null.
    """

    def __init__(
        self,
        make: Callable[[pa.Schema], Decoder],
        schema: pa.Schema,
        *,
        names: tuple[str, ...],
        dialect: Dialect,
        null: str,
    ) -> None:
        super().__init__(make(schema), make(pa.schema([field.with_nullable(True) for field in schema])))  # noqa: FBT003
        self._others = [name for name in names if name not in schema.names]
        self._all = make(pa.schema([*schema, *((name, pa.string()) for name in self._others)]))
        self._known, self._names = frozenset(schema.names), names
        self._dialect, self._nulls = dialect, {"", null}

    def read(self, chunk: Chunk) -> Rescue:
        """Return the good rows, and what they have in fields without a column."""
        decoded = self._all.decode(chunk)
        own = decoded.batch.num_columns - len(self._others)
        batch = pa.RecordBatch.from_arrays(decoded.batch.columns[:own], schema=self._plain.schema)
        found = Rescue(batch=batch, bad={record.index: record.reason for record in decoded.bad})
        if self._others and batch.num_rows:
            indices = np.delete(np.arange(len(chunk.ends)), list(found.bad)).tolist()
            values = zip(*(column.to_pylist() for column in decoded.batch.columns[own:]), strict=True)
            texts = (self._named(zip(self._others, row, strict=True)) for row in values)
            found.texts = {index: text for index, text in zip(indices, texts, strict=True) if text}
        return found

    def taken_apart(self, record: bytes) -> list[Field] | None:
        """Return a row as its fields; None where there are too few, or they are no text."""
        if b"\0" in record:
            return None
        fields = list(self._dialect.fields(self._dialect.decode(record)))
        if len(fields) < len(self._names) or not fields[-1].closed:
            return None
        try:
            texts = [self._dialect.encode(field.text).decode() for field in fields]
        except UnicodeDecodeError:
            return None
        nulls = (not field.quoted and text in self._nulls for field, text in zip(fields, texts, strict=True))
        return [_EMPTY if null else field for field, null in zip(fields, nulls, strict=True)]

    def alone(self, record: list[Field]) -> list[tuple[str, bytes]]:
        """Return for each field that has a column a row in which the others are empty."""
        names = [name for name in self._names if name in self._known]
        return [(name, self.cleaned(record, self._known.difference([name]))) for name in names]

    def cleaned(self, record: list[Field], misfits: Collection[str]) -> bytes:
        """Return a row whose fields all fit their columns; others are empty."""
        kept = self._known.difference(misfits)
        fields = zip(self._names, record, strict=False)
        return self._dialect.join(field if name in kept else _EMPTY for name, field in fields)

    def written(self, record: list[Field], misfits: Collection[str]) -> str:
        """Return as JSON what fits no column, by the names of the fields or their places."""
        names = [*self._names, *names_by_place(range(len(self._names), len(record)), self._names)]
        texts = (None if f == _EMPTY else self._dialect.encode(f.text).decode() for f in record)
        kept = self._known.difference(misfits)
        return self._named((name, text) for name, text in zip(names, texts, strict=True) if name not in kept)

    def _named(self, fields: Iterable[tuple[str, str | None]]) -> str:
        return as_object(((name,), as_text(text)) for name, text in fields if text is not None)
