"""Proving and publishing: order, ownership, and crashes anywhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_blockread.errors import ConflictError, FencedError, OwnedError
from airflow_provider_blockread.ledger.model import Publication
from airflow_provider_blockread.ledger.schema.tables import file_sums
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows import publishing
from airflow_provider_blockread.ledger.windows.generations import (
    latest_generation,
    published_generation,
    start_generation,
)
from airflow_provider_blockread.ledger.windows.groups import claim_group
from airflow_provider_blockread.ledger.windows.journal import (
    confirm_entries,
    journal,
    journal_entries,
    record_file_sums,
)
from airflow_provider_blockread.ledger.windows.publishing import (
    check_publication,
    claim_publication,
    drop_file_sums,
    finish_publication,
    finish_verification,
    mark_failed,
    mark_proven,
)
from airflow_provider_blockread.ledger.windows.queries import feed_counts
from airflow_provider_blockread.proof.model import FileSums
from tests.ledger.clock import Clock
from tests.ledger.make import (
    FEED,
    STALE_S,
    SUMS,
    committer,
    open_window,
    publish,
    read_all,
    ref,
    steps,
)


def _state(ledger: Ledger, held: Publication) -> str:
    return latest_generation(ledger, held.window).state


def test_a_window_goes_from_reading_to_published(ledger: Ledger) -> None:
    """Sums, journal, files and generation end as they should."""
    window = open_window(ledger)
    held = publish(ledger, window)

    generation = published_generation(ledger, window.id)
    assert generation is not None
    assert (generation.number, generation.sums) == (1, SUMS)
    assert generation.proven_at is not None
    assert generation.published_at is not None
    assert journal_entries(ledger, window.id, 1) == [replace(step, state="done") for step in steps()]
    assert feed_counts(ledger, FEED) == {"done": 2}
    assert committer(ledger, window, owner="anybody").state == "published"
    finish_publication(ledger, held)


def test_groups_must_be_done(ledger: Ledger) -> None:
    """The error lists which are not, and shortens a long list."""
    window = open_window(ledger, groups=14)
    claim_group(ledger, ref(window, 1), owner="reader", clear_number=0, stale_after_s=STALE_S)

    with pytest.raises(ConflictError, match=r"groups 0 \(waiting\), 1 \(reading\), .* and 4 more are not done"):
        committer(ledger, window)


@pytest.mark.parametrize("crash_after", range(7))
def test_a_crash_between_any_two_calls_is_made_good(ledger: Ledger, crash_after: int) -> None:
    """A retry that continues from the state that the claim returns publishes the same."""
    window = open_window(ledger)
    read_all(ledger, window)

    def commit(calls: int) -> None:
        held = committer(ledger, window)
        todo = [
            lambda: mark_proven(ledger, held, SUMS),
            lambda: journal(ledger, held, steps()),
            lambda: confirm_entries(ledger, held, [0]),
            lambda: confirm_entries(ledger, held, [1, 2]),
            lambda: publishing._settle_files(ledger, held),
            lambda: finish_publication(ledger, held),
        ]
        if held.state == "published":
            todo = []
        if held.state == "publishing":
            todo = todo[1:]
        for call in todo[:calls]:
            call()

    commit(crash_after)
    commit(6)
    commit(6)

    assert published_generation(ledger, window.id) is not None
    assert {step.state for step in journal_entries(ledger, window.id, 1)} == {"done"}
    assert feed_counts(ledger, FEED) == {"done": 2}


def test_a_failed_proof_may_be_tried_again(ledger: Ledger) -> None:
    """The error is kept with the generation until the next claim, by whomever."""
    window = open_window(ledger)
    read_all(ledger, window)
    mark_failed(ledger, committer(ledger, window), "a gap\x00")
    failed = latest_generation(ledger, window.id)
    assert (failed.state, failed.error) == ("failed", "a gap\\x00")

    again = committer(ledger, window, owner="other")

    assert (again.epoch, again.state) == (2, "reading")
    assert latest_generation(ledger, window.id).error is None


def test_a_failure_while_publishing_goes_forward(ledger: Ledger) -> None:
    """Once the journal is written the generation stays publishing; the error is kept, and another may continue."""
    window = open_window(ledger)
    read_all(ledger, window)
    held = committer(ledger, window)
    mark_proven(ledger, held, SUMS)
    journal(ledger, held, steps())

    mark_failed(ledger, held, "store full")

    failed = latest_generation(ledger, window.id)
    assert (failed.state, failed.error) == ("publishing", "store full")
    assert committer(ledger, window, owner="other").state == "publishing"
    assert latest_generation(ledger, window.id).error == "store full"
    # Its groups stay done, so that a run cleared as a whole comes to its commit.
    assert claim_group(ledger, ref(window), owner="reader", clear_number=1, stale_after_s=STALE_S) is None


def test_a_live_foreign_publisher_is_a_conflict(ledger: Ledger, clock: Clock) -> None:
    """Until its heartbeat is stale a publisher keeps the generation; checking is a heartbeat."""
    window = open_window(ledger)
    read_all(ledger, window)
    held = committer(ledger, window, owner="first")
    clock.pass_seconds(STALE_S)
    check_publication(ledger, held)
    clock.pass_seconds(STALE_S)

    with pytest.raises(OwnedError, match="first is publishing it, last heartbeat 60 s ago"):
        committer(ledger, window, owner="second")
    clock.pass_seconds(1)
    assert committer(ledger, window, owner="second").epoch == 2


def test_of_two_publishers_the_newer_wins(ledger: Ledger) -> None:
    """Every call of the older one is fenced, at every stage."""
    window = open_window(ledger)
    read_all(ledger, window)
    old = committer(ledger, window)
    new = committer(ledger, window)

    def assert_fenced() -> None:
        for call in (
            lambda: check_publication(ledger, old),
            lambda: mark_proven(ledger, old, SUMS),
            lambda: mark_failed(ledger, old, "late"),
            lambda: journal(ledger, old, steps()),
            lambda: confirm_entries(ledger, old, [0]),
            lambda: finish_publication(ledger, old),
            lambda: record_file_sums(ledger, old, [FileSums(file=1, records=1, bad_records=0, bytes=1)]),
        ):
            with pytest.raises(FencedError, match="epoch 1 no longer publishes it"):
                call()

    assert_fenced()
    mark_proven(ledger, new, SUMS)
    assert_fenced()
    journal(ledger, new, steps())
    assert_fenced()
    confirm_entries(ledger, new, [0, 1, 2])
    assert_fenced()
    finish_publication(ledger, new)
    assert _state(ledger, new) == "published"


def test_steps_come_in_order(ledger: Ledger) -> None:
    """Nothing is journalled before the proof, nor finished before its steps."""
    window = open_window(ledger)
    read_all(ledger, window)
    held = committer(ledger, window)

    with pytest.raises(ConflictError, match="is reading, which must be proven here"):
        journal(ledger, held, steps())
    mark_proven(ledger, held, SUMS)
    with pytest.raises(ConflictError, match="is proven, which must be publishing here"):
        finish_publication(ledger, held)
    journal(ledger, held, steps())
    with pytest.raises(ConflictError, match="is publishing"):
        mark_proven(ledger, held, SUMS)
    confirm_entries(ledger, held, [0, 2])
    with pytest.raises(ConflictError, match="1 steps of its journal are not done"):
        finish_publication(ledger, held)
    with pytest.raises(ConflictError, match="1 confirmed steps are not in its journal"):
        confirm_entries(ledger, held, [1, 99])
    assert [step.state for step in journal_entries(ledger, window.id, 1)].count("planned") == 1


def test_a_journal_is_written_once(ledger: Ledger) -> None:
    """The same steps again change nothing, in any order and done or not; other steps are refused."""
    window = open_window(ledger)
    read_all(ledger, window)
    held = committer(ledger, window)
    mark_proven(ledger, held, SUMS)
    journal(ledger, held, steps())
    confirm_entries(ledger, held, [1])

    journal(ledger, held, steps()[::-1])
    with pytest.raises(ConflictError, match="holds other steps"):
        journal(ledger, held, steps(count=2))

    assert [step.state for step in journal_entries(ledger, window.id, 1)] == ["planned", "done", "planned"]


def test_a_window_without_output_is_published(ledger: Ledger) -> None:
    """A journal may be empty."""
    window = open_window(ledger)
    read_all(ledger, window)
    held = committer(ledger, window)
    mark_proven(ledger, held, SUMS)
    journal(ledger, held, [])

    finish_publication(ledger, held)

    assert _state(ledger, held) == "published"


def test_files_are_settled_in_batches(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A window of more files than one transaction holds ends with all of them done."""
    monkeypatch.setattr(publishing, "BATCH_FILES", 3)
    window = open_window(ledger, names=[f"{n}" for n in range(10)])

    publish(ledger, window)

    assert feed_counts(ledger, FEED) == {"done": 10}


