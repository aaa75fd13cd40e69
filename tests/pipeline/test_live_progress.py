"""While a group is read, what its driver leaves reaches the ledger; what others leave in its place does no harm."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, astuple, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import TransientError
from airflow_provider_blockread.exchange import progress
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.progress import (
    Application,
    DriverProgress,
    ProgressFile,
    read_progress,
    read_task_progress,
    task_progress_uri,
    write_progress,
)
from airflow_provider_blockread.exchange.seals import new_secret, sealed
from airflow_provider_blockread.ledger.model import Group
from airflow_provider_blockread.ledger.windows.generations import list_groups
from airflow_provider_blockread.observer import Observer, Progress, Tally
from airflow_provider_blockread.options import Policies, SparkJob
from airflow_provider_blockread.spark.engines.in_process import InProcessEngine
from airflow_provider_blockread.storage.stores import Stores
from tests.pipeline.make import Pipe, ReadHere

_LIMIT_S = 60.0
_WHOLE = Tally(blocks=1, records=3, bad_records=1, bytes=10)
_SEALED = {"secret": new_secret(), "bound": "hash"}


class Waits(Observer):
    """After each task, waits until the ledger has what the tasks before it have read."""

    def __init__(self, pipe: Pipe) -> None:
        """Take the pipe, whose only group is read."""
        self.pipe, self.expected = pipe, Tally()
        self.seen: list[Tally] = []
        self.window = ""

    def progress(self, progress: Progress) -> None:
        """Wait."""
        deadline = time.monotonic() + _LIMIT_S
        while _done(self.group) != self.expected and time.monotonic() < deadline:
            time.sleep(0.01)
        self.seen.append(_done(self.group))
        self.expected = progress.tally

    @property
    def group(self) -> Group:
        """The group."""
        return list_groups(self.pipe.env.ledger, self.window, 1)[0]


def _done(group: Group) -> Tally:
    return Tally(group.blocks_done, group.records_done, group.bad_records_done, group.bytes_done)


@pytest.mark.slow
def test_progress_reaches_the_ledger_task_by_task(here: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks, records, bad ones and bytes, exactly, while the group is read; the window publishes the same."""
    monkeypatch.setattr(progress, "EVERY_S", 0.0)
    here.policies = Policies(on_bad_record="drop")
    here.put({f"{name}.txt": b"one\ntwo\n\xff\n" for name in "abcd"})
    ref = here.plan()
    watching = Waits(here)
    watching.window = ref.window
    here.submitter = ReadHere(cores=4, observer=watching)
    here.read(ref)
    done = here.commit(ref)

    assert watching.seen == [Tally(*(n * one for one in astuple(_WHOLE))) for n in range(4)]
    assert watching.expected == Tally(done.blocks, done.records, done.bad_records, done.bytes)
    assert watching.group.progress_at is not None


def test_a_quick_group_leaves_no_progress(here: Pipe) -> None:
    """It ends before anybody would look."""
    here.put({"a.txt": b"one\n"})
    here.run()

    assert not here.attempt_files(progress.PROGRESS_NAME)


