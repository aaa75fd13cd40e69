"""Windows given up: one transaction fences everybody, files move last, and whatever is repeated changes nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select

from airflow_provider_blockread.errors import BlockReadError, ConflictError, FencedError, OptionsError
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.model import Withdrawal
from airflow_provider_blockread.ledger.schema.tables import generations, windows
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.upkeep.withdrawing import (
    begin_abandoning,
    begin_undoing,
    check_abandoning,
    check_undoing,
    find_withdrawal,
    finish_withdrawal,
    release_files,
)
from airflow_provider_blockread.ledger.windows.generations import latest_generation, start_generation
from airflow_provider_blockread.ledger.windows.groups import complete_group, heartbeat
from airflow_provider_blockread.ledger.windows.publishing import check_publication
from airflow_provider_blockread.ledger.windows.queries import feed_counts, get_window, list_files
from tests.ledger.clock import Clock
from tests.ledger.make import FEED, claim, committer, open_window, outcome, pending, publish, read_all, ref, version


def test_abandoning_fences_a_running_group(ledger: Ledger) -> None:
    """Its owner is stopped at the next heartbeat, and its result is not taken."""
    window = open_window(ledger)
    held = claim(ledger, ref(window))
    begin_abandoning(ledger, window.id, who="me")

    for call in (lambda: heartbeat(ledger, held), lambda: complete_group(ledger, held, outcome(ref(window)))):
        with pytest.raises(FencedError, match="generation superseded"):
            call()
    with pytest.raises(ConflictError, match="is abandoned, so it cannot start a generation"):
        start_generation(ledger, window.id, options={}, mode="write", clear_number=1)


def test_abandoning_fences_a_prover(ledger: Ledger) -> None:
    """The holder of the publication cannot continue."""
    window = open_window(ledger)
    read_all(ledger, window)
    held = committer(ledger, window)
    begin_abandoning(ledger, window.id, who="me")

    with pytest.raises(FencedError, match="no longer publishes it"):
        check_publication(ledger, held)


@pytest.mark.parametrize("fate", ["pending", "excluded"])
def test_files_move_once_and_only_when_told(ledger: Ledger, clock: Clock, fate: str) -> None:
    """They stay done while the output is taken away; a finished withdrawal is found as such."""
    window = open_window(ledger)
    publish(ledger, window)
    held = begin_undoing(ledger, window.id, files=fate, who="me")

    assert feed_counts(ledger, FEED) == {"done": 2}
    assert get_window(ledger, window.id).state == "abandoned"
    assert latest_generation(ledger, window.id).state == "superseded"
    assert find_withdrawal(ledger, window.id) == Withdrawal(window=window.id, files=fate, who="me")
    assert (release_files(ledger, held), release_files(ledger, held)) == (2, 0)
    assert feed_counts(ledger, FEED) == {fate: 2}
    assert len(pending(ledger)) == (2 if fate == "pending" else 0)
    finish_withdrawal(ledger, held)
    clock.pass_seconds(5)
    finish_withdrawal(ledger, held)
    again = begin_undoing(ledger, window.id, files=None, who="you")
    assert (again.files, again.who) == (fate, "me")
    assert again.finished_at is not None
    assert again.finished_at < clock()


def test_a_look_waits_for_nobody(ledger: Ledger) -> None:
    """Whether a window may be given up is shown while another process holds its rows."""
    published, waiting = open_window(ledger, key="a", names=["a"]), open_window(ledger, key="b", names=["b"])
    publish(ledger, published)

    def look() -> None:
        check_undoing(ledger, published.id, files="pending")
        check_abandoning(ledger, waiting.id)

    with ThreadPoolExecutor(1) as threads, ledger.writing() as connection:
        for table in (windows, generations):
            connection.execute(select(table).with_for_update())
        threads.submit(look).result(timeout=30)


def test_a_scan_under_way_does_not_call_released_files_missing(ledger: Ledger) -> None:
    """A listing that passed a file while it was planned leaves it alone when it ends after the release."""
    window = open_window(ledger, names=["a"])

    def listing() -> object:
        yield version("a")
        held = begin_abandoning(ledger, window.id, who="me")
        release_files(ledger, held)
        yield version("b")

    record_files(ledger, FEED, listing(), batch_size=1)  # type: ignore[arg-type]

    assert sorted((f.version.path, f.state) for f in list_files(ledger, FEED)) == [
        ("file:///in/a", "pending"),
        ("file:///in/b", "pending"),
    ]


def test_an_excluded_file_is_not_listed_again(ledger: Ledger) -> None:
    """The same version stays excluded when it is seen again; another one of the same path is new."""
    window = open_window(ledger, names=["a"])
    publish(ledger, window)
    release_files(ledger, begin_undoing(ledger, window.id, files="excluded", who="me"))
    record_files(ledger, FEED, [version("a")])
    assert pending(ledger) == []
    record_files(ledger, FEED, [version("a", mtime_ns=2)])

    assert len(pending(ledger)) == 1


def test_a_release_that_was_changed_meanwhile_stops(ledger: Ledger) -> None:
    """Two who want different things of the same files do not mix them."""
    window = open_window(ledger)
    publish(ledger, window)
    held = begin_undoing(ledger, window.id, files="excluded", who="me")
    begin_undoing(ledger, window.id, files="pending", who="you")

    with pytest.raises(ConflictError, match="was changed by another process"):
        release_files(ledger, held)
    with pytest.raises(OptionsError, match="files must be pending or excluded, not 'ignored'"):
        begin_undoing(ledger, window.id, files="ignored", who="me")


def test_of_a_publisher_and_one_who_abandons_one_wins(ledger: Ledger) -> None:
    """Either the window is published and not abandoned, or abandoned with all its files pending."""
    for number in range(6):
        window = open_window(ledger, f"k{number}", [f"a{number}", f"b{number}"])

        def abandon(window_id: str = window.id) -> str:
            held = begin_abandoning(ledger, window_id, who="me")
            release_files(ledger, held)
            return "abandoned"

        def show(mine: object = window) -> str:
            publish(ledger, mine)  # type: ignore[arg-type]
            return "published"

        with ThreadPoolExecutor(2) as pool:
            results = [pool.submit(abandon), pool.submit(show)]
        won = [found.result() for found in results if found.exception() is None]
        lost = [found.exception() for found in results if found.exception() is not None]

        assert len(won) == 1, lost
        assert isinstance(lost[0], BlockReadError)
        states = {f.state for f in list_files(ledger, FEED) if f.version.path.endswith(str(number))}
        assert states == ({"pending"} if won == ["abandoned"] else {"done"})
        if won == ["abandoned"]:
            open_window(ledger, f"again{number}", [])