def test_a_verification_leaves_what_is_published(ledger: Ledger) -> None:
    """It has an end of its own, may be finished twice, and cannot be published; nor can a write be only verified."""
    window = open_window(ledger)
    publish(ledger, window)
    start_generation(ledger, window.id, options={}, mode="verify", clear_number=1)
    read_all(ledger, window, 2, clear_number=1)
    held = committer(ledger, window, 2)
    mark_proven(ledger, held, SUMS)
    with pytest.raises(ConflictError, match="it only verifies"):
        journal(ledger, held, steps())

    finish_verification(ledger, held)
    finish_verification(ledger, held)

    assert _state(ledger, held) == "verified"
    shown = published_generation(ledger, window.id)
    assert shown is not None
    assert shown.number == 1
    assert committer(ledger, window, 2).state == "verified"
    start_generation(ledger, window.id, options={}, mode="write", clear_number=2)
    read_all(ledger, window, 3, clear_number=2)
    writer = committer(ledger, window, 3)
    mark_proven(ledger, writer, SUMS)
    with pytest.raises(ConflictError, match="it is to be published"):
        finish_verification(ledger, writer)


def test_sums_of_files_may_be_given_again(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of an earlier proof, which may have ended halfway, are dropped before."""
    monkeypatch.setattr(publishing, "BATCH_FILES", 2)
    window = open_window(ledger)
    read_all(ledger, window)
    held = committer(ledger, window)
    for records in (1, 2):
        drop_file_sums(ledger, held)
        sums = [FileSums(file=n, records=records, bad_records=0, bytes=5) for n in range(3)]
        record_file_sums(ledger, held, iter(sums))

    with ledger.reading() as connection:
        assert [row.records for row in connection.execute(file_sums.select())] == [2, 2, 2]


def test_a_generation_that_does_not_exist_is_refused(ledger: Ledger) -> None:
    """Wrong numbers are refused."""
    window = open_window(ledger)

    with pytest.raises(ConflictError, match="has no generation 5"):
        claim_publication(ledger, window.id, 5, owner="me", stale_after_s=STALE_S)
