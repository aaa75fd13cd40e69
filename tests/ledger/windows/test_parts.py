"""Parts of a file in the ledger: taken in order by one planner each, kept when their windows are pruned."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import text

from airflow_provider_blockread.errors import ConflictError, PlanConflictError, ProofError
from airflow_provider_blockread.ledger.files.admission import Admission
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.files.unread import backlog
from airflow_provider_blockread.ledger.model import FilePart, PendingFile, Window
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.upkeep.retention import Bound, begin_pruning, drop_detail, finish_pruning
from airflow_provider_blockread.ledger.upkeep.withdrawing import begin_abandoning, begin_undoing, release_files
from airflow_provider_blockread.ledger.windows.journal import confirm_entries, journal, record_file_sums
from airflow_provider_blockread.ledger.windows.parts import part_ends_before
from airflow_provider_blockread.ledger.windows.publishing import drop_file_sums, finish_publication, mark_proven
from airflow_provider_blockread.ledger.windows.queries import feed_counts, files_with_bad_records
from airflow_provider_blockread.ledger.windows.selection import pending_files, window_files
from airflow_provider_blockread.options import Limits, Selection
from airflow_provider_blockread.proof.model import FileSums, PartBorders
from tests.ledger.clock import Clock
from tests.ledger.make import FEED, SUMS, committer, freeze_window, plan, read_all, steps, version

_FOUR = Selection(limits=Limits(max_bytes=4))


def _next(ledger: Ledger) -> list[PendingFile]:
    return list(pending_files(ledger, FEED, _FOUR, block_size=4))


def _freeze(ledger: Ledger, key: str, found: list[PendingFile] | None = None) -> Window:
    found = _next(ledger) if found is None else found
    parts = [item.part for item in found if item.part is not None]
    return freeze_window(ledger, replace(plan(key, files=len(found)), parts=parts), [item.file for item in found])


def _land(ledger: Ledger) -> None:
    record_files(ledger, FEED, [version("a", size=10)])


def _publish(ledger: Ledger, window: Window, part: FilePart, borders: tuple[int, int], *, generation: int = 1) -> None:
    read_all(ledger, window, generation)
    held = committer(ledger, window, generation)
    mark_proven(ledger, held, SUMS)
    read = PartBorders(
        file=part.file,
        path="a",
        start=part.start,
        end=part.end,
        first_start=borders[0],
        entry_state=0,
        next_start=borders[1],
        exit_state=0,
    )
    sums = FileSums(file=part.file, records=5, bad_records=part.number - 1, bytes=4, part=read)
    drop_file_sums(ledger, held)
    record_file_sums(ledger, held, [sums])
    journal(ledger, held, steps(generation), parts=[read])
    confirm_entries(ledger, held, [0, 1, 2])
    finish_publication(ledger, held)


def test_the_parts_of_a_file_are_taken_in_order(ledger: Ledger) -> None:
    """Each begins where the one before ends; the last one makes the file the window's own."""
    _land(ledger)
    taken = []
    for key in "123":
        (found,) = _next(ledger)
        taken.append(found.part)
        window = _freeze(ledger, key, [found])
        (held,) = window_files(ledger, window.id, order="oldest")
        assert held.part is not None
        assert found.part is not None
        assert (held.part.start, held.part.end) == (found.part.start, found.part.end)

    assert [part and (part.number, part.start, part.end, part.is_last) for part in taken] == [
        (1, 0, 4, False),
        (2, 4, 8, False),
        (3, 8, 10, True),
    ]
    assert (_next(ledger), feed_counts(ledger, FEED)) == ([], {"planned": 1})


def test_one_planner_takes_a_part(ledger: Ledger) -> None:
    """The second planner, with the part or the whole file, must plan again; so must one whose part before is gone."""
    _land(ledger)
    first = _next(ledger)
    one = _freeze(ledger, "1", first)
    for late in (first, [first[0]._replace(part=None)]):
        with pytest.raises(PlanConflictError, match="plan again"):
            _freeze(ledger, "late", late)

    second = _next(ledger)
    withdrawal = begin_abandoning(ledger, one.id, who="me")
    assert _next(ledger) == []
    with pytest.raises(PlanConflictError, match="no longer waits to be read from byte 4 on"):
        _freeze(ledger, "late", second)
    assert release_files(ledger, withdrawal) == 1
    assert _next(ledger) == first


