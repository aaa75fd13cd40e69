"""`blockread prune`, lists of pruned windows, and ledgers that keep nothing."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from airflow_provider_blockread.ledger.windows.generations import start_generation
from airflow_provider_blockread.ledger.windows.queries import get_window
from tests.cli.place import Place
from tests.pipeline.make import Pipe, ReadHere

OLD = ["prune", "--older-than", "30d", "--keep", "0", "--feed", "feed"]


@pytest.fixture
def windows(place: Place) -> Place:
    """A ledger with a window of two files that was published years ago, and one that is open."""
    pipe = Pipe(folder=place.folder, submitter=ReadHere(), time=datetime(2020, 1, 1, tzinfo=UTC))
    pipe.put({"a.txt": b"a\n", "b.txt": b"b\n"})
    pipe.run("old")
    pipe.put({"c.txt": b"c\n"})
    pipe.plan("new")
    pipe.close()
    return place


def test_pruning_is_shown_before_it_is_done(windows: Place) -> None:
    """A dry run and an unanswered call change nothing; `--yes` prunes once."""
    preview = windows.json(*OLD, "--dry-run")
    assert (preview["action"], preview["pruned"], preview["files"], preview["listings"]) == ("prune", 1, 2, 1)
    assert "its details are removed; the identities of 2 files stay" in windows.call(*OLD, "--dry-run").stdout
    assert windows.call(*OLD).exit_code == 1

    assert windows.json(*OLD, "--yes") == {"windows": 1, "files": 2, "leftovers": 0, "listings": 1}
    assert "prune: nothing to do" in windows.call(*OLD, "--yes").output


def test_old_listings_are_dropped_after_confirmation(place: Place) -> None:
    """Also where no window is old: the dry run names them, and without an answer they stay."""
    pipe = Pipe(folder=place.folder, submitter=ReadHere(), time=datetime(2020, 1, 1, tzinfo=UTC))
    for key in ("first", "second", "third"):
        pipe.plan(key)  # finds no file
    pipe.close()

    assert place.json(*OLD, "--dry-run")["listings"] == 2
    for more in (["--dry-run"], []):
        shown = place.call(*OLD, *more).output
        assert "2 old listings to drop. What is published stays" in shown
        assert "nothing to do" not in shown
    assert place.json(*OLD, "--yes")["listings"] == 2
    assert place.call(*OLD).output.splitlines()[0] == "prune: nothing to do"


def test_files_that_were_excluded_by_hand_are_counted(windows: Place) -> None:
    """What is proposed is what is done, also where a window holds more files than it reads."""
    windows.json("windows", "exclude", "new", f"file://{windows.source}/c.txt", "--reason", "poison", "--yes")
    windows.json("windows", "abandon", "new", "--yes")
    everything = ["prune", "--older-than", "0", "--keep", "0"]
    preview, done = windows.json(*everything, "--dry-run"), windows.json(*everything, "--yes")

    assert (preview["pruned"], preview["files"]) == (done["windows"], done["files"]) == (2, 3)


def test_lists_tell_what_was_pruned(windows: Place) -> None:
    """The window stays published, with a note; its files are counted."""
    windows.json(*OLD, "--yes")

    old, new = sorted(windows.json("windows", "list"), key=lambda row: str(row["state"]))
    assert (old["state"], old["records"], old["groups"], old["note"][:10]) == ("published", 2, "1/1", "pruned on ")
    assert (new["state"], new["note"]) == ("waiting", None)
    listed = windows.call("files", "list", "feed")
    assert "feed: 1 planned, 2 pruned" in listed.stderr
    assert windows.call("windows", "show", "old").exit_code == 0


def test_a_verification_that_failed_hides_no_publication(windows: Place) -> None:
    """The window is published, and the note explains the rest."""
    pipe = Pipe(folder=windows.folder, submitter=ReadHere())
    window = get_window(pipe.env.ledger, "old")
    start_generation(pipe.env.ledger, window.id, options={}, mode="verify", clear_number=1)
    pipe.close()

    row = next(row for row in windows.json("windows", "list") if row["key"] == "old")
    assert row["state"] == "published"
    assert row["note"].startswith("verification (generation 2) is waiting (last sign of life")
    assert (row["records"], row["generation"]) == (2, 1)


def test_files_that_have_gone_back_are_not_counted(windows: Place) -> None:
    """Only the window itself is left to prune of an abandoned one."""
    windows.json("windows", "abandon", "new", "--yes")
    everything = ["prune", "--older-than", "0", "--keep", "0"]
    preview, done = windows.json(*everything, "--dry-run"), windows.json(*everything, "--yes")

    assert (preview["pruned"], preview["files"]) == (done["windows"], done["files"]) == (2, 2)
    assert [window["what"] for window in preview["windows"] if window["key"] == "new"] == [
        "its details are removed; the identities of 0 files stay"
    ]


def test_bounds_must_be_durations(windows: Place) -> None:
    """Invalid durations are refused."""
    result = windows.call("prune", "--older-than", "soon")

    assert "'soon' is not a duration" in str(result.exception)


def test_a_ledger_that_forgets(place: Place) -> None:
    """Each command begins with nothing known, and leaves nothing."""
    place.put({"a.txt": b"a\n"})
    forgetful = Place(folder=place.folder, ledger="noop://")

    for _ in range(2):
        shown = forgetful.json("plan", str(place.source))
        assert (shown["files"], shown["window"]) == (1, None)
    assert forgetful.json("windows", "list") == []
    assert not (place.folder / "ledger.db").exists()
