"""A plan shrinks only by recorded exclusions."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import timedelta
from threading import Event
from typing import Any

import pytest
from sqlalchemy import Connection, select

from airflow_provider_blockread.errors import ConflictError, FencedError, SourceError
from airflow_provider_blockread.ledger.model import Publication
from airflow_provider_blockread.ledger.schema.tables import exclusions, files
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.upkeep.retention import Bound, begin_pruning, drop_detail, restore_plan
from airflow_provider_blockread.ledger.windows import exclusions as exclusions_of
from airflow_provider_blockread.ledger.windows import publishing
from airflow_provider_blockread.ledger.windows.exclusions import InPlan, exclude_file, excluded_files
from airflow_provider_blockread.ledger.windows.generations import (
    give_up_generation,
    latest_generation,
    list_generations,
    list_groups,
    start_generation,
)
from airflow_provider_blockread.ledger.windows.groups import complete_group
from airflow_provider_blockread.ledger.windows.journal import journal, record_file_sums
from airflow_provider_blockread.ledger.windows.publishing import check_publication, mark_proven
from airflow_provider_blockread.ledger.windows.queries import feed_counts, list_files
from airflow_provider_blockread.proof.model import FileSums
from tests.ledger.make import (
    FEED,
    SUMS,
    claim,
    committer,
    open_window,
    outcome,
    plan,
    publish,
    read_all,
    ref,
    steps,
    version,
)

PATH = "file:///in/a"


@pytest.mark.parametrize(("reason", "state"), [("missing", "missing"), ("changed", "changed"), ("rotten", "excluded")])
def test_an_exclusion_is_recorded_and_told_to_readers(ledger: Ledger, reason: str, state: str) -> None:
    """The file changes its state by the reason; who and why are kept; the next claim leaves it out."""
    window = open_window(ledger)

    file_id, reset = exclude_file(ledger, window.id, PATH, reason=reason, who="me", plan=InPlan([0]))

    assert reset == []
    assert feed_counts(ledger, FEED) == {"planned": 1, state: 1}
    assert claim(ledger, ref(window)).excluded == (file_id,)
    with ledger.reading() as connection:
        row = connection.execute(select(exclusions)).one()
    assert (row.file_id, row.path, row.reason, row.who) == (file_id, PATH, reason, "me")


def test_done_groups_are_read_again_and_the_proof_is_taken_back(ledger: Ledger) -> None:
    """Only the groups that hold the file are reset, with their epoch kept; a publisher at work is fenced."""
    window = open_window(ledger)
    read_all(ledger, window)
    held = committer(ledger, window)
    mark_proven(ledger, held, SUMS)

    _, reset = exclude_file(ledger, window.id, PATH, reason="rotten", who="me", plan=InPlan([1]))

    assert reset == [1]
    groups = list_groups(ledger, window.id, 1)
    assert [(group.state, group.epoch) for group in groups] == [("done", 1), ("pending", 1)]
    assert latest_generation(ledger, window.id).state == "reading"
    with pytest.raises(FencedError):
        check_publication(ledger, held)
    publish(ledger, window)
    assert feed_counts(ledger, FEED) == {"done": 1, "excluded": 1}


def test_nothing_was_read_from_an_excluded_file(ledger: Ledger) -> None:
    """What an earlier proof found in it does not count, however the generation ends."""
    window = open_window(ledger)
    read_all(ledger, window)
    held = committer(ledger, window)
    record_file_sums(ledger, held, [FileSums(file=n, records=5, bad_records=1, bytes=5) for n in (1, 2)])
    left_out, _ = exclude_file(ledger, window.id, PATH, reason="changed", who="me", plan=InPlan([0]))
    publish(ledger, window)

    with ledger.reading() as connection:
        found = {row.id: (row.state, row.records, row.bad_records) for row in connection.execute(select(files))}
    assert found == {1: ("done", 5, 1), 2: ("done", 5, 1)} | {left_out: ("changed", None, None)}


def test_a_running_group_goes_on(ledger: Ledger) -> None:
    """A reader that finds a file gone excludes it and completes its own group without it."""
    window = open_window(ledger)
    held = claim(ledger, ref(window))

    exclude_file(ledger, window.id, PATH, reason="missing", who="reader", plan=InPlan([0]))

    complete_group(ledger, held, outcome(held.ref))
    assert list_groups(ledger, window.id, 1)[0].state == "done"


def test_excluding_twice_changes_nothing(ledger: Ledger) -> None:
    """The first reason stands, and no group is reset again."""
    window = open_window(ledger)
    first = exclude_file(ledger, window.id, PATH, reason="rotten", who="me")
    read_all(ledger, window)

    assert exclude_file(ledger, window.id, PATH, reason="missing", who="you", plan=InPlan([0, 1])) == (
        first[0],
        [],
    )
    assert {group.state for group in list_groups(ledger, window.id, 1)} == {"done"}
    assert feed_counts(ledger, FEED) == {"planned": 1, "excluded": 1}


def test_an_exclusion_outlives_its_generation(ledger: Ledger) -> None:
    """It belongs to the window: later generations leave the file out as well."""
    window = open_window(ledger)
    file_id, _ = exclude_file(ledger, window.id, PATH, reason="rotten", who="me")
    start_generation(ledger, window.id, options={}, mode="write", clear_number=1)

    assert claim(ledger, ref(window, 0, 2), clear_number=1).excluded == (file_id,)


def test_a_published_window_keeps_its_files(ledger: Ledger) -> None:
    """Neither a published window nor one being published may shrink."""
    window = open_window(ledger)
    read_all(ledger, window)
    held = committer(ledger, window)
    mark_proven(ledger, held, SUMS)
    journal(ledger, held, steps())
    with pytest.raises(ConflictError, match="is half published; let its commit end"):
        exclude_file(ledger, window.id, PATH, reason="rotten", who="me")

    other = open_window(ledger, "other", ["c"])
    publish(ledger, other)
    with pytest.raises(ConflictError, match="is published with this file"):
        exclude_file(ledger, other.id, "file:///in/c", reason="rotten", who="me")
    assert feed_counts(ledger, FEED) == {"planned": 2, "done": 1}


def test_a_rebuild_leaves_a_file_out_by_itself(ledger: Ledger) -> None:
    """What is published keeps the file until it is replaced; then the file is in the state that the reason says."""
    window = open_window(ledger)
    publish(ledger, window)
    start_generation(ledger, window.id, options={}, mode="write", clear_number=0)
    file_id, _ = exclude_file(ledger, window.id, PATH, reason="missing", who="me")

    assert claim(ledger, ref(window, 0, 2)).excluded == (file_id,)
    assert (excluded_files(ledger, window.id), excluded_files(ledger, window.id, 1)) == ([], [])
    assert feed_counts(ledger, FEED) == {"done": 2}
    publish(ledger, window, 2)
    assert excluded_files(ledger, window.id) == [file_id]
    assert feed_counts(ledger, FEED) == {"done": 1, "missing": 1}


@pytest.mark.parametrize("by", ["the next", "giving up"])
def test_a_rebuild_that_came_to_nothing_leaves_nothing_out(ledger: Ledger, by: str) -> None:
    """What it alone left out is in the window still, once another takes its place or it is given up."""
    window = open_window(ledger)
    publish(ledger, window)
    start_generation(ledger, window.id, options={}, mode="write", clear_number=1)
    exclude_file(ledger, window.id, PATH, reason="rotten", who="me")

    if by == "giving up":
        given_up = give_up_generation(ledger, window.id, who="ann")
        assert given_up is not None
        assert given_up.number == 2
        assert give_up_generation(ledger, window.id, who="ann") is None
        with pytest.raises(ConflictError, match="is published with this file"):
            exclude_file(ledger, window.id, PATH, reason="rotten", who="me")
    start_generation(ledger, window.id, options={}, mode="write", clear_number=2)
    assert claim(ledger, ref(window, 0, 3), clear_number=2).excluded == ()
    assert feed_counts(ledger, FEED) == {"done": 2}


def test_giving_up_what_is_published_at_that_moment(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Giving a rebuild up while its publication commits comes too late, and changes nothing."""
    window = open_window(ledger)
    publish(ledger, window)
    start_generation(ledger, window.id, options={}, mode="write", clear_number=0)
    inside, settle = Event(), publishing.settle_exclusions

    def slow(connection: Connection, held: Publication) -> None:
        inside.set()
        wait([late], timeout=0.3)
        settle(connection, held)

    monkeypatch.setattr(publishing, "settle_exclusions", slow)
    with ThreadPoolExecutor(2) as pool:
        late: Future[object] = Future()
        done = pool.submit(publish, ledger, window, 2)
        assert inside.wait(30)
        given_up = pool.submit(give_up_generation, ledger, window.id, who="ann")
        assert (given_up.result(), done.result().generation) == (None, 2)
    assert [g.state for g in list_generations(ledger, window.id)] == ["superseded", "published"]


