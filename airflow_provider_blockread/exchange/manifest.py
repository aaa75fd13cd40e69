"""The manifest: the Parquet file that lists a window's blocks, group by group, in block order.

One row per block: block, group, file (the ledger's id), path, size, mtime_ns, etag, start, end, part_start, part_end.
A row group never spans two block groups, so a reader of one group reads only its rows. Times are UTC nanoseconds, other
numbers bytes. The file's metadata name the window and the ledger; it never contains credentials.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, islice, pairwise
from operator import attrgetter, ne
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from airflow_provider_blockread.blocks import Block, BlockGroup
from airflow_provider_blockread.blocks.model import from_columns
from airflow_provider_blockread.errors import ExchangeError
from airflow_provider_blockread.exchange.files import MANIFEST, content_hash, read_checked, remedy
from airflow_provider_blockread.storage.stores import Stores

SCHEMA = pa.schema(
    [
        pa.field("block", pa.int64(), nullable=False),
        pa.field("group", pa.int32(), nullable=False),
        pa.field("file", pa.int64(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("mtime_ns", pa.int64(), nullable=False),
        pa.field("etag", pa.string()),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("end", pa.int64(), nullable=False),
        pa.field("part_start", pa.int64(), nullable=False),
        pa.field("part_end", pa.int64(), nullable=False),
    ]
)
_ROWS = 32_768  # blocks in memory at once

_Columns: TypeAlias = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestSummary:
    """A written manifest: the hash that binds every later step to it, and its sums."""

    hash: str
    files: int  # with at least one block; a file that spans groups counts once
    blocks: int
    bytes: int
    groups: tuple[BlockGroup, ...]


def write_manifest(
    stores: Stores, uri: str, blocks: Iterable[Block], *, identity: Mapping[str, str]
) -> ManifestSummary:
    """Write the manifest and return its summary; `identity` (window, ledger, feed) goes into its metadata."""
    data, summary = render_manifest(blocks, identity=identity)
    stores.write_bytes_atomic(uri, data)
    return summary


def render_manifest(blocks: Iterable[Block], *, identity: Mapping[str, str]) -> tuple[bytes, ManifestSummary]:
    """Return the manifest's bytes, which depend only on the blocks and the identity, and its summary."""
    sink = io.BytesIO()
    schema = SCHEMA.with_metadata({f"blockread.{key}": value for key, value in identity.items()})
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:

        def write(columns: _Columns) -> None:
            arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))

        found = list(_sums(blocks, write))
    data, groups = sink.getvalue(), tuple(group for group, *_ in found)
    return data, ManifestSummary(
        hash=content_hash(data),
        files=sum(group.files for group in groups) - sum(a == b for (*_, a), (_, b, _) in pairwise(found)),
        blocks=sum(group.blocks for group in groups),
        bytes=sum(group.bytes for group in groups),
        groups=groups,
    )


def read_manifest(
    stores: Stores, uri: str, expected_hash: str, *, group: int | None = None, file: int | None = None
) -> Iterator[Block]:
    """Yield the manifest's blocks in order, or those of one group, or of one file.

    Raises:
        ExchangeError: when the manifest is missing, or is not the one that was planned.
    """
    data = read_checked(stores, uri, expected_hash, MANIFEST)
    try:
        with pq.ParquetFile(io.BytesIO(data)) as opened:
            for index in _row_groups(opened, group):
                table = opened.read_row_group(index, use_threads=False).select(SCHEMA.names)
                yield from _from_table(table if file is None else table.filter(pc.field("file") == file))
    except (pa.ArrowException, KeyError, ValueError) as error:  # the latter two lack a column
        msg = f"manifest {uri} cannot be read ({error}); {remedy(MANIFEST)}"
        raise ExchangeError(msg) from error


def _row_groups(file: pq.ParquetFile, group: int | None) -> Iterator[int]:
    place = file.schema_arrow.names.index("group")
    for index in range(file.num_row_groups):
        statistics = file.metadata.row_group(index).column(place).statistics
        if group is None or statistics.min == group:
            yield index


def summarize(blocks: Iterable[Block]) -> tuple[BlockGroup, ...]:
    """Return the sums of the groups that a manifest of these blocks would contain."""
    return tuple(group for group, *_ in _sums(blocks, lambda _: None))


def _sums(blocks: Iterable[Block], use: Callable[[_Columns], None]) -> Iterator[tuple[BlockGroup, int, int]]:
    """Yield each group with its first and last file, and pass on its blocks as columns, some at a time."""
    for number, members in groupby(blocks, key=attrgetter("group")):
        count = size = files = 0
        edges: list[tuple[int, str]] = []  # the first and last files, with their paths, of the columns so far
        last: int | None = None
        while columns := _columns(members):
            _, _, ids, paths, _, _, _, starts, ends, _, _ = columns
            count += len(ids)
            size += sum(ends) - sum(starts)
            files += sum(map(ne, ids, (last, *ids[:-1])))
            last = ids[-1]
            edges += (ids[0], paths[0]), (last, paths[-1])
            use(columns)
        (first, first_path), (end, last_path) = edges[0], edges[-1]
        group = BlockGroup(
            number=number, files=files, blocks=count, bytes=size, first_path=first_path, last_path=last_path
        )
        yield group, first, end


def _columns(blocks: Iterator[Block]) -> _Columns:
    """Return the schema's columns for the next blocks, empty if there are no more."""
    # Tuples of plain values, which the garbage collector ignores; it would visit each block that is held.
    rows = [
        (number, group, file, *version, start, end, part_start, part_end)
        for number, group, file, version, start, end, part_start, part_end in islice(blocks, _ROWS)
    ]
    return list(zip(*rows, strict=True))


def _from_table(table: pa.Table) -> Iterator[Block]:
    for batch in table.to_batches(max_chunksize=_ROWS):
        yield from from_columns([column.to_pylist() for column in batch.columns])