def test_a_begun_file_is_read_on_whatever_the_bounds(ledger: Ledger) -> None:
    """It comes before older files, and no bound leaves out the rest of a file of which a part is published."""
    _land(ledger)
    _freeze(ledger, "1")
    rules = Admission(start_ns=10)
    record_files(ledger, FEED, [version("a", size=10), version("0", mtime_ns=0)], rules=rules)

    bound = replace(_FOUR, start_from="2026-01-01")
    (found,) = pending_files(ledger, FEED, bound, block_size=4)
    assert (found.version.path, found.part and found.part.start) == ("file:///in/a", 4)


def test_parts_are_chained_as_they_are_published(ledger: Ledger) -> None:
    """In order, and touching; a rebuild may not end elsewhere once the next part is published."""
    _land(ledger)
    found = [(_next(ledger), _freeze(ledger, key)) for key in "123"]
    parts = [items[0].part for items, _ in found]
    one, two, _ = (window for _, window in found)
    assert parts[0] is not None
    assert parts[1] is not None
    with pytest.raises(ConflictError, match=f"the part before is in window {one.id} '1'"):
        part_ends_before(ledger, two.id)
    with pytest.raises(ConflictError, match=f"in window {one.id}, is not published"):
        _publish(ledger, two, parts[1], (5, 9))
    _publish(ledger, one, parts[0], (0, 5))
    with pytest.raises(ProofError, match=f"read from byte 6 on in state 0, but window {one.id} ends at byte 5"):
        _publish(ledger, two, parts[1], (6, 9))
    _publish(ledger, two, parts[1], (5, 9))
    assert part_ends_before(ledger, two.id) == {parts[0].file: (5, 0)}
    assert (files_with_bad_records(ledger, one.id), files_with_bad_records(ledger, two.id)) == (set(), {parts[0].file})
    with ledger.reading() as connection:
        row = connection.execute(text("SELECT state, records, bad_records, part_next_offset FROM file_lifecycle")).one()
        waits = connection.execute(text("SELECT pending_files, pending_bytes FROM backlog")).one()
    assert (tuple(row), tuple(waits)) == (("planned", 10, 1, 10), (0, 0))


def test_pruned_windows_keep_the_ends_of_their_parts(ledger: Ledger, clock: Clock) -> None:
    """The file is read on when the window of the part before was pruned, and is never taken again in the end."""
    _land(ledger)
    windows = []
    for number in range(3):
        (found,) = _next(ledger)
        assert found.part is not None
        window = _freeze(ledger, f"{number}")
        assert len(part_ends_before(ledger, window.id)) == (number > 0)
        ends = min(4 * number, 10), min(4 * number + 4, 10)
        _publish(ledger, window, found.part, ends)
        clock.pass_seconds(1)
        windows.append(window)
        bound = Bound(before=clock() + timedelta(seconds=1), keep=0)
        assert begin_pruning(ledger, window.id, bound)
        assert drop_detail(ledger, window.id) == (number == 2)
        finish_pruning(ledger, window.id)

    _land(ledger)
    assert (_next(ledger), feed_counts(ledger, FEED)) == ([], {"pruned": 1})


def test_views_count_the_parts_that_are_published(ledger: Ledger) -> None:
    """What was read of parts that were taken away counts no more; the bytes of parts that will be read are open."""
    _land(ledger)
    windows = []
    for key, borders in (("1", (0, 5)), ("2", (5, 9)), ("3", (9, 10))):
        (found,) = _next(ledger)
        assert found.part is not None
        windows.append(_freeze(ledger, key))
        assert _backlog(ledger) == (1, 1, found.part.end - found.part.start, 10 - found.part.end)
        assert backlog(ledger, FEED).bytes == 10 - found.part.end
        _publish(ledger, windows[-1], found.part, borders)

    for window, left in zip(reversed(windows), ((10, 1), (5, 0), (None, None)), strict=True):
        release_files(ledger, begin_undoing(ledger, window.id, files=None, who="me"))
        with ledger.reading() as connection:
            row = connection.execute(text("SELECT state, records, bad_records FROM file_lifecycle")).one()
        assert tuple(row) == ("excluded", *left)


def _backlog(ledger: Ledger) -> tuple[int, ...]:
    columns = "open_windows, open_files, open_bytes, pending_bytes"
    with ledger.reading() as connection:
        return tuple(connection.execute(text(f"SELECT {columns} FROM backlog")).one())  # noqa: S608 - our names
