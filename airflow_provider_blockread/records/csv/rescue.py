"""Csv rows with what fits no column: it is kept as JSON text in the column `_rescued`.

These are fields that a header names and the schema does not, fields behind the last column, and values that are not of
their column's type. A field that is null holds nothing, and is not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice

import numpy as np
import pyarrow as pa

from airflow_provider_blockread.records.columns.rescued import Rescue, Rescuing, as_object, as_text
from airflow_provider_blockread.records.csv.fields import Dialect, Field, names_by_place
from airflow_provider_blockread.records.model import Chunk, Decoder

_EMPTY = Field("", quoted=False, closed=True)
_MOST_OTHERS = 16_384  # fields without a column that are kept of a row: each takes much more memory than its text


class RescuingCsvDecoder(Rescuing[list[Field], Field]):
    """Decodes as `CsvDecoder`, and keeps what fits no column.

    A row is only bad where it has too few fields or far too many, is not framed as csv or not UTF-8, or lacks what must
    not be null.

    Args:
        make: returns the decoder of rows with fields of some names to the columns of a schema, which are among them.
        schema: the columns.
        names: of all fields, by their place.
        dialect: how rows are written.
        null: the text of a field that is null.
    """

    def __init__(
        self,
        make: Callable[[pa.Schema, Sequence[str]], Decoder],
        schema: pa.Schema,
        *,
        names: tuple[str, ...],
        dialect: Dialect,
        null: str,
    ) -> None:
        super().__init__(make(schema, names), lambda columns: make(columns, columns.names))
        self._others = [name for name in names if name not in schema.names]
        self._all = make(pa.schema([*schema, *((name, pa.string()) for name in self._others)]), names)
        self._known, self._names = frozenset(schema.names), names
        self._dialect, self._null = dialect, null

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
        """Return a row as its fields; None where there are too few or far too many, or they are no text."""
        if b"\0" in record and "\0" not in self._dialect.marks.values():
            return None
        most = len(self._names) + _MOST_OTHERS
        fields = list(islice(self._dialect.fields(self._dialect.decode(record), self._null), most + 1))
        if not len(self._names) <= len(fields) <= most or not fields[-1].closed:
            return None
        try:
            for field in fields:
                self._dialect.encode(field.text).decode()
        except UnicodeDecodeError:
            return None
        return fields

    def values(self, record: list[Field]) -> Mapping[str, Field]:
        """Return the fields that have a column."""
        return {name: value for name, value in zip(self._names, record, strict=False) if name in self._known}

    def alone(self, name: str, value: Field, columns: Sequence[str]) -> bytes:
        """Return a row in which the other fields are empty."""
        return self._dialect.join(value if name == column else _EMPTY for column in columns)

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