def test_a_store_that_fails_does_not_hinder(here: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the driver, which cannot leave its progress, nor the task, which cannot look at it."""
    monkeypatch.setattr(progress, "EVERY_S", 0.0)
    here.job = SparkJob(heartbeat_s=0.001, stale_after_s=60.0)
    here.put({f"{name}.txt": b"one\n" for name in "abcd"})

    class Fails(Stores):
        def write_bytes_atomic(self, uri: str, data: bytes) -> None:
            if uri.endswith(progress.PROGRESS_NAME):
                raise OSError(uri)
            super().write_bytes_atomic(uri, data)

        def stat(self, uri: str) -> Any:
            if uri.endswith(progress.PROGRESS_NAME):
                raise TransientError(uri)
            return super().stat(uri)

    here.submitter = ReadHere(Fails(), cores=4)
    here.env = replace(here.env, stores=Fails())

    assert here.run().records == 4


def test_files_are_left_now_and_then(tmp_path: Path) -> None:
    """None in the first seconds, none without news, and none twice in a few seconds."""
    times = [0.0, 1.0, progress.EVERY_S, progress.EVERY_S + 1, 3 * progress.EVERY_S, 9 * progress.EVERY_S]
    clock = iter(times)
    submission = _submission(tmp_path)
    file = ProgressFile(Stores(), submission, clock=lambda: next(clock))
    found = []
    for blocks in (1, 2, 3, 4, 0):
        file.write(Tally(blocks=blocks))
        found.append(read_progress(Stores(), submission))

    assert [one and one.tally.blocks for one in found] == [None, 2, 2, 4, 4]


def test_people_find_the_application_before_it_has_read_anything(tmp_path: Path) -> None:
    """Its id and its live pages are left once, and then with what it has read."""
    clock = iter(n * progress.EVERY_S for n in range(9))
    submission, application = _submission(tmp_path), Application(id="local-1", ui="http://host:4040")
    file = ProgressFile(Stores(), submission, application=application, clock=lambda: next(clock))
    file.write(Tally())
    first = read_progress(Stores(), submission)
    file.write(_WHOLE)

    assert first == DriverProgress(tally=Tally(), application=application)
    assert read_progress(Stores(), submission) == DriverProgress(tally=_WHOLE, application=application)


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "//host:4040",
        "http://",
        "http://ann@host",
        "http://host/\x1b",
        "https://host/ x",
        "http://[",
        "http://" + "h" * 300,
    ],
)
def test_an_address_that_is_no_page_is_left_out(tmp_path: Path, address: str) -> None:
    """A forged file makes no page of ours link to a script, or to what people cannot read."""
    submission = _submission(tmp_path)
    hostile = Application(id="a" * 400 + "\n", ui=address)
    write_progress(Stores(), submission, DriverProgress(tally=_WHOLE, application=hostile))

    assert read_progress(Stores(), submission) in (DriverProgress(tally=_WHOLE), None)  # or too large to be ours


class Looks(Observer):
    """Looks, while a task is at work, at what it has marked."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.seen: list[Tally] = []

    def progress(self, progress: Progress) -> None:
        """Keep what is reported."""
        self.seen.append(progress.tally)


class Peeking(Stores):
    """Lets the driver report after each mark of a task, as an engine whose tasks run elsewhere does now and then."""

    report: Callable[[], None] = staticmethod(lambda: None)

    def write_bytes_atomic(self, uri: str, data: bytes) -> None:
        """Write, and report after a mark."""
        super().write_bytes_atomic(uri, data)
        if "/progress/" in uri:
            type(self).report()


def test_a_task_at_work_says_how_far_it_is(here: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each block; its mark is added to what is done, and goes when the task ends, also by an error."""
    monkeypatch.setattr(progress, "TASK_EVERY_S", 0.0)
    here.block_size = 4
    here.put({"a.txt": b"one\ntwo\n", "b.txt": b"six\n"})
    looks, stores = Looks(), Peeking()
    run = InProcessEngine.run

    def reporting(self: Any, task: Any, items: Any, *, report: Any, **options: Any) -> Any:
        monkeypatch.setattr(Peeking, "report", staticmethod(lambda: report(Progress(done=0, total=len(items)))))
        return run(self, task, items, report=report, **options)

    monkeypatch.setattr(InProcessEngine, "run", reporting)
    here.submitter = ReadHere(stores, cores=1, observer=looks)
    ref = here.plan()
    here.read(ref)

    assert [tally.blocks for tally in looks.seen] == [1, 2, 3, 3]
    assert looks.seen[-1] == Tally(blocks=3, records=3, bytes=12)
    assert list(here.work.rglob("progress/*.json")) == []


def test_a_mark_that_cannot_be(tmp_path: Path) -> None:
    """It exceeds no task's own blocks and bytes; anything else is nothing."""
    uri = task_progress_uri(str(tmp_path), 3)
    assert read_task_progress(Stores(), uri, blocks=2, size=5) == Tally()
    Stores().write_bytes_atomic(uri, json.dumps(asdict(Tally(9, 9, 1, 9))).encode())
    assert read_task_progress(Stores(), uri, blocks=2, size=5) == Tally(2, 9, 1, 5)
    for data in (b"", b"[]", b"null", b'{"blocks": 1}', json.dumps(asdict(Tally(1, -1))).encode(), b" " * 2000):
        Stores().write_bytes_atomic(uri, data)
        assert read_task_progress(Stores(), uri, blocks=2, size=5) == Tally(), data


def _submission(folder: Path) -> Submission:
    return Submission(spec_uri=f"{folder}/job.json", spec_hash=_SEALED["bound"], secret=_SEALED["secret"])


def test_what_is_not_progress_is_nothing(tmp_path: Path) -> None:
    """A file of another attempt, without a seal, too large, or of numbers that cannot be."""
    ours = _submission(tmp_path)
    write_progress(Stores(), ours, DriverProgress(tally=_WHOLE))
    assert read_progress(Stores(), ours) == DriverProgress(tally=_WHOLE)
    for other in (replace(ours, secret=new_secret()), replace(ours, spec_hash="other")):
        assert read_progress(Stores(), other) is None

    fields = asdict(_WHOLE) | {"id": "", "ui": ""}
    wrong: list[dict[str, Any]] = [
        fields | {"records": -1},
        fields | {"bytes": 2**53},
        fields | {"blocks": True},
        fields | {"blocks": "1"},
        fields | {"blocks": 1.0},
        fields | {"bad_records": 4},
        fields | {"ui": None},
        fields | {"more": 1},
        {"blocks": 1},
    ]
    good = sealed("progress", fields, **_SEALED)
    others = [b"", b"{}", b"[" * 500, json.dumps(fields).encode(), good + b" " * 1024]
    for data in (*(sealed("progress", one, **_SEALED) for one in wrong), *others):
        (tmp_path / progress.PROGRESS_NAME).write_bytes(data)
        assert read_progress(Stores(), ours) is None, data


@given(st.lists(st.builds(Tally, *[st.integers(0, 2**40)] * 4), max_size=5))
def test_tallies_add_up(tallies: list[Tally]) -> None:
    """In any order."""
    sums = [Tally(), Tally()]
    for forth, back in zip(tallies, reversed(tallies), strict=True):
        sums = [sums[0].plus(forth), back.plus(sums[1])]

    assert sums[0] == sums[1] == Tally(*(sum(column) for column in zip(*map(astuple, tallies), strict=True)))
