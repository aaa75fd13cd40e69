"""Runs of bytes too long to find a record's start within them: the window is planned again with one block a file."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import pytest

from airflow_provider_blockread.records.csv import runs as csv_runs
from airflow_provider_blockread.records.text import delimited, pieces
from tests.remedies.advice import commands
from tests.remedies.data.desk import Desk

LONG = 2**21


@dataclass(frozen=True)
class Long:
    """A file with a run that is too long for `module`, and how many records it holds."""

    module: ModuleType
    data: bytes
    options: list[str]
    says: str
    records: int


LONG_RUNS = [
    Long(csv_runs, b'a,"' + b'""' * 2 * LONG + b'"\n', ["--format", "csv", "--schema", "a string, b string"],
         "quotes in a row from", 1),
    Long(delimited, b"||" * (LONG // 8), ["--format", "delimited", "--format-option", "delimiter=||"],
         "the delimiter b'||' overlaps itself", LONG // 8),
    Long(pieces, b"\\" * LONG + b"\nx", ["--format", "escaped"], "no record start can be found", 2),
    Long(pieces, b'["' + b"\\" * LONG + b'"]', ["--format", "json_array"], "no record start can be found", 1),
]  # fmt: skip


@pytest.mark.parametrize("run", LONG_RUNS, ids=lambda run: run.options[1])
def test_a_file_is_read_as_one_block(desk: Desk, monkeypatch: pytest.MonkeyPatch, run: Long) -> None:
    """The window keeps the blocks that it was planned with, so it is given up first, as the message says."""
    monkeypatch.setattr(run.module, "MAX_LOOK_BACK", 2**17)
    desk.put({"a": run.data})
    message = desk.fails(*run.options, "--block-size", "500KB")
    window = desk.json("windows", "list")[0]["window"]

    assert run.says in message
    assert commands(message) == [["windows", "abandon"]]
    assert "set a block_size above its size" in message
    desk.done(*commands(message)[0], window, "--yes")
    assert len(desk.runs(*run.options, "--block-size", "64MiB")) == run.records
