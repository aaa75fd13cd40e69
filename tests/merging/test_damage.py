"""Merged files that were harmed: what reads them says which file it is, and publishes nothing of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from airflow_provider_blockread.cli.commands import blockread
from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.options import MERGED, Members
from tests.pipeline.make import Pipe, ReadHere

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