@pytest.mark.slow
def test_an_exclusion_beside_the_next_generation(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The starter of one waits for it and forgets it, so that the file can be left out of that one, too."""
    window = open_window(ledger)
    publish(ledger, window)
    start_generation(ledger, window.id, options={}, mode="write", clear_number=0)
    inside, reset = Event(), exclusions_of._reset

    def slow(*arguments: Any) -> list[int]:
        inside.set()
        wait([late], timeout=0.3)
        return reset(*arguments)

    monkeypatch.setattr(exclusions_of, "_reset", slow)
    with ThreadPoolExecutor(2) as pool:
        late: Future[object] = Future()
        first = pool.submit(exclude_file, ledger, window.id, PATH, reason="rotten", who="me", plan=InPlan([0]))
        assert inside.wait(30)
        started = pool.submit(start_generation, ledger, window.id, options={}, mode="write", clear_number=1)
        assert (started.result().number, len(first.result())) == (3, 2)
    assert excluded_files(ledger, window.id, 3) == []
    file_id, _ = exclude_file(ledger, window.id, PATH, reason="rotten", who="me")
    assert excluded_files(ledger, window.id, 3) == [file_id]


def test_a_file_that_was_pruned_is_known_again(ledger: Ledger) -> None:
    """By the number that it has in the plan, in the state that the reason says; other files stay identities."""
    window = open_window(ledger)
    file, *_ = [row.file for row in list_files(ledger, FEED) if row.version == version("a")]
    read_all(ledger, window)
    publish(ledger, window)
    begin_pruning(ledger, window.id, Bound(before=ledger.now() + timedelta(days=1), keep=0))
    drop_detail(ledger, window.id)
    restore_plan(ledger, window.id, plan("k", files=2).groups)
    start_generation(ledger, window.id, options={}, mode="write", clear_number=0)
    assert feed_counts(ledger, FEED) == {"pruned": 2}
    in_plan = InPlan([0], file, version("a"))

    assert exclude_file(ledger, window.id, PATH, reason="missing", who="me", plan=in_plan) == (file, [])
    read_all(ledger, window, 2)
    publish(ledger, window, 2)
    assert feed_counts(ledger, FEED) == {"missing": 1, "pruned": 1}
    assert [row.file for row in list_files(ledger, FEED)] == [file]


def test_a_verification_leaves_nothing_out(ledger: Ledger) -> None:
    """It is about what is published, with every file."""
    window = open_window(ledger)
    publish(ledger, window)
    start_generation(ledger, window.id, options={}, mode="verify", clear_number=1)

    with pytest.raises(ConflictError, match="is published with this file"):
        exclude_file(ledger, window.id, PATH, reason="rotten", who="me")


def test_a_file_of_another_window_is_refused(ledger: Ledger) -> None:
    """A path that the window does not hold is an error that names both."""
    window = open_window(ledger)

    with pytest.raises(SourceError, match="holds no file file:///in/zzz"):
        exclude_file(ledger, window.id, "file:///in/zzz", reason="rotten", who="me")
    with pytest.raises(ConflictError, match="is not open"):
        exclude_file(ledger, "0" * 16, PATH, reason="rotten", who="me")
