"""Pruning: old windows become small, what is published stays, and no file is ever taken twice."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, func, select

from airflow_provider_blockread.errors import OptionsError, PrunedError
from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.ledger.schema.file_tables import taken_files
from airflow_provider_blockread.ledger.schema.journal_tables import publications
from airflow_provider_blockread.ledger.schema.tables import file_sums, files, groups
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.queries import get_window, list_files
from airflow_provider_blockread.steps.upkeep.pruning import Pruned, PruneRequest, propose_pruning, prune
from airflow_provider_blockread.steps.upkeep.withdrawing import undo
from airflow_provider_blockread.storage.stores import Stores
from tests.pipeline.make import Pipe

pytestmark = pytest.mark.slow

DAY = 86_400.0
ALL = PruneRequest(older_than=DAY, keep=0)


class StoppedError(Exception):
    """Ends a call somewhere in the middle."""


def three_windows(here: Pipe) -> None:
    """Publish a window a day of two files each; the first two are older than a day afterwards."""
    here.group_bytes = 6
    for day in ("mon", "tue", "wed"):
        here.put({f"{day}-a.txt": f"{day} 1\n{day} 2\n".encode(), f"{day}-b.txt": f"{day} 3\n".encode()})
        here.run(day)
        here.pass_seconds(DAY)
    here.pass_seconds(-DAY / 2)


def rows(ledger: Ledger) -> dict[str, int]:
    """Return how many rows the tables of detail hold."""
    with ledger.reading() as connection:
        tables = (files, taken_files, groups, publications, file_sums)
        return {t.name: int(connection.execute(select(func.count()).select_from(t)).scalar_one()) for t in tables}


def folders(here: Pipe) -> set[str]:
    """Return the keys of the windows that have a folder in the work area."""
    return {window.key for window in _windows(here) if (here.work / "feed" / window.id).exists()}


def _windows(here: Pipe) -> list[Any]:
    return [summary.window for summary in list_windows(here.env.ledger)]


@pytest.mark.files
def test_old_windows_become_identities(here: Pipe) -> None:
    """Detail and folders go, the output stays as it was, and the next listing takes nothing of it again."""
    three_windows(here)
    before, published = here.values(), here.published()

    intent = propose_pruning(here.env, ALL)
    assert (intent.pruned, intent.files) == (2, 4)
    assert [w.key for w in intent.windows[:2]] == ["mon", "tue"]
    assert "2 windows with 4 files to prune" in intent.lines()[-1]
    assert rows(here.env.ledger)["files"] == 6  # nothing is done yet

    assert prune(here.env, ALL) == Pruned(windows=2, files=4, leftovers=2, listings=2)

    assert rows(here.env.ledger) == {"files": 2, "taken_files": 4, "groups": 2, "publications": 6, "file_sums": 0}
    assert folders(here) == {"wed"}
    assert (here.values(), here.published()) == (before, published)
    assert here.plan("thu").status == "empty"
    assert prune(here.env, ALL) == Pruned(windows=0, files=0, leftovers=0, listings=0)
    assert propose_pruning(here.env, ALL).is_empty


def test_a_new_version_of_a_pruned_file_is_a_modification(here: Pipe) -> None:
    """It is counted or read as `on_modified` says, as before it was pruned."""
    three_windows(here)
    prune(here.env, ALL)
    here.put({"mon-a.txt": b"changed since\n"})

    assert here.plan("thu").ignored == 1
    here.selection = dataclasses.replace(here.selection, on_modified="add")
    assert here.run("fri").records == 1


@pytest.mark.parametrize(
    ("request_", "left"),
    [
        (PruneRequest(older_than=DAY, keep=2), {"tue", "wed"}),
        (PruneRequest(older_than=2 * DAY, keep=0), {"tue", "wed"}),
        (PruneRequest(older_than=DAY, keep=0, feed="other"), {"mon", "tue", "wed"}),
        (PruneRequest(older_than=0, keep=0), set()),
    ],
)
def test_age_count_and_feed_hold_together(here: Pipe, request_: PruneRequest, left: set[str]) -> None:
    """Only what is old, not among the newest, and of the feed is pruned."""
    three_windows(here)
    prune(here.env, request_)

    assert {window.key for window in _windows(here) if window.pruned_at is None} == left == folders(here)


def test_bounds_must_mean_something() -> None:
    """A negative age or count is refused."""
    with pytest.raises(OptionsError, match="0 or more"):
        PruneRequest(older_than=-1, keep=0)


def test_windows_at_work_are_left_alone(here: Pipe) -> None:
    """Neither one that is not published nor one that is being rebuilt loses anything, however old."""
    three_windows(here)
    here.put({"late.txt": b"late\n"})
    here.plan("thu")
    here.read(here.plan("mon", clear_number=1), clear_number=1)
    here.pass_seconds(90 * DAY)

    prune(here.env, ALL)

    assert folders(here) == {"mon", "thu"}
    assert here.commit(here.plan("mon", clear_number=1)).generation == 2
    assert here.run("thu").records == 1
    assert len(here.values()) == 10


@pytest.mark.files
def test_leftovers_of_finished_windows_go(here: Pipe) -> None:
    """Attempts that count for nothing and what was staged and not published; receipts of what is published stay."""
    here.put({"a.txt": b"a\n"})
    here.run()
    here.run(clear_number=1)
    (stray,) = here.attempt_files("g2")
    stray = stray / "00000-e1" / "data" / "stray.parquet"
    stray.write_bytes(b"of a task attempt that Spark did not accept")
    staged = stray.parent.with_name("records")
    staged.mkdir()
    (staged / "left.parquet").write_bytes(b"of a driver that died while a DataFrame function ran")
    lost = here.work / "feed" / get_window(here.env.ledger, "w").id / "g2" / "00000-e7"
    lost.mkdir()

    intent = propose_pruning(here.env, ALL)
    assert (intent.pruned, intent.leftovers, intent.is_empty) == (0, 4, False)
    assert prune(here.env, ALL).leftovers == 4

    assert not stray.exists()
    assert not staged.exists()
    assert not lost.exists()
    assert len(here.attempt_files("receipts.parquet")) == 1
    assert here.values() == ["a"]
    assert here.run(clear_number=2).generation == 3


def test_a_clear_after_pruning_says_when_it_was(here: Pipe) -> None:
    """Without its manifest the window cannot be read again: the error names the date, and nothing changes."""
    three_windows(here)
    prune(here.env, ALL)
    published = here.published()

    assert (here.plan("mon").status, here.warnings) == ("published", [])
    with pytest.raises(PrunedError, match=r"window \w+ 'mon' was pruned on 2026-01-03 12:00:00Z: its plan is gone"):
        here.plan("mon", clear_number=1)

    assert here.published() == published
    assert here.state("mon") == "published"


@pytest.mark.parametrize("rule", ["rebuild", "verify"])
def test_a_clear_replays_from_a_manifest_that_was_kept(here: Pipe, rule: str) -> None:
    """The window is read and proven again, and published in place of what was there; later it is pruned once more."""
    three_windows(here)
    here.with_policies(on_rerun=rule)
    before = here.values()
    keeping = dataclasses.replace(ALL, keep_manifests=True)
    assert "pruned windows can be rebuilt" in propose_pruning(here.env, keeping).notes[0]
    prune(here.env, keeping)
    assert len(here.attempt_files("receipts.parquet")) == 2

    again = here.run("mon", clear_number=1)

    assert (again.generation, again.records, again.groups) == (2, 3, 2)
    assert here.values() == before
    assert here.plan("thu").status == "empty"
    here.pass_seconds(2 * DAY)
    assert prune(here.env, ALL).files == 2
    assert here.values() == before


def test_files_of_a_window_that_was_pruned_never_go_back(here: Pipe) -> None:
    """Nor when it was read again since; what is published stays then, until it is taken away for good."""
    three_windows(here)
    prune(here.env, dataclasses.replace(ALL, keep_manifests=True))
    before = here.values()
    here.run("mon", clear_number=1)
    window = get_window(here.env.ledger, "mon")
    with pytest.raises(PrunedError, match="was pruned before it was read again: the ledger no longer knows"):
        undo(here.env, window, files="pending", who="me")
    assert here.values() == before

    undo(here.env, window, who="me")
    assert len(here.values()) < len(before)
    with pytest.raises(PrunedError, match="was pruned before it was read again"):
        undo(here.env, window, files="pending", who="me")


@contextmanager
def interrupted(here: Pipe, after: int) -> Iterator[list[int]]:
    """Let so many statements and removals happen, and then end the call as a kill would."""
    left = [after]

    def count(*_: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise StoppedError

    class Stopping(Stores):
        def remove(self, uri: str) -> None:
            count()
            super().remove(uri)

        def remove_folder(self, uri: str) -> None:
            count()
            super().remove_folder(uri)
            count()

    plain = here.env
    here.env = dataclasses.replace(plain, stores=Stopping())
    engine = plain.ledger._live_engine()
    event.listen(engine, "before_cursor_execute", count)
    event.listen(engine, "commit", count)
    try:
        yield left
    finally:
        event.remove(engine, "before_cursor_execute", count)
        event.remove(engine, "commit", count)
        here.env = plain


@pytest.mark.files
@pytest.mark.slow
def test_pruning_goes_on_after_a_crash_anywhere(here: Pipe, tmp_path: Path) -> None:
    """Stopped before any statement or removal, a repetition ends as if nothing had happened."""
    three_windows(here)
    for name in ("ledger.db", "out", "out.blockread"):
        source, copy = tmp_path / name, tmp_path / "saved" / name
        copy.parent.mkdir(exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy)
        else:
            here.close()
            shutil.copyfile(source, copy)
    published, stopped, outcomes = here.published(), 0, []
    while True:
        with interrupted(here, stopped) as left:
            try:
                prune(here.env, ALL)
            except StoppedError:
                ended = False
            else:
                ended = True
        if ended:
            break
        assert left[0] < 0
        prune(here.env, ALL)
        assert here.plan("thu").status == "empty"
        outcomes.append((rows(here.env.ledger), folders(here), here.published() == published))
        here.close()
        shutil.rmtree(here.work)
        shutil.copytree(tmp_path / "saved" / "out.blockread", here.work)
        shutil.copyfile(tmp_path / "saved" / "ledger.db", tmp_path / "ledger.db")
        stopped += 7 if stopped > 6 else 1

    left_over = {"files": 2, "taken_files": 4, "groups": 2, "publications": 6, "file_sums": 0}
    assert len(outcomes) > 10
    assert all(outcome == (left_over, {"wed"}, True) for outcome in outcomes)


def test_files_that_are_pruned_are_not_listed(here: Pipe) -> None:
    """Only those are, whose path the ledger still knows."""
    three_windows(here)
    prune(here.env, ALL)

    names = [row.version.path.rpartition("/")[2] for row in list_files(here.env.ledger, "feed")]
    assert names == ["wed-a.txt", "wed-b.txt"]
