"""A directory of text files: a line for each row, plain or compressed."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_blockread.errors import FunctionError, OptionsError, ProofError, RowError, SourceError
from airflow_provider_blockread.exchange.model import OutputFile, Target
from airflow_provider_blockread.options import TextSink
from airflow_provider_blockread.records.excerpts import excerpt
from airflow_provider_blockread.records.io.codecs import open_stream
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.sinks.directory import Directory
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import Writer
from airflow_provider_blockread.sinks.staging import StagedFile, StagedFiles, explained
from airflow_provider_blockread.storage import Stores

_CHUNK = 2**20  # bytes of a file that are counted at once
_BYTES = pa.large_binary()  # whatever a batch holds, its lines fit
_TEXT = (pa.string(), pa.large_string(), pa.binary(), _BYTES)

_COMPRESSORS: dict[str, Callable[[Any], Any]] = {
    "gzip": lambda file: gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0),
    "bzip2": partial(bz2.BZ2File, mode="wb"),
    "xz": partial(lzma.LZMAFile, mode="wb"),
    "zstd": partial(pa.CompressedOutputStream, compression="zstd"),
}


class TextDirectory(Directory):
    """Publishes text files, whose terminators say how many rows they hold."""

    def __init__(self, stores: Stores, option: TextSink, kind: str = "output") -> None:
        super().__init__(stores, option, kind)
        self._option = option

    def prepare(self, schema: pa.Schema | None, staging: str) -> Target:
        """Return the work area, where tasks write, if lines can hold such rows."""
        if schema is not None and not _fits(schema):
            msg = f"text sink {self.uri}: {_misfit(schema)}"
            raise OptionsError(msg)
        return super().prepare(schema, staging)

    def writer(self, target: Target, name: AttemptName, schema: pa.Schema | None) -> Writer:
        """Return a writer of one file a task or block; each batch is checked by itself."""
        del schema
        return _TextWriter(
            self._stores, self._option, lambda number, block: name.uri(target.folder, number, self._suffix, block)
        )

    def count(self, output: OutputFile) -> int:
        """Return the number of lines, all of which are read; bytes behind the last terminator are an error."""
        terminator, rows, rest = self._option.terminator_bytes, 0, b""
        is_open = False
        try:
            with self._stores.open_read(output.uri) as file:
                for data in _decoded(ByteSource(file, name=output.uri), self._option.compression):
                    *lines, rest = (rest + data).split(terminator)
                    rows, is_open = rows + len(lines), bool(rest)
                    rest = rest[max(len(rest) - len(terminator) + 1, 0) :]  # a terminator may begin in it
        except (SourceError, OSError) as error:
            msg = f"{output.uri} cannot be read to its end ({error}); clear the group that wrote it"
            raise ProofError(msg) from error
        if is_open:
            msg = f"{output.uri} does not end with its terminator; clear the group that wrote it"
            raise ProofError(msg)
        return rows


def _decoded(raw: ByteSource, compression: str) -> Iterator[bytes]:
    if compression == "none":
        yield from (raw.read(start, start + _CHUNK) for start in range(0, raw.size, _CHUNK))
        return
    stream = open_stream(raw, compression)
    while data := stream.decode(_CHUNK):
        yield data


def _fits(schema: pa.Schema) -> bool:
    return schema.names == ["value"] and schema.field(0).type in _TEXT


def _misfit(schema: pa.Schema) -> str:
    found = ", ".join(f"{field.name} {field.type}" for field in list(schema)[:20])
    return (
        f"a line is one column `value` of text or bytes, but the columns are: {found}; return such a column from a"
        " function, or choose another sink"
    )


class _TextWriter(StagedFiles["_TextFile"]):
    """Writes lines as they come; `name` gives the URI of a file by its number and block."""

    def __init__(self, stores: Stores, option: TextSink, name: Callable[[int, int | None], str]) -> None:
        super().__init__(stores)
        self._option = option
        self._name = name
        self._block: int | None = None  # whose file is open

    def write(self, batch: pa.RecordBatch, block: int | None = None) -> None:
        """Append a line for each row."""
        if not _fits(batch.schema):
            raise FunctionError(_misfit(batch.schema))
        if not batch.num_rows:
            return
        lines = self._lines(batch.column(0).cast(_BYTES))
        block = block if self._option.per_block else None
        if block != self._block:
            self._finish()
        if self._open is None:
            uri = self._name(len(self._files), block)
            self._open, self._block = _TextFile(self._stores, uri, self._option.compression), block
        self._open.write(lines, self._option.terminator_bytes)
        self._open.rows += batch.num_rows

    def _lines(self, values: pa.LargeBinaryArray) -> pa.Buffer:
        """Return the values with a terminator between them.

        Raises:
            RowError: when a reader would not find a value again as it is.
        """
        terminator = self._option.terminator_bytes
        if values.null_count:
            raise _refused(values, pc.is_null(values), "is null, which no line can say; return text from a function")
        rest = pa.scalar(terminator[:-1], _BYTES)  # a terminator could begin in the value and end in its own
        reach = pc.binary_join_element_wise(values, rest, pa.scalar(b"", _BYTES)) if len(terminator) > 1 else values
        holds = pc.match_substring(reach, terminator)
        if pc.any(holds).as_py():
            what = f"holds the terminator {terminator!r}; choose another one, or replace it in a function"
            raise _refused(values, holds, what)
        every = pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
        return pc.binary_join(every, pa.scalar(terminator, _BYTES))[0].as_buffer()


def _refused(values: pa.LargeBinaryArray, which: pa.BooleanArray, why: str) -> RowError:
    """Return the error for the first of the rows that are marked."""
    row = pc.index(which, True).as_py()
    value = values[row].as_py()
    return RowError(f"the value{'' if value is None else f' {excerpt(value)}'} {why}", row)


class _TextFile(StagedFile):
    """One text file being written."""

    def __init__(self, stores: Stores, uri: str, compression: str) -> None:
        super().__init__(stores, uri)
        if compression != "none":
            self._layers.insert(0, _COMPRESSORS[compression](self._file))

    def write(self, *parts: pa.Buffer | bytes) -> None:
        """Append bytes."""
        with explained(self.uri):
            for part in parts:
                self._layers[0].write(part)
