"""Published files at the source, while a process dies: put away, deleted, brought back."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from sqlalchemy import text

from airflow_provider_blockread.errors import CleanedError
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.steps.plan.cleaned import restore_files
from airflow_provider_blockread.steps.upkeep.cleaning import CleanRequest, clean
from tests.crash.doomed import Doomed, Tasks, apart, die_at
from tests.crash.scenarios.making import FILES, Scenario
from tests.crash.scenarios.upkeep import later, long_ago
from tests.disks import another_disk

_OTHER = b"of another process\n"
_NEW = {"a.csv": b"landed since\n"}


def _published(pipe: Doomed) -> None:
    pipe.put_old(FILES)
    apart(pipe, pipe.run)


def _taken_name(pipe: Doomed) -> None:
    """Publish, and let another file have the name of one in the archive."""
    _published(pipe)
    (_archive(pipe) / "b.csv").parent.mkdir(parents=True)
    (_archive(pipe) / "b.csv").write_bytes(_OTHER)


def _archive(pipe: Doomed) -> Path:
    return (pipe.elsewhere or pipe.source) / "_kept"


def _clean(pipe: Doomed, action: str = "archive") -> None:
    archive = f"{pipe.scheme}{_archive(pipe)}" if action == "archive" else None
    source = FileSource(f"{pipe.scheme}{pipe.source}")
    clean(
        pipe.env,
        CleanRequest(feed=pipe.feed, source=source, action=action, archive=archive, grace=86_400.0),
        who="me",
    )


def _archiving(pipe: Doomed, tasks: Tasks) -> None:
    _clean(pipe)
    _expect(pipe, kept=FILES, source={})
    with suppress(CleanedError):
        tasks.window(pipe, clear_number=1)


def _deleting(pipe: Doomed, _: Tasks) -> None:
    _clean(pipe, "delete")
    _expect(pipe, kept={}, source={})


def _deleting_on(pipe: Doomed, _: Tasks) -> None:
    _clean(pipe, "delete")
    # Who dies once more before it has written down that the file is gone finds another one in its place.
    _expect(pipe, kept={}, source=_NEW, states=("done", "changed"))


def _restoring(pipe: Doomed, tasks: Tasks) -> None:
    restore_files(pipe.env, get_window(pipe.env.ledger, "w", pipe.feed))
    _expect(pipe, kept={}, source=FILES, states={"restored"})
    tasks.window(pipe, clear_number=1)


def _moved_back(pipe: Doomed) -> None:
    """Clean, and bring the files back by hand."""
    _published(pipe)
    pipe.pass_seconds(2 * 86_400.0)
    _clean(pipe)
    for name in FILES:
        shutil.move(_archive(pipe) / name, pipe.source / name)


def _clearing(pipe: Doomed, tasks: Tasks) -> None:
    tasks.window(pipe, clear_number=1)


def _cleaned(pipe: Doomed) -> None:
    _published(pipe)
    pipe.pass_seconds(2 * 86_400.0)
    _clean(pipe)


def _half_archived(pipe: Doomed) -> None:
    """Leave a file in both places, and change nothing of it."""
    _published(pipe)
    pipe.pass_seconds(2 * 86_400.0)
    die_at(pipe, "store:steps.upkeep.cleaning_files.archive_file/1:after", lambda: _clean(pipe))


def _half_deleted(pipe: Doomed) -> None:
    """Leave a file beside its place by a hidden name, and let another land there."""
    _published(pipe)
    pipe.pass_seconds(2 * 86_400.0)
    die_at(pipe, "disk:storage.backends.disk.LocalDisk.remove/1", lambda: _clean(pipe, "delete"))
    (pipe.source / "a.csv").write_bytes(_NEW["a.csv"])


def _taken_aside(pipe: Doomed) -> None:
    """Leave a file beside its place that had landed there in the last moment."""
    _half_deleted(pipe)
    (aside,) = pipe.source.glob(".*.tmp")
    (pipe.source / "a.csv").replace(aside)


def _expect(
    pipe: Doomed, *, kept: dict[str, bytes], source: dict[str, bytes], states: Collection[str] = ("done",)
) -> None:
    """Make sure that each file is in one place, whole, and that the ledger says so, by one of these states."""
    found = {path.name: path.read_bytes() for path in _archive(pipe).rglob("*") if path.is_file()}
    # A copy to another disk that died is left there by its hidden name.
    mine = sorted(data for name, data in found.items() if data != _OTHER and not name.endswith(".tmp"))
    left = {path.name: path.read_bytes() for path in (*pipe.source.glob("*.csv"), *pipe.source.glob(".*"))}
    query = text("SELECT cleaning_state FROM file_lifecycle WHERE feed = :feed")
    armed, pipe.faults.armed = pipe.faults.armed, False  # this statement is none of the package's
    with pipe.env.ledger.reading() as connection:
        recorded = set(connection.scalars(query, {"feed": pipe.feed}))
    pipe.faults.armed = armed
    if (mine, left) != (sorted(kept.values()), source) or not recorded or recorded - set(states):
        msg = f"archive {found}, source {left}, states {recorded}"
        raise AssertionError(msg)


def _to_another_disk(pipe: Doomed) -> None:
    later(pipe)
    place = f"{pipe.folder.parent.name}-{pipe.folder.name}.blockread"
    pipe.elsewhere = another_disk(pipe.folder.parent) / place


def _scenario(name: str, act: Callable[[Doomed, Tasks], None], prepare: Callable[[Doomed], None]) -> Scenario:
    return Scenario(name=name, setup=later, prepare=long_ago(prepare), act=act)


CLEANING = [
    _scenario("archive", _archiving, _taken_name),
    _scenario("archive half done", _archiving, _half_archived),
    _scenario("delete", _deleting, _published),
    _scenario("delete half done", _deleting_on, _half_deleted),
    _scenario("delete what changed", _deleting_on, _taken_aside),
    _scenario("restore", _restoring, _cleaned),
    _scenario("clear what is back", _clearing, _moved_back),
    Scenario(name="archive on another disk", setup=_to_another_disk, prepare=long_ago(_published), act=_archiving),
]
