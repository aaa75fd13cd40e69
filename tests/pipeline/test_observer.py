"""What an observer of the steps gets: lines that may be printed, and counts whose sums are those of the windows."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.observer import LogObserver, Observer, Progress
from airflow_provider_blockread.options import Limits, Policies, Selection
from tests.pipeline.make import Pipe


class Sums(Observer):
    """Adds up counts."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.sums: Counter[str] = Counter()

        self.gauges: dict[str, float] = {}
        self.timers: dict[str, float] = {}

    def count(self, name: str, number: float) -> None:
        """Add a count."""
        self.sums[name] += int(number)

    def gauge(self, name: str, number: float) -> None:
        """Keep the newest number."""
        self.gauges[name] = number

    def took(self, name: str, seconds: float) -> None:
        """Keep the newest time."""
        self.timers[name] = seconds


def test_counts_add_up_to_what_is_published(here: Pipe) -> None:
    """Also over windows; what was read before is not counted again."""
    sums = Sums()
    here.env = replace(here.env, observer=sums)
    here.policies = Policies(on_bad_record="quarantine")
    here.put({"a.txt": b"one\n\xff two\nthree\n", "b.txt": b"four\n"})
    one = here.run("one")
    here.put({"c.txt": b"five\n"})
    two = here.run("two")
    here.run("two")

    assert sums.sums == {
        "plan.new_files": one.files + two.files,
        "read.records": one.records + two.records,
        "read.bad_records": 1,
        "read.bytes": one.bytes + two.bytes,
        "read.retries": 0,
        "commit.files": one.files + two.files,
        "commit.records": one.records + two.records,
        "commit.bad_records": 1,
        "commit.bytes": one.bytes + two.bytes,
    }
    assert sums.timers["read.time"] > 0


def test_the_backlog_and_how_late_what_is_published_is(here: Pipe) -> None:
    """After each plan what waits for the next one; after a publication the age of its oldest file."""
    sums = Sums()
    here.env = replace(here.env, observer=sums)
    here.selection = Selection(limits=Limits(max_files=1))
    here.put({"a.txt": b"one\n", "b.txt": b"four\n"})
    for name, age_s in (("a.txt", 300), ("b.txt", 200)):
        os.utime(here.source / name, ns=(0, int((here.time.timestamp() - age_s) * 10**9)))
    here.run("one")
    assert sums.gauges == {"plan.backlog_files": 1, "plan.backlog_bytes": 5, "plan.backlog_age_s": 200}
    assert sums.timers["commit.lag"] == 300
    here.run("two")

    assert sums.gauges == {"plan.backlog_files": 0, "plan.backlog_bytes": 0, "plan.backlog_age_s": 0}
    assert sums.timers["commit.lag"] == 200


def test_attempts_after_the_first_are_retries_and_failed_proofs_are_counted(here: Pipe) -> None:
    """Each once, of what is read again and of what is not published."""
    sums = Sums()
    here.env = replace(here.env, observer=sums)
    here.put({"a.txt": b"one\n"})
    ref = here.plan()
    here.read(ref)
    here.read(ref, clear_number=1)
    next(here.work.rglob("00000-e2/data/*.parquet")).unlink()
    with pytest.raises(ProofError):
        here.commit(ref)

    assert (sums.sums["read.retries"], sums.sums["commit.failed_proofs"]) == (1, 1)
    assert "commit.files" not in sums.sums


@given(st.text())
def test_lines_may_be_printed(text: str) -> None:
    """Whatever a name holds, a line stays one line without control characters."""
    lines: list[str] = []
    observer = LogObserver(lines.append)

    observer.log(text)
    observer.warn(text)
    observer.progress(Progress(what=text, done=1, total=2, size=10))

    assert not any(set(line) & set("\n\r\x1b\x00") for line in lines)
    assert lines[2].endswith(" 1 of 2 tasks, about 5 B of 10 B")
