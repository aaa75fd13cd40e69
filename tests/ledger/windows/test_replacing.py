"""Newer versions in the place of older ones: one window at a time has them, and they go back to where they were."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import select

from airflow_provider_blockread.blocks import BlockGroup, FileVersion
from airflow_provider_blockread.errors import ConflictError
from airflow_provider_blockread.ledger.files.admission import Admission
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.model import FilePart, Generation, Request, Window
from airflow_provider_blockread.ledger.schema.tables import files
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.upkeep.requests import open_request, start_requested
from airflow_provider_blockread.ledger.upkeep.retention import Bound, begin_pruning, drop_detail, finish_pruning
from airflow_provider_blockread.ledger.upkeep.withdrawing import begin_undoing, finish_withdrawal, release_files
from airflow_provider_blockread.ledger.windows.generations import (
    as_read_by,
    latest_generation,
    list_groups,
    published_generation,
    start_generation,
)
from airflow_provider_blockread.ledger.windows.journal import confirm_entries, journal, record_file_sums
from airflow_provider_blockread.ledger.windows.publishing import finish_publication, mark_failed, mark_proven
from airflow_provider_blockread.ledger.windows.queries import get_window, list_files
from airflow_provider_blockread.ledger.windows.replacing import NewerPlan, check_versions, record_versions, replaced_by
from airflow_provider_blockread.proof.model import FileSums
from tests.ledger.clock import Clock
from tests.ledger.make import (
    FEED,
    SUMS,
    committer,
    freeze_window,
    open_window,
    pending,
    plan,
    publish,
    read_all,
    steps,
    version,
)

_NEWER = version("a", size=20, mtime_ns=9)


def _published(ledger: Ledger) -> Window:
    window = open_window(ledger)
    publish(ledger, window)
    return window


def _old(ledger: Ledger, path: str = "file:///in/a") -> int:
    return min(row.file for row in list_files(ledger, FEED) if row.version.path == path)


def _newer_plan(ledger: Ledger, window: Window, found: FileVersion = _NEWER, base: int = 1) -> NewerPlan:
    ids = record_versions(ledger, window, {_old(ledger): found})
    groups = [
        BlockGroup(number=n, files=2, blocks=2, bytes=10 + 5 * (n == 0), first_path="a", last_path="b")
        for n in range(2)
    ]
    return NewerPlan(base=base, manifest_uri=f"newer-{base}", manifest_hash="newer", groups=groups, files=ids)


def _start(ledger: Ledger, window: Window, found: FileVersion = _NEWER, base: int = 1) -> Generation:
    request: Request = open_request(ledger, "reprocess", {}, who="me")
    newer = _newer_plan(ledger, window, found, base)
    return start_requested(ledger, request, window.id, again={0}, plan=newer)


def _finish(ledger: Ledger, window: Window, generation: int, *, sums: bool = True) -> None:
    read_all(ledger, window, generation)
    held = committer(ledger, window, generation)
    new = [row.file for row in list_files(ledger, FEED) if row.state == "planned"]
    if sums:
        record_file_sums(ledger, held, [FileSums(file=file, records=7, bad_records=0, bytes=20) for file in new])
    mark_proven(ledger, held, SUMS)
    journal(ledger, held, steps(generation))
    confirm_entries(ledger, held, [0, 1, 2])
    finish_publication(ledger, held)


def _states(ledger: Ledger) -> dict[int, str]:
    """Return the states of the versions of a, by their sizes."""
    return {row.version.size: row.state for row in list_files(ledger, FEED) if row.version.path == "file:///in/a"}


def _scan(ledger: Ledger, found: FileVersion = _NEWER, on_modified: str = "ignore") -> None:
    record_files(ledger, FEED, [found, version("b")], rules=Admission(on_modified=on_modified))


@pytest.mark.parametrize("sums", [False, True])
def test_publishing_settles_both_versions(ledger: Ledger, *, sums: bool) -> None:
    """Until then the newer one is held; the generation has a plan of its own, and later ones continue from it."""
    window = _published(ledger)
    started = _start(ledger, window)
    assert _states(ledger) == {10: "done", 20: "planned"}
    assert replaced_by(ledger, window.id, 2) == {_old(ledger): _NEWER}
    assert [(g.state, g.planned.bytes) for g in list_groups(ledger, window.id, 2)] == [("pending", 15), ("done", 10)]
    read = as_read_by(get_window(ledger, window.id), started)
    assert (read.manifest_uri, read.manifest_hash, read.plan_hash) == ("newer-1", "newer", "hash")
    _finish(ledger, window, 2, sums=sums)

    assert _states(ledger) == {10: "replaced", 20: "done"}
    with ledger.reading() as connection:
        records = connection.execute(select(files.c.records).order_by(files.c.id)).scalars().all()
    assert records[0] is None
    assert records[-1] == (7 if sums else None)
    later = start_generation(ledger, window.id, options={}, mode="write", clear_number=1)
    assert (later.manifest_uri, list_groups(ledger, window.id, 3)[0].planned.bytes) == ("newer-1", 15)
    _finish(ledger, window, 3)
    assert _states(ledger) == {10: "replaced", 20: "done"}


@pytest.mark.parametrize("on_modified", ["ignore", "add", None])
def test_a_generation_that_is_overtaken_gives_back_what_it_held(ledger: Ledger, on_modified: str | None) -> None:
    """To the state in which a listing had left it, or would have; what is published stays, and its plan."""
    window = _published(ledger)
    if on_modified:
        _scan(ledger, on_modified=on_modified)
    before = _states(ledger)
    _start(ledger, window)
    _scan(ledger, on_modified="add")  # under way all the time; it takes nothing, and misses nothing
    assert pending(ledger) == []
    later = start_generation(ledger, window.id, options={}, mode="write", clear_number=1)

    assert later.manifest_uri is None
    assert _states(ledger) == {20: "ignored"} | before
    assert {row.window for row in list_files(ledger, FEED) if row.version == _NEWER} == {None}
    _scan(ledger, on_modified="add")
    assert len(pending(ledger)) == 1


def test_a_failed_generation_keeps_what_it_holds(ledger: Ledger) -> None:
    """It may be tried again; the next one takes it over."""
    window = _published(ledger)
    _start(ledger, window)
    read_all(ledger, window, 2)
    mark_failed(ledger, committer(ledger, window, 2), "no")
    assert _states(ledger) == {10: "done", 20: "planned"}
    again = _start(ledger, window)

    assert (again.number, _states(ledger)) == (3, {10: "done", 20: "planned"})
    shown = published_generation(ledger, window.id)
    assert shown is not None
    assert shown.number == 1


@pytest.mark.parametrize("fate", ["pending", "excluded"])
@pytest.mark.parametrize("finished", [False, True])
def test_a_window_that_is_undone(ledger: Ledger, clock: Clock, fate: str, *, finished: bool) -> None:
    """One version of the file at most waits to be read again; a replaced one never comes back."""
    window = _published(ledger)
    _start(ledger, window)
    if finished:
        _finish(ledger, window, 2)
    clock.pass_seconds(1000)
    held = begin_undoing(ledger, window.id, files=fate, who="me")
    release_files(ledger, held)
    finish_withdrawal(ledger, held)

    assert _states(ledger) == ({10: "replaced", 20: fate} if finished else {10: fate, 20: "ignored"})
    _scan(ledger, on_modified="add")
    waiting = [row.version.size for row in list_files(ledger, FEED, state="pending") if row.version.path.endswith("a")]
    assert waiting == ([] if (finished and fate == "excluded") else [20])


@pytest.mark.parametrize("state", ["planned", "done"])
def test_a_version_that_another_window_took_is_refused(ledger: Ledger, state: str) -> None:
    """It is named, whether it only plans the version or has published it."""
    window = _published(ledger)
    _scan(ledger, on_modified="add")
    other = freeze_window(ledger, plan("other", files=1), pending(ledger))
    if state == "done":
        publish(ledger, other)

    taken = f"file:///in/a is {state} in window {other.id} 'other', which has taken it"
    with pytest.raises(ConflictError, match=taken):
        record_versions(ledger, window, {1: _NEWER})
    with pytest.raises(ConflictError, match=taken):
        check_versions(ledger, window, [_NEWER])
    assert latest_generation(ledger, window.id).number == 1


def test_a_version_of_which_a_part_was_taken_is_refused(ledger: Ledger) -> None:
    """Its rest waits, but it is a later window's."""
    window = _published(ledger)
    _scan(ledger, on_modified="add")
    (file,) = pending(ledger)
    part = FilePart(file=file, start=0, end=8, number=1, is_last=False)
    other = freeze_window(ledger, replace(plan("other", files=1), parts=(part,)), [file])
    with pytest.raises(ConflictError, match=f"in window {other.id} 'other', which has taken it"):
        record_versions(ledger, window, {1: _NEWER})


