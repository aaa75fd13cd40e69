"""Merged files that were harmed: what reads them says which file it is, and publishes nothing of it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from airflow_provider_blockread.cli.commands import blockread
from airflow_provider_blockread.errors import ProofError, RecordError, SourceError
from airflow_provider_blockread.options import MERGED, Members, Policies
from airflow_provider_blockread.records.io.seek_table import FrameWriter
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.members.format import MembersFormat
from airflow_provider_blockread.records.members.index import index_schema, index_uri
from airflow_provider_blockread.sinks.archive import read_index
from airflow_provider_blockread.storage import uris
from tests.pipeline.make import Pipe, ReadHere
from tests.sinks.kinds import STORES, Bench

_HARMS: dict[str, Callable[[bytes], bytes]] = {
    "page": lambda data: data[:4] + b"\xff" * 40 + data[44:],
    "footer": lambda data: data[:-60] + b"\xff" * 40 + data[-20:],
    "end": lambda data: data[:-1],
    "empty": lambda _: b"",
}


@pytest.fixture
def merged(tmp_path: Path) -> Path:
    """Return a merged Parquet file."""
    options = {"audit": ("_file", "_modified")}
    pipe = Pipe(tmp_path, ReadHere(), sink_options=options, record_format=MERGED, merges=True)
    pipe.put({"a": b"first" * 50, "b": b"", "c": b"second" * 50})
    pipe.run()
    [path] = pipe.out.iterdir()
    return path


@pytest.mark.parametrize("harm", _HARMS)
def test_a_harmed_parquet_file_is_named(merged: Path, tmp_path: Path, harm: str) -> None:
    """By a read, which no retry can mend, and by each command that looks for its members."""
    merged.write_bytes(_HARMS[harm](merged.read_bytes()))
    (tmp_path / "back").mkdir()
    back = Pipe(tmp_path / "back", ReadHere(), record_format=Members(encoding="binary"))
    back.put({"m.parquet": merged.read_bytes()})

    back.fails(SourceError, rf"{back.uri('m.parquet')} is damaged, or not a merged file: .*; restore it")
    for command in (["list"], ["extract", "--to", str(tmp_path / "to")], ["cat"]):
        name = ["a"] if command == ["cat"] else []
        error = CliRunner().invoke(blockread, ["members", *command, str(merged), *name]).exception
        assert isinstance(error, SourceError)
        assert f"file://{merged} is damaged, or not a merged file: " in str(error)
    assert not (tmp_path / "to").exists()


def test_a_published_index_that_was_harmed_fails_a_verification(tmp_path: Path) -> None:
    """Nobody can read the archive without it; a rebuild writes both anew."""
    policies = Policies(on_rerun="verify")
    pipe = Pipe(tmp_path, ReadHere(), kind="archive", record_format=MERGED, merges=True, policies=policies)
    pipe.put({"a": b"aaa", "b": b"bbb"})
    pipe.run()
    [index] = pipe.out.glob(".*.index")
    index.write_bytes(index.read_bytes()[:-1])

    with pytest.raises(ProofError, match=rf"{index} is missing or of another size, .*; rebuild the window"):
        pipe.run(clear_number=1)
    pipe.policies = Policies()
    pipe.run(clear_number=2)
    assert pipe.values() == ["aaa", "bbb"]


def test_a_staged_index_that_was_harmed_is_not_published(tmp_path: Path) -> None:
    """It has not the size with which it was written; one whose size no journal holds is taken as it is."""
    bench = Bench("archive", str(tmp_path / "out"))
    (file,) = bench.stage("x")
    path = uris.local_path(index_uri(file.uri))
    assert path is not None
    whole = Path(path).read_bytes()
    Path(path).write_bytes(whole[:-1])
    with pytest.raises(SourceError, match=f"has {len(whole) - 1} bytes instead of {len(whole)}; clear the group"):
        bench.apply(bench.steps([file]))
    assert (bench.values(), list(STORES.list_names(bench.sink.uri))) == ([], [])

    Path(path).write_bytes(whole)
    unknown = replace(file, statistics={})
    for _ in range(2):
        bench.apply(bench.steps([unknown]))
        assert bench.values() == ["x", "x"]


def _archive(folder: Path, lengths: list[int], content: bytes, size: int, name: str = "part-w.bin") -> Path:
    """Return an archive of this content and size, whose index names members of these lengths."""
    path, starts = folder / name, np.cumsum([0, *lengths])[:-1]
    path.write_bytes(content)
    os.truncate(path, size)
    empty = [hashlib.sha256(b"").digest()] * len(lengths)
    names = [f"file:///{number}" for number in range(len(lengths))]
    columns = [names, [None] * len(lengths), [name] * len(lengths), starts, lengths, empty]
    schema = index_schema(b"")
    rows = [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
    pq.write_table(pa.table(rows, schema=schema), index_uri(str(path)))
    return path


@pytest.mark.parametrize("lengths", [[2**63 - 1, 2**63 - 1, 2], [2**40]], ids=["beyond 64 bits", "a terabyte"])
def test_an_index_that_promises_more_than_a_value_holds(tmp_path: Path, lengths: list[int]) -> None:
    """It is refused before room is made for the member."""
    path = _archive(tmp_path, lengths, b"", sum(lengths) % 2**64)
    for command in (["list"], ["extract", "--to", str(tmp_path / "to")], ["cat"]):
        name = ["file:///0"] if command == ["cat"] else []
        error = CliRunner().invoke(blockread, ["members", *command, str(path), *name]).exception
        assert isinstance(error, SourceError)
        assert f"file://{path} is damaged, or not a merged file: its index does not cover it" in str(error)


def test_a_seek_table_that_promises_more_than_a_value_holds(tmp_path: Path) -> None:
    """The same for a frame of an archive, of which a member is only a part."""
    written: list[bytes] = []
    frames = FrameWriter(written.append)
    frames.write(b"x")
    frames._frames = [(0, 2**32 - 1)]
    frames.close()
    content = b"".join(written)
    path = _archive(tmp_path, [1], content, len(content), "part-w.zst")
    error = CliRunner().invoke(blockread, ["members", "cat", str(path), "file:///0"]).exception

    assert isinstance(error, SourceError)
    assert "does not end with its seek table" in str(error)


def test_a_member_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    """The limit holds for memory, too: the index knows the length before."""
    path = _archive(tmp_path, [2**30], b"", 2**30)
    index = read_index(STORES, str(path))

    class Unread(ByteSource):
        def _fetch(self, start: int, end: int) -> bytes:
            raise AssertionError(start, end)

    with path.open("rb") as file, pytest.raises(RecordError, match="starts at byte 0 is longer than max_record_bytes"):
        list(MembersFormat(Members()).with_index(index).chunks(Unread(file), 2**20))
