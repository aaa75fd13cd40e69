"""A directory of archives: the bytes of many files one after another, with an index of them beside each archive.

Compressed archives consist of zstd frames of about a mebibyte, which end where a file ends, and of a seek table (the
Zstandard Seekable Format). Every zstd tool can decompress them, and a tool that supports seek tables can start at any
frame.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from airflow_provider_blockread.errors import (
    BlockReadError,
    FileMissingError,
    FunctionError,
    OptionsError,
    ProofError,
    SourceError,
)
from airflow_provider_blockread.exchange.model import OutputFile, Target
from airflow_provider_blockread.options import ArchiveSink
from airflow_provider_blockread.records.io.seek_table import FRAME_BYTES, FrameWriter, read_seek_table
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.members.index import Index, damaged, index_schema, index_uri, parse_index
from airflow_provider_blockread.records.model import Offsets
from airflow_provider_blockread.sinks.directory import Directory
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import Earlier, Marker, State, Step, Writer
from airflow_provider_blockread.sinks.staging import StagedFile, StagedFiles, abandon, explained
from airflow_provider_blockread.sinks.text import not_one_value, refused
from airflow_provider_blockread.storage import Stores, uris

_INDEX_ROWS = 2**16  # in memory, before they are written
_INDEX_BYTES = "index_bytes"  # among the statistics of an archive
_BYTES = pa.large_binary()


def read_index(stores: Stores, uri: str) -> Index:
    """Return the index of an archive.

    Raises:
        SourceError: when it has no index, or one that does not cover it.
    """
    uri = uris.canonical(uri)
    try:
        with stores.open_read(index_uri(uri)) as file:
            return parse_index(uri, file)
    except FileMissingError as error:
        msg = f"{uri} has no index {index_uri(uri)}; keep the two together, or name a file that was merged"
        raise SourceError(msg, uri) from error
    except OSError as error:
        raise damaged(uri, f"its index cannot be read ({error})") from error


class ArchiveDirectory(Directory):
    """Publishes archives; the index of each appears before it, and is removed after it."""

    def __init__(self, stores: Stores, option: ArchiveSink) -> None:
        super().__init__(stores, option)
        self._option = option

    @property
    def _endings(self) -> tuple[str, ...]:
        return (".bin", ".zst")

    def prepare(self, schema: pa.Schema | None, staging: str) -> Target:
        """Return the work area, where tasks write, after a check that rows are files."""
        if schema is not None and (problem := self._misfit(schema)):
            raise OptionsError(problem)
        return super().prepare(schema, staging)

    def writer(self, target: Target, name: AttemptName, schema: pa.Schema | None) -> Writer:
        """Return a writer that starts the next archive at `file_bytes`."""
        del schema
        named = partial(name.uri, target.folder, suffix=self._suffix)
        return _ArchiveWriter(self._stores, self._option, named, self._misfit)

    def count(self, output: OutputFile) -> int:
        """Return the number of files in an archive according to its index, which must cover all of it."""
        try:
            index = read_index(self._stores, output.uri)
            with self._stores.open_read(output.uri) as file:
                source = ByteSource(file, name=output.uri)
                packed = self._option.compression != "none"
                size = sum(decoded for _, decoded in read_seek_table(source)) if packed else source.size
        except (SourceError, OSError) as error:
            msg = f"{output.uri} cannot be counted ({error}); clear the group that wrote it"
            raise ProofError(msg) from error
        if size != index.size:
            msg = f"{output.uri} holds {size} bytes, but its index {index.size}; clear the group that wrote it"
            raise ProofError(msg)
        return int(index.members.num_rows)

    def steps(self, new: Sequence[OutputFile], earlier: Earlier) -> list[Step]:
        """Return a move for each new archive with its index, and then the removals."""
        sizes = {output.uri: self._index_bytes(output) for output in new}
        steps = super().steps(new, earlier)
        return [replace(s, index=_beside(s, sizes[s.target])) if s.action == "add" else s for s in steps]

    def state(self, step: Step, marker: Marker) -> State:
        """Look where the archive is, and its index: one without the other is not published."""
        found = super().state(step, marker)
        if step.index is None or found is State.UNKNOWN:
            return found
        beside = super().state(step.index, marker)
        return found if beside is State.APPLIED else beside

    def sweep(self, window: str, keep: Collection[str], earlier: Collection[str] = ()) -> list[str]:
        """Remove what dead publishers of the window have left here; an archive and its index count as one file."""
        swept = super().sweep(window, {*keep, *map(index_uri, keep)}, earlier)
        indexes = set(map(index_uri, swept))
        return [uri for uri in swept if uri not in indexes]

    def _add(self, step: Step) -> None:
        if (index := step.index) is not None:
            with self._explained(index.source, index.target, index.size):
                self._stores.move(index.source, index.target, size=index.size)
        super()._add(step)

    def _remove(self, step: Step) -> None:
        super()._remove(step)
        for uri in filter(None, (step.source, step.target)):
            self._stores.remove(index_uri(uri))

    def _index_bytes(self, output: OutputFile) -> int:
        """Return the size that the index had when its archive was written, or what it has if none was recorded."""
        if (recorded := output.statistics.get(_INDEX_BYTES)) is not None:
            return int(recorded)
        return self._stores.size(index_uri(output.uri)) or self._stores.size(index_uri(output.source)) or 0

    def _misfit(self, schema: pa.Schema) -> str:
        """Return the reason why an archive cannot hold such rows, or an empty string if it can."""
        names = [name for name in schema.names if name not in self._option.audit_columns]
        problem = not_one_value(schema, names, "a file")
        return problem and f"archive sink {self.uri}: {problem}"


def _beside(step: Step, size: int) -> Step:
    """Return the same move for the index of an archive."""
    return replace(step, source=index_uri(step.source), target=index_uri(step.target), size=size)


class _ArchiveWriter(StagedFiles["_Archive"]):
    """Writes one member per row; `name` returns the URI of an archive for its number."""

    def __init__(
        self, stores: Stores, option: ArchiveSink, name: Callable[..., str], misfit: Callable[[pa.Schema], str]
    ) -> None:
        super().__init__(stores)
        self._option, self._name, self._misfit = option, name, misfit

    def write(self, batch: pa.RecordBatch, block: int | None = None) -> None:
        """Append rows to the archives."""
        del block
        if problem := self._misfit(batch.schema):
            raise FunctionError(problem)
        values = batch.column("value").cast(_BYTES)
        if values.null_count:
            raise refused(
                values, pc.is_null(values), "is null, which a file cannot represent; return bytes from a function"
            )
        labels = pa.record_batch(
            [
                batch[name] if name in batch.schema.names else pa.nulls(len(values))
                for name in self._option.audit_columns
            ],
            names=self._option.audit_columns,
        )
        low = 0
        while low < len(values):
            if self._open is None:
                self._open = _Archive(self._stores, self._name(number=len(self._files)), self._option)
            low += self._open.add(values[low:], labels[low:])
            if low < len(values) or self._open.size >= self._option.file_bytes:
                self._finish()

    def abort(self) -> None:
        """Remove all archives and their indexes, complete or not."""
        written = [file.uri for file in self._files] + ([] if self._open is None else [self._open.uri])
        super().abort()
        for uri in written:
            with contextlib.suppress(BlockReadError):
                self._stores.remove(index_uri(uri))


class _Archive(StagedFile):
    """One archive being written, and its index; `size` is the number of bytes so far, before compression."""

    def __init__(self, stores: Stores, uri: str, option: ArchiveSink) -> None:
        super().__init__(stores, uri)
        self.size = 0
        self._separator, self._limit = option.separator_bytes, option.file_bytes
        self._schema = index_schema(self._separator)
        self._index_file = stores.open_write(index_uri(uri))
        self._index = pq.ParquetWriter(self._index_file, self._schema, compression="zstd")
        self._rows: list[pa.RecordBatch] = []  # of the index, not written yet
        self._indexed = 0  # rows whose index is written
        if option.compression != "none":
            self._layers.insert(0, FrameWriter(self._file.write))

    def add(self, values: pa.LargeBinaryArray, labels: pa.RecordBatch) -> int:
        """Append the members that fit, at least one to an empty archive, and return their number."""
        borders = np.frombuffer(values.buffers()[1], np.int64)[values.offset : values.offset + len(values) + 1]
        nexts = borders[1:] - borders[0] + np.arange(1, len(values) + 1) * len(self._separator)
        count = int(np.searchsorted(nexts, self._limit - self.size, side="right")) or (0 if self.rows else 1)
        if not count:
            return 0
        content = values.buffers()[2]
        data = memoryview(content if content is not None else b"")
        self._index_members(data, borders[: count + 1], labels.slice(0, count), self.size + nexts[:count])
        with explained(self.uri):
            for part in self._parts(data, borders[: count + 1]):
                self._layers[0].write(part)
        self.size += int(nexts[count - 1])
        self.rows += count
        return count

    def _parts(self, data: memoryview, borders: Offsets) -> Iterator[memoryview | bytes]:
        """Yield the archive's bytes in parts that end where a member ends."""
        places = borders.tolist()
        if self._separator:
            yield from (bytes(data[low:high]) + self._separator for low, high in pairwise(places))
            return
        low = 0
        while low < len(places) - 1:
            high = max(int(np.searchsorted(borders, places[low] + FRAME_BYTES, side="right")) - 1, low + 1)
            if places[high] > places[low]:
                yield data[places[low] : places[high]]
            low = high

    def _index_members(self, data: memoryview, borders: Offsets, labels: pa.RecordBatch, nexts: Offsets) -> None:
        lengths = np.diff(borders)
        digests = [hashlib.sha256(data[low:high]).digest() for low, high in pairwise(borders.tolist())]
        self._rows.append(
            pa.record_batch(
                [
                    *(column.cast(field.type) for column, field in zip(labels.columns, self._schema, strict=False)),
                    pa.repeat(uris.name_of(self.uri), len(lengths)),
                    pa.array(nexts - lengths - len(self._separator)),
                    pa.array(lengths),
                    pa.array(digests, pa.binary(32)),
                ],
                schema=self._schema,
            )
        )
        if self.rows + len(lengths) - self._indexed >= _INDEX_ROWS:
            self._write_index()

    def _write_index(self) -> None:
        if self._rows:
            with explained(index_uri(self.uri)):
                self._index.write_table(pa.Table.from_batches(self._rows))
        self._indexed += sum(batch.num_rows for batch in self._rows)
        self._rows = []

    def finish(self) -> OutputFile:
        """Write the index and the seek table, and return the finished archive."""
        self._write_index()
        with explained(index_uri(self.uri)):
            self._index.close()
            self._index_file.close()
        size = self._stores.stat(index_uri(self.uri)).size
        return replace(super().finish(), statistics={_INDEX_BYTES: size})

    def discard(self) -> None:
        """Close and abandon both files, complete or not."""
        super().discard()
        abandon((self._index, self._index_file))