def test_a_version_of_a_pruned_window_is_refused(ledger: Ledger, clock: Clock) -> None:
    """Of which only the identity is left."""
    window = _published(ledger)
    _scan(ledger, on_modified="add")
    other = freeze_window(ledger, plan("other", files=1), pending(ledger))
    publish(ledger, other)
    clock.pass_seconds(10)
    assert begin_pruning(ledger, other.id, Bound(before=clock(), keep=0))
    drop_detail(ledger, other.id)
    finish_pruning(ledger, other.id)
    with pytest.raises(ConflictError, match="is done in a window that was pruned"):
        record_versions(ledger, window, {1: _NEWER})


def test_a_plan_that_came_too_late_starts_nothing(ledger: Ledger) -> None:
    """The version was taken, or replaced, or another generation published, after the plan was made."""
    window = _published(ledger)
    request = open_request(ledger, "reprocess", {}, who="me")
    newer = _newer_plan(ledger, window)
    _scan(ledger, on_modified="add")
    freeze_window(ledger, plan("other", files=1), pending(ledger))
    with pytest.raises(ConflictError, match="1 of 1 newer versions were taken by another window, or have changed"):
        start_requested(ledger, request, window.id, again={0}, plan=newer)

    newer = _newer_plan(ledger, window, version("a", size=30))
    _scan(ledger, version("a", size=40))  # which shows the other version no longer
    with pytest.raises(ConflictError, match="have changed once more"):
        start_requested(ledger, request, window.id, again={0}, plan=newer)
    assert latest_generation(ledger, window.id).number == 1

    newer = _newer_plan(ledger, window, version("a", size=50), base=7)
    with pytest.raises(ConflictError, match="generation 1 was begun or published in between; repeat this"):
        start_requested(ledger, request, window.id, again={0}, plan=newer)


