"""Windows given up: an unpublished one's files are read by the next, a published one's output goes away."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_blockread.errors import ConflictError, FencedError, OwnedError, PrunedError
from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.upkeep.withdrawing import find_withdrawal
from airflow_provider_blockread.ledger.windows.queries import feed_counts, get_window
from airflow_provider_blockread.options import Lines
from airflow_provider_blockread.steps.upkeep.pruning import PruneRequest, prune
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon, propose_abandoning, propose_undoing, undo
from tests.pipeline.dying import param, place
from tests.pipeline.make import Pipe, ReadHere

_ALL = ["a1", "a2", "b1", "b2"]


class _Died(BaseException):
    """A process that is gone."""


def _put(here: Pipe) -> None:
    here.put({"a.txt": b"a1\na2\n", "b.txt": b"b1\nb2\n"})
    here.group_bytes = 6


def _window(here: Pipe, key: str = "w") -> Window:
    return get_window(here.env.ledger, key, here.feed)


@pytest.mark.slow
def test_a_dry_run_of_undo_refuses_what_undo_refuses(here: Pipe) -> None:
    """Files of a pruned window cannot go back, before it is undone and after; files that went back are not excluded."""
    _put(here)
    here.run("pruned")
    here.put({"c.txt": b"c\n"})
    here.run("back")
    undo(here.env, _window(here, "back"), files="pending", who="me")
    with pytest.raises(ConflictError, match="have gone back to pending already"):
        propose_undoing(here.env, _window(here, "back"), files="excluded")

    here.pass_seconds(86_400)
    prune(here.env, PruneRequest(older_than=0, keep=0))
    (line, _) = propose_undoing(here.env, _window(here, "pruned")).lines()
    assert line.endswith("; no later window reads its 2 files, since their details were pruned")
    for _ in range(2):
        with pytest.raises(PrunedError, match="cannot go back"):
            propose_undoing(here.env, _window(here, "pruned"), files="pending")
        assert undo(here.env, _window(here, "pruned"), who="me").files == 0


def test_abandoned_files_are_read_by_the_next_window(here: Pipe) -> None:
    """What was planned and partly read is free again, and published once, by a later window."""
    _put(here)
    ref = here.plan("lost")
    here.read(ref, groups=[0])
    intent = propose_abandoning(here.env, _window(here, "lost"))
    done = abandon(here.env, _window(here, "lost"), who="me")
    published = here.run("next")

    assert "its 2 files (12 B) go back to pending" in intent.windows[0].what
    assert "the results of 1 of 2 groups are discarded" in intent.windows[0].what
    assert (done.files, done.removed, done.files_are) == (2, 0, "pending")
    assert (published.records, here.values()) == (4, _ALL)
    assert here.plan("lost").status == "skipped"


def test_whoever_works_on_an_abandoned_window_is_fenced(here: Pipe) -> None:
    """Its groups cannot be claimed, proven or published any more, nor can a rebuild be started."""
    _put(here)
    ref = here.plan()
    here.read(ref)
    abandon(here.env, _window(here), who="me")

    with pytest.raises(ConflictError, match="its window was abandoned"):
        here.read(ref)
    with pytest.raises(ConflictError, match="its window was abandoned"):
        here.commit(ref)
    assert here.values() == []


def test_a_published_window_is_not_abandoned(here: Pipe) -> None:
    """What readers see is taken away by `undo` alone, and what they do not see by `abandon` alone."""
    _put(here)
    here.run()
    for call in (lambda: propose_abandoning(here.env, _window(here)), lambda: abandon(here.env, _window(here), who="")):
        with pytest.raises(ConflictError, match=r"is published; undo it with `blockread windows undo"):
            call()
    here.put({"c.txt": b"c1\n"})
    here.plan("x")
    with pytest.raises(ConflictError, match=r"nothing of window .* use `blockread windows abandon"):
        propose_undoing(here.env, _window(here, "x"))
    with pytest.raises(ConflictError, match=r"nothing of window .* use `blockread windows abandon"):
        undo(here.env, _window(here, "x"), who="")


@pytest.mark.slow
def test_undone_files_stay_excluded(here: Pipe) -> None:
    """By default nothing reads them again; asked for later, they go back, and are published once."""
    _put(here)
    here.run("keep")
    here.put({"c.txt": b"c1\nc2\n"})
    here.run("bad")
    intent = propose_undoing(here.env, _window(here, "bad"))
    done = undo(here.env, _window(here, "bad"), who="me")
    assert here.run("later").status == "empty"

    assert "1 published file (" in intent.windows[0].what
    assert " excluded, and no later window" in intent.windows[0].what
    assert (done.files, done.removed, here.values()) == (1, 1, _ALL)
    assert feed_counts(here.env.ledger, here.feed) == {"done": 2, "excluded": 1}

    assert " back to pending" in propose_undoing(here.env, _window(here, "bad"), files="pending").windows[0].what
    assert undo(here.env, _window(here, "bad"), files="pending", who="me").files == 1
    assert (here.run("again").records, here.values()) == (2, [*_ALL, "c1", "c2"])
    with pytest.raises(ConflictError, match="have gone back to pending already"):
        undo(here.env, _window(here, "bad"), files="excluded", who="me")
    assert here.values() == [*_ALL, "c1", "c2"]


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_undo_of_a_window_whose_output_is_elsewhere(tmp_path: Path, kind: str) -> None:
    """Nothing can be removed from a folder that was moved, or whose disk is not mounted: that is said before."""
    pipe = Pipe(folder=tmp_path, submitter=ReadHere(), kind=kind)
    _put(pipe)
    pipe.run("w")
    assert propose_undoing(pipe.env, _window(pipe, "w")).all_warnings() == []
    pipe.out.rename(tmp_path / "elsewhere")
    [warning] = propose_undoing(pipe.env, _window(pipe, "w"), files="pending").all_warnings()

    assert f"nothing is in file://{pipe.out}: if it was moved, or its disk is not mounted" in warning
    pipe.close()


def test_files_excluded_by_hand_stay_excluded(here: Pipe) -> None:
    """Giving a window's files back does not give back what a person left out of it."""
    from airflow_provider_blockread.ledger.windows.exclusions import exclude_file

    _put(here)
    here.plan()
    exclude_file(here.env.ledger, _window(here).id, here.uri("a.txt"), reason="bad data", who="me")
    assert abandon(here.env, _window(here), who="me").files == 1

    assert (here.run("next").records, here.values()) == (2, ["b1", "b2"])


