"""What an observer of the steps gets: lines that may be printed, and counts whose sums are those of the windows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.observer import LogObserver, Observer, Progress
from airflow_provider_blockread.options import Policies
from tests.pipeline.make import Pipe


class Sums(Observer):
    """Adds up counts."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.sums: Counter[str] = Counter()

    def count(self, name: str, number: float) -> None:
        """Add a count."""
        self.sums[name] += int(number)


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
    }


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