def test_a_version_that_was_put_back(ledger: Ledger) -> None:
    """The first version, once replaced, may replace the second again; if that comes to nothing it is replaced still."""
    window = _published(ledger)
    first = version("a")
    _start(ledger, window)
    _finish(ledger, window, 2)
    _scan(ledger, first, on_modified="add")
    assert pending(ledger) == []

    request = open_request(ledger, "reprocess", {}, who="me")
    second = max(row.file for row in list_files(ledger, FEED))
    ids = record_versions(ledger, window, {second: first})
    assert ids == {second: _old(ledger)}
    newer = NewerPlan(base=2, manifest_uri="again", manifest_hash="again", groups=(), files=ids)
    start_requested(ledger, request, window.id, again={0}, plan=newer)
    assert _states(ledger) == {10: "planned", 20: "done"}
    start_generation(ledger, window.id, options={}, mode="write", clear_number=1)
    assert _states(ledger) == {10: "replaced", 20: "done"}
    start_requested(ledger, request, window.id, again={0}, plan=newer)
    _finish(ledger, window, 5)
    assert _states(ledger) == {10: "done", 20: "replaced"}


def test_a_time_that_the_path_names_stays(ledger: Ledger) -> None:
    """The next listing decides again; until then the newer version has the older one's."""
    window = _published(ledger)
    with ledger.writing() as connection:
        connection.execute(files.update().where(files.c.id == _old(ledger)).values(time_ns=77))
    ids = record_versions(ledger, window, {_old(ledger): _NEWER})
    again = record_versions(ledger, window, {_old(ledger): _NEWER})
    with ledger.reading() as connection:
        time_ns = connection.scalar(select(files.c.time_ns).where(files.c.id == ids[_old(ledger)]))

    assert (again, time_ns) == (ids, 77)
