"""Sorts more rows than memory holds: sorted runs are kept on the local disk, and merged."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_RUNS = 64  # merged at once
_PIECES = 16  # per run; one at a time is in memory


def has_order(kind: pa.DataType) -> bool:
    """Return whether values of a type can be sorted."""
    try:
        in_order(pa.table({"c": pa.nulls(2, kind)}), ["c"])
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return False
    return True


def in_order(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return the rows sorted by ascending values of columns, nulls last; the sort is stable."""
    return table.take(_order(table, columns))


class Sorter:
    """Takes tables of one schema, and returns all of their rows in order.

    Args:
        columns: the columns to sort by.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = list(columns)
        self._newest: pa.Table | None = None  # a run that is in memory
        self._runs: _Runs | None = None  # earlier runs, on disk

    @property
    def held_bytes(self) -> int:
        """The bytes that it holds in memory."""
        return 0 if self._newest is None else int(self._newest.nbytes)

    @property
    def is_open(self) -> bool:
        """Whether it has a file open."""
        return self._runs is not None

    def add(self, table: pa.Table) -> None:
        """Add rows."""
        if not table.num_rows:
            return
        if self._newest is not None:
            if self._runs is None:
                self._runs = _Runs()
            if len(self._runs) == _RUNS:
                merged = _Runs()
                merged.add(_merged(self._runs.read(), self._columns))
                self._runs.close()
                self._runs = merged
            self._runs.add([self._newest])
        self._newest = in_order(table, self._columns)

    def rows(self) -> Iterator[pa.Table]:
        """Yield all rows in order, and drop them."""
        newest = [] if self._newest is None else [self._newest]
        if self._runs is None:
            yield from newest
        else:
            yield from _merged([*self._runs.read(), _pieces(newest)], self._columns)
        self.close()

    def close(self) -> None:
        """Drop all rows."""
        self._newest = None
        if self._runs is not None:
            self._runs.close()
            self._runs = None


class _Runs:
    """Sorted runs in an unnamed temporary file, so that a process that dies leaves nothing behind."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it
        self._ends = [0]

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, run: Iterable[pa.Table]) -> None:
        writer = None
        for piece in _pieces(run):
            if writer is None:
                options = pa.ipc.IpcWriteOptions(compression="lz4")
                writer = pa.ipc.new_stream(self._file, piece.schema, options=options)
            writer.write_table(piece)
        if writer is not None:
            writer.close()
            self._ends.append(self._file.tell())

    def read(self) -> list[Iterator[pa.Table]]:
        self._file.flush()
        mapped = pa.py_buffer(mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ))
        return [_read(mapped[start:end]) for start, end in pairwise(self._ends)]

    def close(self) -> None:
        self._file.close()


def _read(buffer: pa.Buffer) -> Iterator[pa.Table]:
    with pa.ipc.open_stream(pa.BufferReader(buffer)) as stream:
        for batch in stream:
            yield pa.Table.from_batches([batch])


def _pieces(run: Iterable[pa.Table]) -> Iterator[pa.Table]:
    for table in run:
        rows = -(-table.num_rows // _PIECES)
        for start in range(0, table.num_rows, max(rows, 1)):
            yield table.slice(start, rows)


def _merged(runs: Sequence[Iterator[pa.Table]], columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the rows of sorted runs in order; equal rows come in the order of their runs.

    One piece of each run is in memory. All rows up to the smallest last row of a piece precede all rows not yet read.
    """
    heads = {number: head for number, run in enumerate(runs) if (head := next(run, None)) is not None}
    while len(heads) > 1:
        numbers = list(heads)
        looked_at = pa.concat_tables([heads[number] for number in numbers])
        owners = np.repeat(np.arange(len(numbers)), [heads[number].num_rows for number in numbers])
        order = np.asarray(_order(looked_at, columns))
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        lasts = np.cumsum([heads[number].num_rows for number in numbers]) - 1
        known = order[: ranks[lasts].min() + 1]
        yield looked_at.take(pa.array(known))
        taken: npt.NDArray[np.int64] = np.bincount(owners[known], minlength=len(numbers))
        for number, rows in zip(numbers, taken.tolist(), strict=True):
            head = heads[number].slice(rows)
            following = head if head.num_rows else next(runs[number], None)
            if following is None:
                del heads[number]
            else:
                heads[number] = following
    for number, head in heads.items():
        yield head
        yield from runs[number]


def _order(table: pa.Table, columns: Sequence[str]) -> pa.Array:
    return pc.sort_indices(table, sort_keys=[(name, "ascending") for name in columns])
