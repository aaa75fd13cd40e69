"""A directory of text files with one line per row, plain or compressed."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_blockread.errors import FunctionError, OptionsError, ProofError, RowError, SourceError
from airflow_provider_blockread.exchange.model import OutputFile, Target
from airflow_provider_blockread.options import LineSink
from airflow_provider_blockread.records.excerpts import excerpt
from airflow_provider_blockread.records.io.codecs import open_stream
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.sinks.conform import conform
from airflow_provider_blockread.sinks.log.directory import LoggedDirectory
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import Writer
from airflow_provider_blockread.sinks.staging import StagedFile, StagedFiles, explained
from airflow_provider_blockread.storage import Stores

_CHUNK = 2**20  # bytes of a file that are read at once to count rows
_BYTES = pa.large_binary()  # large enough for the lines of any batch
_TEXT = (pa.string(), pa.large_string(), pa.binary(), _BYTES)

_COMPRESSORS: dict[str, Callable[[Any], Any]] = {
    "gzip": lambda file: gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0),
    "bzip2": partial(bz2.BZ2File, mode="wb"),
    "xz": partial(lzma.LZMAFile, mode="wb"),
    "zstd": partial(pa.CompressedOutputStream, compression="zstd"),
}


class Encoding(Protocol):
    """How rows become text."""

    has_columns: bool  # whether all rows have the same columns

    def misfit(self, schema: pa.Schema) -> str:
        """Return the reason why text cannot hold such rows, or an empty string if it can."""

    def head(self, schema: pa.Schema) -> bytes:
        """Return the beginning of a file, such as a header."""

    def encode(self, batch: pa.RecordBatch) -> tuple[pa.Buffer | bytes, ...]:
        """Return rows as text, in parts.

        Raises:
            RowError: when a reader would not get a value back unchanged.
        """

    def count(self, pieces: Iterator[bytes]) -> int | None:
        """Return the number of rows in a file, or None if the file does not end after a row."""


class TextDirectory(LoggedDirectory):
    """Publishes text files, whose rows are counted by their terminators."""

    def __init__(self, stores: Stores, option: LineSink, encoding: Encoding) -> None:
        super().__init__(stores, option)
        self._option, self._encoding = option, encoding

    def prepare(self, schema: pa.Schema | None, staging: str) -> Target:
        """Return the work area, where tasks write, after a check that text can hold such rows."""
        if schema is not None and (problem := self._encoding.misfit(schema)):
            msg = f"text sink {self.uri}: {problem}"
            raise OptionsError(msg)
        return super().prepare(schema, staging)

    def writer(self, target: Target, name: AttemptName, schema: pa.Schema | None) -> Writer:
        """Return a writer of one file per task or block; without a schema, the first batch defines it."""
        named = partial(name.uri, target.folder, suffix=self._suffix)
        return _TextWriter(self._stores, self._option, self._encoding, named, schema)

    def count(self, output: OutputFile) -> int:
        """Return the number of rows; the whole file is read, and bytes after the last row are an error."""
        try:
            with self._stores.open_read(output.uri) as file:
                rows = self._encoding.count(_decoded(ByteSource(file, name=output.uri), self._option.compression))
        except (SourceError, OSError) as error:
            msg = f"{output.uri} cannot be read to its end ({error}); clear the group that wrote it"
            raise ProofError(msg) from error
        if rows is None:
            msg = f"{output.uri} does not end with its terminator; clear the group that wrote it"
            raise ProofError(msg)
        return rows


class TextLines:
    """One line per row: its only column, followed by a terminator."""

    has_columns = False

    def __init__(self, terminator: bytes) -> None:
        self._terminator = terminator

    def misfit(self, schema: pa.Schema) -> str:
        """Return the reason why lines cannot hold such rows, or an empty string if they can."""
        return not_one_value(schema, schema.names, "a line")

    def head(self, schema: pa.Schema) -> bytes:
        """Return an empty head."""
        del schema
        return b""

    def encode(self, batch: pa.RecordBatch) -> tuple[pa.Buffer | bytes, ...]:
        """Return the values, each followed by a terminator."""
        terminator, values = self._terminator, batch.column(0).cast(_BYTES)
        if values.null_count:
            raise refused(
                values, pc.is_null(values), "is null, which a line cannot represent; return text from a function"
            )
        rest = pa.scalar(terminator[:-1], _BYTES)  # a terminator could begin in the value and end in the added one
        reach = pc.binary_join_element_wise(values, rest, pa.scalar(b"", _BYTES)) if len(terminator) > 1 else values
        holds = pc.match_substring(reach, terminator)
        if pc.any(holds).as_py():
            what = f"holds the terminator {terminator!r}; choose another one, or replace it in a function"
            raise refused(values, holds, what)
        every = pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
        return pc.binary_join(every, pa.scalar(terminator, _BYTES))[0].as_buffer(), terminator

    def count(self, pieces: Iterator[bytes]) -> int | None:
        """Return the number of terminators."""
        rows, rest, is_open = 0, b"", False
        for data in pieces:
            *lines, rest = (rest + data).split(self._terminator)
            rows, is_open = rows + len(lines), bool(rest)
            rest = rest[max(len(rest) - len(self._terminator) + 1, 0) :]  # a terminator may begin in it
        return None if is_open else rows


def _decoded(raw: ByteSource, compression: str) -> Iterator[bytes]:
    if compression == "none":
        yield from (raw.read(start, start + _CHUNK) for start in range(0, raw.size, _CHUNK))
        return
    stream = open_stream(raw, compression)
    while data := stream.decode(_CHUNK):
        yield data


class _TextWriter(StagedFiles["_TextFile"]):
    """Writes rows in the order of arrival; `name` returns the URI of a file for its number and block."""

    def __init__(
        self, stores: Stores, option: LineSink, encoding: Encoding, name: Callable[..., str], schema: pa.Schema | None
    ) -> None:
        super().__init__(stores)
        self._option, self._encoding, self._name, self._schema = option, encoding, name, schema
        self._block: int | None = None  # the block whose file is open

    def write(self, batch: pa.RecordBatch, block: int | None = None) -> None:
        """Append rows to the files."""
        if problem := self._encoding.misfit(batch.schema):
            raise FunctionError(problem)
        if self._encoding.has_columns:
            self._schema = self._schema or batch.schema
            batch = conform(batch, self._schema)
        if not batch.num_rows:
            return
        parts = self._encoding.encode(batch)
        block = block if self._option.per_block else None
        if block != self._block:
            self._finish()
        if self._open is None:
            uri = self._name(number=len(self._files), block=block)
            self._open, self._block = _TextFile(self._stores, uri, self._option.compression), block
            self._open.write(self._encoding.head(batch.schema))
        self._open.write(*parts)
        self._open.rows += batch.num_rows


def not_one_value(schema: pa.Schema, names: Sequence[str], what: str) -> str:
    """Return the reason why rows with these columns are not one value each, or an empty string if they are."""
    if names == ["value"] and schema.field("value").type in _TEXT:
        return ""
    found = ", ".join(f"{field.name} {field.type}" for field in list(schema)[:20])
    return (
        f"{what} is one column `value` of text or bytes, but the columns are: {found}; return such a column from a"
        " function, or choose another sink"
    )


def refused(values: pa.LargeBinaryArray, which: pa.BooleanArray, why: str) -> RowError:
    """Return the error for the first row marked in `which`."""
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
