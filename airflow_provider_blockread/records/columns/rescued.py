"""The column `_rescued`: what fits no column of a record, as JSON text by its path in the record.

Nearly all records are decoded as without it. Those that are bad are looked at one by one: they are good without the
values that do not fit their columns, or stay bad.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.records.model import BadRecord, Chunk, Decoded, Decoder, Offsets

#: The name of the column.
RESCUED = "_rescued"

_TOGETHER = 64  # columns in which misfits are sought at once, by a row for each; more would cost their square

T = TypeVar("T")  # a record, taken apart
V = TypeVar("V")  # a value of it


@dataclass(kw_only=True)
class Rescue:
    """The rows of a chunk by the indices of their records, and what is known of others and of what fits no column."""

    batch: pa.RecordBatch  # of the good records, in order
    bad: dict[int, str]
    texts: dict[int, str] = field(default_factory=dict)


class Rescuing(ABC, Generic[T, V]):
    """Decodes records, and keeps what fits no column.

    Args:
        plain: decodes records of which only what fits is left; its schema is that of the rows, without `_rescued`.
        alone: returns the decoder of the records that `alone` makes for some of the columns, all of which may be null.
    """

    def __init__(self, plain: Decoder, alone: Callable[[pa.Schema], Decoder]) -> None:
        if RESCUED in plain.schema.names:
            msg = f"schema has a column {RESCUED!r}, which rescue=True adds; give it another name"
            raise OptionsError(msg)
        self._plain, self._make_alone = plain, alone
        self.schema: pa.Schema = plain.schema.append(pa.field(RESCUED, pa.string()))

    @abstractmethod
    def read(self, chunk: Chunk) -> Rescue:
        """Return the records whose values all fit their columns."""

    @abstractmethod
    def taken_apart(self, record: bytes) -> T | None:
        """Return a bad record as its fields; None where nothing can be rescued of it."""

    @abstractmethod
    def values(self, record: T) -> Mapping[str, V]:
        """Return the values of a record by their columns."""

    @abstractmethod
    def alone(self, name: str, value: V, columns: Sequence[str]) -> bytes:
        """Return a record of some columns with one value, that of the column with this name."""

    @abstractmethod
    def cleaned(self, record: T, misfits: Collection[str]) -> bytes:
        """Return a record without these values, and without what has no column."""

    @abstractmethod
    def written(self, record: T, misfits: Collection[str]) -> str:
        """Return as JSON what is left out of a cleaned record; empty if nothing is."""

    def decode(self, chunk: Chunk) -> Decoded:
        """Return the records as rows, with what fits no column as JSON."""
        found = self.read(chunk)
        parts = [(np.delete(np.arange(len(chunk.ends)), list(found.bad)), found.batch)]
        parts += self._rescued(chunk, found)
        reasons = tuple(BadRecord(index=index, reason=found.bad[index]) for index in sorted(found.bad))
        return Decoded(batch=self._joined(parts, found.texts), bad=reasons)

    def _rescued(self, chunk: Chunk, found: Rescue) -> Iterator[tuple[Offsets, pa.RecordBatch]]:
        """Yield the rows of bad records that are good without what fits no column; they are bad no more."""
        apart = {index: one for index in found.bad if (one := self.taken_apart(chunk.record(index))) is not None}
        for seeks in (False, True):  # a value of another type takes longer to find
            todo = [index for index in apart if index in found.bad]
            if not todo:
                return
            misfits: dict[int, Collection[str]] = dict.fromkeys(todo, ())
            if seeks:
                misfits |= self._misfits(chunk, {index: apart[index] for index in todo})
            decoded = self._plain.decode(chunk.with_lines([self.cleaned(apart[i], misfits[i]) for i in todo]))
            still = {todo[record.index]: record.reason for record in decoded.bad}
            good = [index for index in todo if index not in still]
            for index in good:
                text = self.written(apart[index], misfits[index])
                found.texts |= {index: text} if text else {}
                del found.bad[index]
            found.bad |= still
            yield np.array(good, np.int64), decoded.batch

    @cached_property
    def _columns(self) -> list[tuple[list[str], Decoder]]:
        fields = [field.with_nullable(True) for field in self._plain.schema]  # noqa: FBT003 - Arrow's
        groups = [pa.schema(fields[low : low + _TOGETHER]) for low in range(0, len(fields), _TOGETHER)]
        return [(group.names, self._make_alone(group)) for group in groups]

    def _misfits(self, chunk: Chunk, records: dict[int, T]) -> dict[int, set[str]]:
        """Return the columns whose values do not fit, by the record."""
        values = {index: self.values(one) for index, one in records.items()}
        found: dict[int, set[str]] = {}
        for names, decoder in self._columns:
            tried = [(index, name) for index, of_record in values.items() for name in names if name in of_record]
            texts = [self.alone(name, values[index][name], names) for index, name in tried]
            for bad in decoder.decode(chunk.with_lines(texts)).bad:
                index, name = tried[bad.index]
                found.setdefault(index, set()).add(name)
        return found

    def _joined(self, parts: list[tuple[Offsets, pa.RecordBatch]], texts: dict[int, str]) -> pa.RecordBatch:
        """Return all rows in the order of the records, with what was rescued of them."""
        indices, batch = parts[0]
        if len(parts) > 1:
            indices = np.concatenate([places for places, _ in parts])
            order = np.argsort(indices)
            table = pa.Table.from_batches([rows for _, rows in parts]).take(pa.array(order))
            batch = pa.RecordBatch.from_arrays([one.combine_chunks() for one in table.columns], schema=batch.schema)
            indices = indices[order]
        rescued = [texts.get(index) for index in indices.tolist()] if texts else pa.nulls(len(indices), pa.string())
        return batch.append_column(self.schema.field(RESCUED), pa.array(rescued, pa.string()))


def pointer(path: Iterable[str | int]) -> str:
    """Return a path as a JSON Pointer (RFC 6901)."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def as_object(members: Iterable[tuple[Iterable[str | int], str]]) -> str:
    """Return values that are JSON, by their paths, as a JSON object; empty if there are none."""
    written = [f"{as_text(pointer(path))}:{value}" for path, value in members]
    return f"{{{','.join(written)}}}" if written else ""


def as_text(text: str) -> str:
    """Return text as a JSON string; halves of surrogate pairs are escaped, since UTF-8 has none."""
    quoted = json.dumps(text, ensure_ascii=False)
    try:
        quoted.encode()
    except UnicodeEncodeError:
        return json.dumps(text)
    return quoted
