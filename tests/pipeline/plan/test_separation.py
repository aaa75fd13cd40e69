"""Outputs in the wrong place: what is published never becomes input, and two ledgers never share a feed's output."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import OptionsError, WrongLedgerError
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage.listing.files import listed_as
from tests.pipeline.make import Pipe


@pytest.mark.parametrize("out", ["in", "in/out", "link/out"])
def test_output_in_the_source(here: Pipe, out: str) -> None:
    """An output that the source's pattern would take as input is refused before anything is planned."""
    (here.folder / "link").symlink_to(here.source)
    here.put({"a.txt": b"a1\n"})
    here.out_name = out

    with pytest.raises(OptionsError, match="published records would be read again; choose another place"):
        here.plan()
    assert [path.name for path in here.source.iterdir()] == ["a.txt"]


def test_pattern_that_leaves_the_output_out(tmp_path: Path) -> None:
    """Below the root is allowed where no pattern reaches it."""
    target = str(tmp_path / "out" / "part-w1.parquet")

    assert listed_as(FileSource(str(tmp_path)), target) is not None
    assert listed_as(FileSource(str(tmp_path), pattern="*.log"), target) is None
    assert listed_as(FileSource(str(tmp_path), exclude="out/**"), target) is None
    assert listed_as(FileSource(str(tmp_path / "in")), target) is None


def test_second_ledger(here: Pipe) -> None:
    """A new ledger does not publish beside what another one published for the same feed; an empty output is free."""
    here.put({"a.txt": b"a1\n"})
    here.run()
    first, here.env = here.env, here.environment("other.db")
    (here.source / "a.txt").unlink()
    here.put({"b.txt": b"b1\n"})
    with pytest.raises(WrongLedgerError, match=rf"holds files that ledger '{first.ledger.uuid}' published"):
        here.run()
    assert here.values() == ["a1"]
    for name in here.published():
        (here.out / name).unlink()
    here.run()

    assert here.values() == ["b1"]
    first.ledger.close()


def test_a_ledger_from_before_the_feed(here: Pipe) -> None:
    """Restored from a backup, it does not publish beside windows that it lacks; an empty output is free."""
    ledger, backup = here.folder / "ledger.db", here.folder / "backup.db"
    here.close()
    shutil.copy(ledger, backup)
    here.put({"a.txt": b"a1\n"})
    lost = here.run().window
    here.close()
    shutil.copy(backup, ledger)
    here.env = here.environment("ledger.db")
    with pytest.raises(WrongLedgerError, match=rf"lacks windows that it has planned \({lost}\)"):
        here.run("later")
    assert here.values() == ["a1"]
    for name in here.published():
        (here.out / name).unlink()
    here.run("later")

    assert here.values() == ["a1"]


def test_a_disk_that_is_not_mounted(here: Pipe) -> None:
    """A feed whose output and work area are gone says so in its next plan, and then goes on in the empty place."""
    here.put({"a.txt": b"a1\n"})
    here.run("a")
    for folder in (here.out, here.work):
        shutil.rmtree(folder)
    here.put({"b.txt": b"b1\n"})
    here.run("b")
    here.put({"c.txt": b"c1\n"})
    here.run("c")

    [warning] = here.warnings
    assert "nothing is in file://" in warning
    assert "their disk is not mounted, end the run" in warning
    assert here.values() == ["b1", "c1"]
