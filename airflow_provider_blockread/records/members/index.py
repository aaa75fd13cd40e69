"""The index of an archive: which files it holds, where each begins, and what it must hash to.

An archive is the contents of its members, one after another, with a separator behind each; it may be compressed as a
whole. Its index is a Parquet file beside it, hidden from readers of the folder. It has one row a member, in order:
name, time, archive, offset and length in bytes before compression, and SHA-256. Its metadata hold the separator as hex.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.records.io.source import ByteSource, ExactFile
from airflow_provider_blockread.records.model import Offsets

#: Columns of a member that come with its content.
LABELS = pa.schema([("_file", pa.string()), ("_modified", pa.timestamp("us", "UTC"))])

#: Bytes of a member at most: no value is as long.
LONGEST = 2**31

_SCHEMA = pa.schema(
    [*LABELS, ("output", pa.string()), ("offset", pa.int64()), ("length", pa.int64()), ("sha256", pa.binary(32))]
)
_SEPARATOR = b"blockread.separator"


def index_uri(uri: str) -> str:
    """Return where the index of an archive is."""
    folder, slash, name = uri.rpartition("/")
    return f"{folder}{slash}.{name}.index"


def index_schema(separator: bytes) -> pa.Schema:
    """Return the schema of the index of an archive with this separator."""
    return _SCHEMA.with_metadata({_SEPARATOR: separator.hex()})


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """The members of an archive, whose contents and separators cover it."""

    uri: str  # of the archive
    members: pa.RecordBatch  # name, time, archive, offset, length, SHA-256
    starts: Offsets
    ends: Offsets
    nexts: Offsets  # where the next member starts

    @property
    def size(self) -> int:
        """The bytes of the archive before compression."""
        return int(self.nexts[-1]) if len(self.nexts) else 0

    @property
    def labels(self) -> pa.RecordBatch:
        """The names and times of the members."""
        return self.members.select(LABELS.names)

    def check(self, number: int, content: bytes | memoryview) -> None:
        """Compare the content of a member with the index.

        Raises:
            SourceError: when it is not what was merged.
        """
        if hashlib.sha256(content).digest() != self.members.column("sha256")[number].as_py():
            name = self.members.column("_file")[number].as_py()
            raise damaged(self.uri, f"member {number} ({name}) is not what was merged")


def parse_index(uri: str, file: BinaryIO) -> Index:
    """Return the index of an archive from its file.

    Raises:
        SourceError: when it does not cover the archive, or is no index.
    """
    with readable(uri, "its index cannot be read"):
        with pq.ParquetFile(pa.PythonFile(ExactFile(ByteSource(file)), mode="r")) as opened:
            table = opened.read(use_threads=False)
        separator = bytes.fromhex((table.schema.metadata or {})[_SEPARATOR].decode())
        columns = table.cast(index_schema(separator)).combine_chunks().to_batches()
    members = columns[0] if columns else pa.RecordBatch.from_pylist([], _SCHEMA)
    if any(members.column(name).null_count for name in ("offset", "length", "sha256")):
        raise damaged(uri, "its index has gaps")
    starts, lengths = (members.column(name).to_numpy() for name in ("offset", "length"))
    nexts = np.cumsum(lengths + len(separator))
    if (lengths < 0).any() or (lengths > LONGEST).any() or (starts != nexts - lengths - len(separator)).any():
        raise damaged(uri, "its index does not cover it")
    return Index(uri=uri, members=members, starts=starts, ends=starts + lengths, nexts=nexts)


@contextmanager
def readable(uri: str, otherwise: str) -> Iterator[None]:
    """Turn errors of Arrow in the body into one that says what is damaged; those of the store stay as they are."""
    try:
        yield
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # Arrow's own have no number
            raise
        raise damaged(uri, f"{otherwise} ({error})") from error


def damaged(uri: str, why: str) -> SourceError:
    """Return the error for a merged file that is not as it was written."""
    return SourceError(f"{uri} is damaged, or not a merged file: {why}; restore it, or merge its files again", uri)
