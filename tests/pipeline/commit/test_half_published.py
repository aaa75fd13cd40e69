"""A commit that died half way: it goes forward, whatever is cleared or changed, and readers never keep a half."""

from __future__ import annotations

import shutil
from threading import Event
from typing import Any

import pytest

from airflow_provider_blockread.errors import ConflictError, ProofError
from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import JsonLines, Lines
from airflow_provider_blockread.sinks.directory import Directory
from airflow_provider_blockread.steps import WindowRef
from airflow_provider_blockread.steps.commit import committing
from airflow_provider_blockread.steps.plan import replaying
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon
from airflow_provider_blockread.storage.backends.disk import LocalDisk
from tests.pipeline.dying import Died, dying
from tests.pipeline.make import Pipe

pytestmark = pytest.mark.files

_ALL = ["a1", "a2", "b1", "b2"]


def _half(here: Pipe, *, clear_number: int = 0, step: str = "publish_file") -> WindowRef:
    here.put({"a.txt": b"a1\na2\n", "b.txt": b"b1\nb2\n"})
    here.group_bytes = 6
    if clear_number:
        here.run()
    ref = here.plan(clear_number=clear_number)
    here.read(ref, clear_number=clear_number)
    with dying(step, 1), pytest.raises(Died):
        here.commit(ref)
    assert here.state() == "publishing"
    return ref


def test_whole_run_is_cleared(here: Pipe) -> None:
    """Clearing all tasks of a run whose commit died completes what it had begun, and reads nothing again."""
    _half(here)
    done = here.run(clear_number=1)

    assert (done.status, done.generation, here.values()) == ("published", 1, _ALL)
    assert len(here.attempt_files("job.json")) == 2


def test_results_are_gone(here: Pipe) -> None:
    """Removed by a rule of the store, say: what is published is in the journal."""
    _half(here)
    for name in ("result.json", "receipts.parquet"):
        for path in here.work.rglob(name):
            path.unlink()
    done = here.run()

    assert (done.status, done.generation, done.records, here.values()) == ("published", 1, 4, _ALL)