@pytest.mark.slow
def test_undo_of_a_rebuilt_window(here: Pipe) -> None:
    """All that any generation published goes, also while a further rebuild is being read, and quarantined records."""
    here.put({"a.txt": b"a1\n\xff\n"})
    here.with_policies(on_bad_record="quarantine")
    here.run()
    here.run(clear_number=1)
    ref = here.plan(clear_number=2)
    here.read(ref, clear_number=2)
    kept = list((here.work / "quarantine").rglob("*.parquet"))
    undo(here.env, _window(here), who="me")

    assert len(kept) == 1
    assert (here.published(), list((here.work / "quarantine").rglob("*.parquet"))) == ([], [])
    with pytest.raises(ConflictError, match="its window was abandoned"):
        here.commit(ref)
    assert here.plan(clear_number=3).status == "skipped"


@pytest.mark.slow
@pytest.mark.parametrize("step", [*map(param, ("remove_file", "sweep", "release_files", "finish_withdrawal"))])
@pytest.mark.parametrize("files", ["pending", "excluded"])
def test_undo_that_died_goes_on(here: Pipe, step: str, files: str) -> None:
    """Files are free only when nothing is left in the output; a repetition does the rest, and then nothing more."""
    _put(here)
    here.run()

    def die(*_: object, **__: object) -> None:
        raise _Died

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*place(step), die)
        with pytest.raises(_Died):
            undo(here.env, _window(here), files=files, who="me")
    held = find_withdrawal(here.env.ledger, _window(here).id)
    assert held is not None
    assert held.finished_at is None
    if step != "finish_withdrawal":
        assert feed_counts(here.env.ledger, here.feed) == {"done": 2}
    assert "did not finish: the rest is done now" in propose_undoing(here.env, _window(here)).windows[0].what

    undo(here.env, _window(here), who="me")
    assert here.values() == []
    assert propose_undoing(here.env, _window(here)).is_empty
    assert undo(here.env, _window(here), who="me").files == 0
    here.run("next")
    assert here.values() == (_ALL if files == "pending" else [])


@pytest.mark.slow
def test_a_live_publisher_is_waited_for(here: Pipe) -> None:
    """A window that is being published now is not undone; once its owner is dead it is, half published or not."""

    def die(*_: object, **__: object) -> None:
        raise _Died

    _put(here)
    ref = here.plan()
    here.read(ref)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*place("confirm_entries"), die)
        with pytest.raises(_Died):
            here.commit(ref)
    assert here.values() == _ALL
    with pytest.raises(ConflictError, match="half published"):
        abandon(here.env, _window(here), who="me")
    with pytest.raises(OwnedError, match="is publishing generation 1, last heartbeat"):
        undo(here.env, _window(here), who="me")
    here.pass_seconds(200)
    undo(here.env, _window(here), files="pending", who="me")

    assert here.values() == []
    with pytest.raises((ConflictError, FencedError)):
        here.commit(ref)
    here.record_format = Lines(newline="lf")
    assert (here.run("next").records, here.values()) == (4, _ALL)


def test_an_empty_window_cannot_be_given_up(here: Pipe) -> None:
    """It holds nothing, and its key is free already."""
    here.run("nothing")
    with pytest.raises(ConflictError, match="is empty and holds no plan to give up"):
        abandon(here.env, _window(here, "nothing"), who="me")
