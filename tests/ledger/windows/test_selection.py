"""Which files a window takes, in which order, and how many."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.model import PendingFile
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows import selection as module
from airflow_provider_blockread.ledger.windows.limits import Cuts, within
from airflow_provider_blockread.ledger.windows.selection import pending_files
from airflow_provider_blockread.options import Limits, Selection
from tests.ledger.make import FEED, version

BLOCK = 4


def _names(ledger: Ledger, selection: Selection, interval_ns: tuple[int, int] | None = None) -> list[str]:
    found = pending_files(ledger, FEED, selection, interval_ns=interval_ns, block_size=BLOCK)
    return [item.version.path.removeprefix("file:///in/") for item in found]


def test_order_is_by_time_then_path(ledger: Ledger) -> None:
    """Oldest first sorts by time and then by the path's bytes; newest first is its reverse."""
    found = [version("b", mtime_ns=2), version("é", mtime_ns=1), version("a", mtime_ns=2), version("Z", mtime_ns=1)]
    record_files(ledger, FEED, found)

    assert _names(ledger, Selection()) == ["Z", "é", "a", "b"]
    assert _names(ledger, Selection(order="newest")) == ["b", "a", "é", "Z"]


@pytest.mark.parametrize("order", ["oldest", "newest"])
def test_pages_join(ledger: Ledger, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a page ends makes no difference, among equal times neither."""
    record_files(ledger, FEED, [version(f"{n:02d}", mtime_ns=n // 4) for n in range(10)])
    whole = _names(ledger, Selection(order=order))

    monkeypatch.setattr(module, "BATCH_FILES", 3)

    assert _names(ledger, Selection(order=order)) == whole
    assert len(whole) == 10


def test_interval_is_half_open(ledger: Ledger) -> None:
    """A file at the start of an interval is in it, one at its end is in the next."""
    record_files(ledger, FEED, [version(f"{n}", mtime_ns=n) for n in range(6)])
    by_interval = Selection(select="interval")

    assert _names(ledger, by_interval, (1, 3)) == ["1", "2"]
    assert _names(ledger, by_interval, (3, 5)) == ["3", "4"]


def test_interval_needs_an_interval(ledger: Ledger) -> None:
    """Selecting by interval without one is refused at the call."""
    with pytest.raises(OptionsError, match="needs a run with a data interval"):
        pending_files(ledger, FEED, Selection(select="interval"), block_size=BLOCK)


def test_an_unknown_feed_has_no_files(ledger: Ledger) -> None:
    """Asking for a feed does not create it."""
    assert _names(ledger, Selection()) == []


_LIMIT = st.none() | st.integers(1, 20)


@given(st.lists(st.integers(0, 15), max_size=12), _LIMIT, _LIMIT, _LIMIT)
def test_limits_hold_together(sizes: list[int], files: int | None, size: int | None, blocks: int | None) -> None:
    """The longest head within all limits is taken, of a first file beyond them a part; empty files count as files."""
    limits = Limits(max_files=files, max_bytes=size, max_blocks=blocks)
    items = [PendingFile(file=n, version=version(f"{n}", size=s)) for n, s in enumerate(sizes)]

    def fits(head: list[int]) -> bool:
        return (
            (files is None or len(head) <= files)
            and (size is None or sum(head) <= size)
            and (blocks is None or sum(-(-s // BLOCK) for s in head) <= blocks)
        )

    taken = list(within(limits, Cuts(size_of=lambda _: BLOCK), items))

    allowed = [n for n in range(len(sizes) + 1) if n <= 1 or fits(sizes[:n])]
    assert [item.file for item in taken] == list(range(max(allowed)))
    for item in taken:
        if item.part is not None:
            assert not fits([item.version.size])
            assert (item.part.start, item.part.end % BLOCK, item.part.is_last) == (0, 0, False)
            assert item.part.end < item.version.size
            assert item.part.end == BLOCK or fits([item.part.end])
            assert not fits([item.part.end + BLOCK])
        elif not fits([item.version.size]):
            assert item.version.size <= BLOCK


def test_limits_reach_the_query(ledger: Ledger) -> None:
    """Limits bound what is taken from the ledger."""
    record_files(ledger, FEED, [version(f"{n}", size=4) for n in range(6)])

    assert _names(ledger, Selection(limits=Limits(max_files=4, max_bytes=13))) == ["0", "1", "2"]
