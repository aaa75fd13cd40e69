"""Outputs, work areas and sources that were moved to another disk, as the documentation says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.steps.upkeep.withdrawing import undo
from tests.pipeline.make import Pipe, ReadHere

_KINDS = ["parquet", "parquet with a log", "delta"]


def _pipe(folder: Path, kind: str) -> Pipe:
    pipe = Pipe(folder=folder, submitter=ReadHere(), kind=kind)
    for name in ("a", "b"):
        pipe.put({f"{name}.txt": name.encode()})
        pipe.run(name)
    return pipe


@pytest.mark.slow
@pytest.mark.parametrize("kind", _KINDS)
def test_folders_that_left_a_link(tmp_path: Path, kind: str) -> None:
    """Windows of before are read again and undone, and no file is new."""
    pipe = _pipe(tmp_path, kind)
    (tmp_path / "disk").mkdir()
    for folder in (pipe.source, pipe.out, pipe.work):
        shutil.move(folder, tmp_path / "disk" / folder.name)
        folder.symlink_to(tmp_path / "disk" / folder.name)
    pipe.put({"c.txt": b"c"})
    assert pipe.run("c").files == 1
    pipe.run("a", clear_number=1)
    assert undo(pipe.env, get_window(pipe.env.ledger, "b", pipe.feed), files="pending", who="me").removed == 1
    pipe.run("d")

    assert pipe.values() == ["a", "b", "c"]
    pipe.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", _KINDS)
def test_an_output_under_another_name(tmp_path: Path, kind: str) -> None:
    """New windows are published beside what was copied; a clear of one of before is refused."""
    pipe = _pipe(tmp_path, kind)
    shutil.copytree(pipe.out, tmp_path / "copy")
    pipe.out_name = "copy"
    pipe.put({"c.txt": b"c"})
    pipe.run("c")
    with pytest.raises(OptionsError, match="was begun for output"):
        pipe.run("a", clear_number=1)

    assert pipe.values() == ["a", "b", "c"]
    pipe.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", _KINDS)
def test_a_lost_work_area(tmp_path: Path, kind: str) -> None:
    """A clear from the plan on finishes what was begun, and reads again what was published."""
    pipe = _pipe(tmp_path, kind)
    pipe.put({"c.txt": b"c"})
    ref = pipe.plan("c")
    pipe.read(ref)
    shutil.rmtree(pipe.work)
    pipe.run("c", clear_number=1)
    pipe.run("a", clear_number=1)

    assert pipe.values() == ["a", "b", "c"]
    pipe.close()