def test_a_heartbeat_comes_when_all_is_done(here: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """It finds the window published, by this very attempt: the commit has succeeded all the same."""
    finish, beats, check = committing.finish_publication, Event(), committing.check_publication

    def finished(*arguments: Any) -> None:
        finish(*arguments)
        beats.clear()
        assert beats.wait(120)

    def beat(*arguments: Any) -> None:
        try:
            check(*arguments)
        finally:
            beats.set()

    monkeypatch.setattr(committing, "_HEARTBEAT_S", 0.01)
    monkeypatch.setattr(committing, "check_publication", beat)
    monkeypatch.setattr(committing, "finish_publication", finished)
    here.put({"a.txt": b"a1\n"})

    assert (here.run().status, here.values()) == ("published", ["a1"])


@pytest.mark.slow
@pytest.mark.columns
@pytest.mark.parametrize("step", ["publish_file", "remove_file"])
def test_changed_options_wait(here: Pipe, step: str) -> None:
    """A rebuild that died half way is completed before changed options count; they are not lost silently."""
    _half(here, clear_number=1, step=step)
    here.record_format = JsonLines(schema="a long")
    done = here.run(clear_number=1)

    assert (done.generation, here.values()) == (2, _ALL)
    assert any("its commit continues; its options have changed" in message for message in here.messages)
    here.record_format = Lines(encoding="binary")
    assert here.run(clear_number=2).generation == 3
    assert here.values() == [b"a1", b"a2", b"b1", b"b2"]


def test_output_folder_is_removed(here: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the folder, and the clear that it advises publishes the whole window."""
    here.put({"a.txt": b"a1\na2\n", "b.txt": b"b1\nb2\n"})
    here.group_bytes = 6
    ref = here.plan()
    here.read(ref)
    move = LocalDisk.move

    def removing(disk: LocalDisk, source: str, target: str) -> None:
        if here.published():
            shutil.rmtree(here.out)
        move(disk, source, target)

    with monkeypatch.context() as patched:
        patched.setattr(LocalDisk, "move", removing)
        with pytest.raises(ProofError, match=rf"the output folder file://{here.out} was removed .*; clear the run"):
            here.commit(ref)
    here.run(clear_number=1)

    assert here.values() == _ALL


@pytest.mark.slow
@pytest.mark.parametrize("clear_number", [0, 1])
def test_staged_file_is_lost(here: Pipe, clear_number: int) -> None:
    """A half that cannot go forward is taken back, so that a rebuild which fails too leaves the old output alone."""
    ref = _half(here, clear_number=clear_number)
    for path in here.work.glob("**/data/*"):
        path.unlink()
    with pytest.raises(ProofError, match="clear the run from its plan on"):
        here.commit(ref)
    again = here.plan(clear_number=clear_number)

    assert "lost files before they were published" in again.message
    assert here.values() == (_ALL if clear_number else [])
    shown = list_windows(here.env.ledger)[0].shown
    assert (shown and shown.number) == (1 if clear_number else None)
    done = here.run(clear_number=clear_number)
    assert (done.status, done.generation, here.values()) == ("published", clear_number + 2, _ALL)


@pytest.mark.slow
def test_a_rebuild_that_lost_its_files_is_given_up(here: Pipe) -> None:
    """What it has published already is taken back; until its files are lost, it can only be completed."""
    _half(here, clear_number=1)
    window = get_window(here.env.ledger, "w")
    with pytest.raises(ConflictError, match="is half published; repeat the command or clear the run that began it"):
        abandon(here.env, window, who="me")
    for path in here.work.glob("**/data/*"):
        path.unlink()
    with dying("remove_file", 0), pytest.raises(Died):
        abandon(here.env, window, who="me")
    abandon(here.env, window, who="me")

    assert (here.state(), here.values()) == ("superseded", _ALL)


@pytest.mark.slow
@pytest.mark.parametrize("after", [0, 1])
def test_taking_back_a_half_dies(here: Pipe, after: int) -> None:
    """A process that dies while a lost half is taken back leaves the rest to the next try."""
    _half(here, clear_number=1)
    for path in here.work.glob("**/data/*"):
        path.unlink()
    with dying("remove_file", after), pytest.raises(Died):
        here.plan(clear_number=1)
    assert len(here.values()) == len(_ALL) + 2 * (after == 0)
    here.plan(clear_number=1)

    assert here.values() == _ALL
    assert here.run(clear_number=1).generation == 3
    assert here.values() == _ALL


def test_publishing_begins_while_another_generation_is_about_to_start(
    here: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who takes away what was published before is not overtaken, however late another one looks at what it does."""
    here.put({"a.txt": b"a1\na2\n", "b.txt": b"b1\nb2\n"})
    here.group_bytes = 6
    here.run()
    ref = here.plan(clear_number=1)
    here.read(ref, clear_number=1)
    here.record_format = JsonLines(schema="a long")

    def publish_half(*_: object) -> None:
        with dying("remove_file", 1), pytest.raises(Died):
            here.commit(ref)

    with monkeypatch.context() as patch:
        patch.setattr(replaying, "restore_pruned", publish_half)
        with pytest.raises(ConflictError, match="generation 2 is being published"):
            here.plan(clear_number=1)

    assert set(here.values()) == set(_ALL)
    here.record_format = Lines()
    assert here.run(clear_number=1).generation == 2
    assert here.values() == _ALL


@pytest.mark.slow
def test_giving_up_behind_a_lost_half(here: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that replaced a lost half died before it was taken back: giving the rebuild up does that first."""
    _half(here, clear_number=1)
    for path in here.work.glob("**/data/*"):
        path.unlink()

    def die(*_: object) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(replaying, "undo_incomplete", die)
        with pytest.raises(Died):
            here.plan(clear_number=1)
    assert len(here.values()) > len(_ALL)
    abandon(here.env, get_window(here.env.ledger, "w"), who="me")
    assert here.values() == _ALL


@pytest.mark.slow
def test_older_halves_are_left_alone(here: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a later generation has replaced is not looked for again, so that a verification changes nothing."""
    _half(here, clear_number=1)
    for path in here.work.glob("**/data/*"):
        path.unlink()
    assert here.run(clear_number=1).generation == 3

    def refuse(*_: object) -> None:
        pytest.fail("a file of the output was removed")

    monkeypatch.setattr(Directory, "_remove", refuse)
    here.with_policies(on_rerun="verify")
    assert here.run(clear_number=2).generation == 4
    assert here.values() == _ALL


@pytest.mark.slow
def test_rebuild_after_a_failed_verification(here: Pipe) -> None:
    """A verification that failed does not stand in the way of the rebuild that it asks for."""
    here.put({"a.txt": b"a1\na2\n"})
    here.run()
    here.with_policies(on_rerun="verify", on_missing="fail")
    (here.source / "a.txt").rename(here.folder / "aside")
    with pytest.raises(Exception, match="does not exist"):
        here.run(clear_number=1)
    (here.folder / "aside").rename(here.source / "a.txt")
    here.with_policies(on_rerun="rebuild")
    done = here.run(clear_number=2)

    assert (done.status, done.generation, here.values()) == ("published", 3, ["a1", "a2"])
