"""Whatever lands and is planned, in any order: no byte in two windows, none forgotten, limits and order hold."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.model import PendingFile
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.queries import feed_counts
from airflow_provider_blockread.ledger.windows.selection import pending_files
from airflow_provider_blockread.options import Limits, Selection
from tests.examples import examples
from tests.ledger.make import close_empty_window, freeze_window, plan

BLOCK = 4
DAYS = 5
_FEEDS = count()
Round = tuple[list[tuple[int, int]], int, Limits, str]  # (time, size) of files that land, a day, limits, order
_LIMIT = st.none() | st.integers(1, 12)

limits = st.builds(Limits, max_files=_LIMIT, max_bytes=_LIMIT, max_blocks=_LIMIT)
orders = st.sampled_from(["oldest", "newest"])
landings = st.lists(st.tuples(st.integers(1, 2 * DAYS - 1), st.integers(0, 9)), max_size=5)
rounds = st.lists(st.tuples(landings, st.integers(0, DAYS - 1), limits, orders), max_size=6)


def _range(item: PendingFile) -> tuple[int, int]:
    return (item.part.start, item.part.end) if item.part else (0, item.version.size)


class _Feed:
    """A feed of its own, and what its windows took."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.name = ledger, f"law {next(_FEEDS)}"
        self.landed = 0
        self.times: list[int] = []
        self.taken: dict[str, int] = {}  # by path, the bytes that windows took
        self.planned: set[int] = set()

    def land(self, files: list[tuple[int, int]]) -> None:
        """Let files of these times and sizes land."""
        versions = [
            FileVersion(path=f"file:///{self.name}/{self.landed + n:03d}", size=size, mtime_ns=time)
            for n, (time, size) in enumerate(files)
        ]
        self.landed += len(files)
        record_files(self.ledger, self.name, versions, complete=False)

    def plan(self, selection: Selection, day: int | None = None) -> list[PendingFile]:
        """Plan a window, of a day or of what has arrived, and return what it took."""
        interval = None if day is None else (2 * day, 2 * day + 2)
        found = list(pending_files(self.ledger, self.name, selection, interval_ns=interval, block_size=BLOCK))
        key = f"window {len(self.times)} {day}"
        self.times.append(len(found))
        if found:
            in_parts = [item.part for item in found if item.part is not None]
            window = replace(plan(key, files=len(found), feed=self.name), interval_ns=interval, parts=in_parts)
            freeze_window(self.ledger, window, [item.file for item in found])
        else:
            close_empty_window(self.ledger, self.name, key, owner="planner", interval_ns=interval)
        for item in found:
            start, end = _range(item)
            assert (self.taken.get(item.version.path, 0), item.version.path in self.taken) == (start, start > 0)
            self.taken[item.version.path] = end
        return found

    def check(self, found: list[PendingFile], selection: Selection) -> None:
        """Check what a window took against its selection."""
        newest = selection.order == "newest"
        keys = [((_range(item)[0] > 0) == newest, item.version.mtime_ns, item.version.path) for item in found]
        assert keys == sorted(keys, reverse=newest)
        sizes = [end - start for start, end in map(_range, found)]
        bound = selection.limits
        if len(found) > 1 or (found and sizes[0] > BLOCK):
            assert bound.max_files is None or len(found) <= bound.max_files
            assert bound.max_bytes is None or sum(sizes) <= bound.max_bytes
            assert bound.max_blocks is None or sum(-(-size // BLOCK) for size in sizes) <= bound.max_blocks
        assert all(_range(item)[1] == item.version.size for item in found[1:])

    def is_drained(self) -> bool:
        """Tell whether every file that landed is in a window."""
        return len(self.taken) == self.landed and "pending" not in feed_counts(self.ledger, self.name)


_ON_ONE_LEDGER = examples(15, suppress_health_check=[HealthCheck.function_scoped_fixture])


@_ON_ONE_LEDGER
@given(rounds)
def test_every_file_that_arrives_is_taken_once(ledger: Ledger, rounds: list[Round]) -> None:
    """Windows within limits take what has arrived, in order; further ones take the rest, each at least one file."""
    feed = _Feed(ledger)
    for files, _, bound, order in rounds:
        selection = Selection(order=order, limits=bound)
        feed.land(files)
        feed.check(feed.plan(selection), selection)

    left = Selection(limits=Limits(max_bytes=1))
    while not feed.is_drained():
        assert feed.plan(left), "a window took nothing while files wait"


@_ON_ONE_LEDGER
@given(rounds)
def test_every_file_of_a_planned_interval_is_taken_once(ledger: Ledger, rounds: list[Round]) -> None:
    """A window takes files of its day and late ones of days planned before, none of a day to come; in the end, all."""
    feed = _Feed(ledger)
    for files, day, bound, order in rounds:
        selection = Selection(select="interval", order=order, limits=bound)
        feed.land(files)
        found = feed.plan(selection, day)
        feed.check(found, selection)
        days = {item.version.mtime_ns // 2 for item in found}
        assert days <= feed.planned | {day}
        assert [item.late for item in found] == [item.version.mtime_ns // 2 != day for item in found]
        feed.planned.add(day)

    for day in range(DAYS):
        feed.plan(Selection(select="interval"), day)
    assert feed.is_drained()
