"""Merged files that were harmed: what reads them says which file it is, and publishes nothing of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from airflow_provider_blockread.cli.commands import blockread
from airflow_provider_blockread.errors import ProofError, SourceError
from airflow_provider_blockread.options import MERGED, Members, Policies
from airflow_provider_blockread.records.members.index import index_uri
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

    back.fails(SourceError, rf"{back.uri('m.parquet')} is damaged, or no merged file: .*; restore it")
    for command in (["list"], ["extract", "--to", str(tmp_path / "to")], ["cat"]):
        name = ["a"] if command == ["cat"] else []
        error = CliRunner().invoke(blockread, ["members", *command, str(merged), *name]).exception
        assert isinstance(error, SourceError)
        assert f"file://{merged} is damaged, or no merged file: " in str(error)
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
