"""Lists distinguish work that is done, that failed, and whose owner is gone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.ledger.model import GroupRef
from airflow_provider_blockread.ledger.overview import unfinished
from airflow_provider_blockread.ledger.windows.groups import claim_group
from airflow_provider_blockread.steps import WindowRef
from tests.cli.place import Place
from tests.pipeline.make import Pipe, ReadHere

LATELY = "2026-01-01T00:00:00+00:00"  # the pipe's time, long before that of the command line


@pytest.fixture
def pipe(place: Place) -> Iterator[Pipe]:
    """A feed with a failed window, a window and a rebuild whose readers are gone, and a waiting one."""
    made = Pipe(folder=place.folder, submitter=ReadHere())
    made.put({"published.txt": b"x\n"})
    made.run("rebuilt")
    abandoned_by_its_reader(made, made.plan("rebuilt", clear_number=1))
    for key in ("failed", "stalled", "waiting"):
        made.put({f"{key}.txt": b"x\n"})
        ref = made.plan(key)
        if key == "stalled":
            abandoned_by_its_reader(made, ref)
        elif key == "failed":
            (made.source / "failed.txt").unlink()
            with pytest.raises(BlockReadError):
                made.read(ref)
    yield made
    made.close()


def abandoned_by_its_reader(pipe: Pipe, ref: WindowRef) -> None:
    """Claim a window's group, like a worker that is killed afterwards."""
    group = GroupRef(window=ref.window, generation=ref.generation, group=0)
    claim_group(pipe.env.ledger, group, owner="dag/run/read/0", clear_number=1, stale_after_s=120)


def test_windows_list(place: Place, pipe: Pipe) -> None:
    """In tables with the age of the last heartbeat, in JSON as a word with the time of the heartbeat."""
    assert pipe.env
    rows = {row["key"]: row for row in place.json("windows", "list")}
    table = place.call("windows", "list").stdout

    assert {key: row["state"] for key, row in rows.items()} == {
        "rebuilt": "published",
        "failed": "failed",
        "stalled": "stalled",
        "waiting": "waiting",
    }
    assert {row["last_sign_at"] for row in rows.values()} == {LATELY}
    assert rows["rebuilt"]["newer"] == {"generation": 2, "mode": "write", "state": "stalled"}
    assert rows["stalled"]["newer"] is None
    assert table.count("stalled (last sign of life ") == 2  # a rebuild, too
    assert table.count("waiting (last sign of life ") == 1  # its run is most likely gone
    assert "rebuild (generation 2) is stalled (last sign of life" in table


def test_one_window_its_files_and_its_plan(place: Place, pipe: Pipe) -> None:
    """Every command shows that the reader of a window is gone."""
    show = place.call("windows", "show", "stalled").stdout
    shown = place.json("windows", "show", "stalled")
    files = {row["path"].rpartition("/")[2]: row for row in place.json("files", "list", pipe.feed)}
    planned = ("plan", str(place.source), "--name", pipe.feed, "--window", "stalled")

    assert show.count("stalled (last sign of life ") == 2  # the window, and its group
    assert (shown["group_list"][0]["state"], shown["group_list"][0]["last_sign_at"]) == ("stalled", LATELY)
    assert {name: row["window_state"] for name, row in files.items()} == {
        "published.txt": None,
        "failed.txt": "failed",
        "stalled.txt": "stalled",
        "waiting.txt": "waiting",
    }
    assert "planned, stalled (last sign of life " in place.call("files", "list", pipe.feed).stdout
    assert "already has this key, is stalled (last sign of life " in place.call(*planned).stdout
    assert place.json(*planned)["window_state"] == "stalled"


def test_a_plan_names_what_earlier_runs_left(place: Place, pipe: Pipe) -> None:
    """It mentions unpublished windows that a run finishes first, and abandoned ones, for which a run reads nothing."""
    planned = ("plan", str(place.source), "--name", pipe.feed)
    text = place.call(*planned).stdout
    assert "3 files in 3 windows that earlier runs did not publish; `blockread run` without --window finishes" in text
    assert len(place.json(*planned)["waiting"]) == 3
    assert len(place.json(*planned, "--window", "stalled")["waiting"]) == 2

    assert place.call("windows", "abandon", "stalled", "--yes").exit_code == 0
    assert "was abandoned: a run of it reads nothing" in place.call(*planned, "--window", "stalled").stdout


def test_what_is_proposed_and_refused(place: Place, pipe: Pipe) -> None:
    """The question whether to give work up, and a refusal, say whether the work is in progress."""
    abandon = place.call("windows", "abandon", "stalled", "--dry-run").stdout
    given_up = place.call("windows", "abandon", "rebuilt", "--dry-run").stdout
    exclude = ("windows", "exclude", "failed", str(place.source / "failed.txt"), "--reason", "gone", "--dry-run")
    rebuild = place.call("windows", "rebuild", "--feed", pipe.feed, "--dry-run").stdout

    assert "now stalled (last sign of life " in abandon
    assert "by dag/run/read/0, is fenced" in abandon
    assert "generation 2, now stalled (last sign of life " in given_up
    assert "now failed; " in place.call(*exclude).stdout
    assert "generation 2, now stalled (last sign of life " in rebuild
    assert "left alone, since it is not published but failed" in rebuild
    verify = place.shell("windows", "verify", "failed")
    assert "is failed, not published" in verify.stderr


def test_a_plan_that_finds_nothing_new_says_what_waits(pipe: Pipe) -> None:
    """With the state of each window, and the remedy for those that need one."""
    message = pipe.plan("next").message
    assert message.endswith(
        "nothing new to read; 3 files wait in 3 unpublished windows: 'failed' failed, 'stalled' reading,"
        " 'waiting' waiting; clear the runs of those that failed or stalled, or abandon those whose runs"
        " are gone"
    )
    pipe.pass_seconds(14 * 60)
    assert "'stalled' stalled (last sign of life 14 min ago)" in pipe.plan("later").message
    pipe.read(pipe.plan("waiting"))
    assert "'waiting' waiting" in pipe.plan("once more").message
    pipe.pass_seconds(2 * 24 * 3600)
    assert "'waiting' waiting (last sign of life 48 h ago); clear the runs" in pipe.plan("in two days").message


def test_a_plan_of_new_files_says_what_earlier_runs_left(pipe: Pipe) -> None:
    """But not that another one is about to be read."""
    pipe.put({"newer.txt": b"x\n"})
    assert pipe.plan("next").message.endswith(
        "; 1 file waits in 1 unpublished window: 'failed' failed; clear the runs of those that failed or stalled, or"
        " abandon those whose runs are gone"
    )


def test_a_plan_looks_at_as_many_windows_however_many_are_open(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """At what failed first, then at what has waited longest; its message says that there may be more."""
    monkeypatch.setattr(unfinished, "MOST_OPEN", 3)

    assert pipe.plan("next").message.endswith(
        "; 2 files wait in 2 or more unpublished windows: 'failed' failed, 'stalled' reading; clear the runs of those"
        " that failed or stalled, or abandon those whose runs are gone"
    )
