"""Corrected files that a clear cannot take: each is refused, by a way out that works."""

from __future__ import annotations

import dataclasses

import pytest

from airflow_provider_blockread.errors import (
    ConflictError,
    ExchangeError,
    FileChangedError,
    OptionsError,
    ProofError,
    StateError,
)
from airflow_provider_blockread.ledger.windows.correcting import start_corrected
from airflow_provider_blockread.ledger.windows.exclusions import list_exclusions
from airflow_provider_blockread.ledger.windows.generations import latest_generation
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import Selection
from airflow_provider_blockread.options.plan import Limits
from airflow_provider_blockread.steps import plan
from airflow_provider_blockread.steps.excluding import exclude
from airflow_provider_blockread.steps.plan.choosing import FileChoice, choose_newer
from airflow_provider_blockread.steps.plan.replacing import plan_newer
from airflow_provider_blockread.steps.upkeep.rebuilding import RebuildRequest, WindowRange, propose_rebuild
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon, undo
from tests.pipeline.correcting import NEW, Died, correct, die, fail, reprocess, states
from tests.pipeline.dying import place
from tests.pipeline.make import Pipe

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("way", ["exclude", "abandon", "undo"])
def test_another_window_has_taken_it(here: Pipe, way: str) -> None:
    """The error names both ways out, and each of them works."""
    ref = fail(here)
    here.selection = Selection(on_modified="add")
    later = here.plan("later")
    if way == "undo":
        here.read(later)
        here.commit(later)
    gives_up = (
        f"blockread windows undo {later.window} --files pending" if way == "undo" else "blockread windows abandon"
    )
    leaves_out = f"blockread windows exclude {ref.window} {here.uri('b.txt')} --reason changed"
    with pytest.raises(StateError, match=f"'later', which has taken it.*{leaves_out}.*{gives_up}"):
        here.plan(clear_number=1)
    other = get_window(here.env.ledger, later.window)
    if way == "exclude":
        exclude(here.env, get_window(here.env.ledger, ref.window), here.uri("b.txt"), reason="changed", who="me")
        here.run("later")
    elif way == "abandon":
        abandon(here.env, other, who="me")
    else:
        undo(here.env, other, files="pending", who="me")
    here.run(clear_number=2)

    assert here.values() == NEW
    assert here.plan("next").status == "empty"


def test_a_file_of_parts(here: Pipe) -> None:
    """Windows that hold parts of it are given up, the newest first, and the next run reads it."""
    here.block_size, here.selection = 4, Selection(limits=Limits(max_bytes=8))
    here.put({"b.txt": b"".join(b"b%d\n" % n for n in range(5))})
    here.run()
    later = here.plan("rest")
    correct(here)
    ways = rf"`blockread windows abandon {later.window}`, `blockread windows undo \w+ --files pending`"
    with pytest.raises(OptionsError, match=rf"in this order: {ways}, and the next run reads it as it is now"):
        here.plan("rest", clear_number=1)
    abandon(here.env, get_window(here.env.ledger, "rest"), who="me")
    undo(here.env, get_window(here.env.ledger, "w"), files="pending", who="me")
    here.selection = Selection()

    assert (here.run("next").files, here.values()) == (1, ["b3", "b4", "b5"])


def test_a_file_that_has_become_too_small(here: Pipe) -> None:
    """The window is given up, and the next run reads its files."""
    here.block_size = 4
    ref = fail(here)
    (here.source / "b.txt").write_bytes(b"\n")
    with pytest.raises(OptionsError, match=f"too few for the 2 blocks .*`blockread windows abandon {ref.window}`"):
        here.plan(clear_number=1)
    abandon(here.env, get_window(here.env.ledger, ref.window), who="me")

    assert (here.run("next").files, here.values()) == (3, ["", "a1", "a2", "c1", "c2"])


def lose_half(here: Pipe, **asked: int) -> None:
    """Publish a window up to its last step, and lose its files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*place("confirm_entries"), die)
        with pytest.raises(Died):
            here.run(**asked)
    for path in (*here.work.rglob("data/*"), *here.out.glob("*")):
        if path.parent.name == "data" or "00001-e1" in path.name:
            path.unlink()
    here.pass_seconds(121)  # until the dead publisher's heartbeat is stale


@pytest.mark.files
@pytest.mark.parametrize("clears", [False, True])
def test_a_half_that_was_lost(here: Pipe, *, clears: bool) -> None:
    """A generation that can never be published makes way for one that reads files as they are, if asked."""
    here.put({"a.txt": b"a1\n", "b.txt": b"b1\n"})
    here.group_bytes = 3
    lose_half(here)
    correct(here)
    if not clears:
        with pytest.raises(FileChangedError):
            here.run()
        return
    assert (here.run(clear_number=1).generation, here.values()) == (2, ["a1", "b3", "b4", "b5"])
    assert states(here) == [(3, "replaced", True), (9, "done", True)]


@pytest.mark.files
@pytest.mark.parametrize("undone", [False, True])
def test_a_corrected_half_that_was_lost_is_read_once(here: Pipe, *, undone: bool) -> None:
    """The newer version stays with its window, whichever generation publishes it, or goes out with it."""
    fail(here)
    lose_half(here, clear_number=1)
    if undone:
        undo(here.env, get_window(here.env.ledger, "w"), files=None, who="me")
    else:
        here.run(clear_number=1)

    assert here.values() == ([] if undone else NEW)
    assert here.plan("next").status == "empty"


@pytest.mark.files
def test_a_half_that_was_lost_leaves_out_what_cannot_be_read_again(here: Pipe) -> None:
    """The first clear does it."""
    here.with_policies(on_changed="exclude")
    here.put({"a.txt": b"a1\n", "b.txt": b"b1\nb2\n"})
    here.group_bytes = here.block_size = 3
    lose_half(here)
    (here.source / "b.txt").write_bytes(b"\n")
    done = here.run(clear_number=1)

    assert (done.excluded, here.values()) == (1, ["a1"])


@pytest.mark.files
def test_a_half_that_was_lost_of_a_file_that_has_become_too_small(here: Pipe) -> None:
    """Readers have seen a half of the window, so that it is undone."""
    here.put({"a.txt": b"a1\n", "b.txt": b"b1\nb2\n"})
    here.group_bytes = here.block_size = 3
    lose_half(here)
    (here.source / "b.txt").write_bytes(b"\n")
    window = get_window(here.env.ledger, "w")
    gives_up = f"`blockread windows undo {window.id} --files pending`"
    with pytest.raises(OptionsError, match=f"too few for the 2 blocks .*{gives_up}"):
        here.plan(clear_number=1)
    undo(here.env, window, files="pending", who="me")

    assert (here.run("next").files, here.values()) == (2, ["", "a1"])


def test_a_lost_plan_of_a_half_that_was_lost(here: Pipe) -> None:
    """The same."""
    ref = fail(here)
    lose_half(here, clear_number=1)
    newest = latest_generation(here.env.ledger, ref.window).manifest_uri
    assert newest is not None
    here.env.stores.remove(newest)
    with pytest.raises(ExchangeError, match=f"`blockread windows undo {ref.window} --files pending`"):
        here.plan(clear_number=2)
    undo(here.env, get_window(here.env.ledger, ref.window), files="pending", who="me")

    assert (here.run("next").files, here.values()) == (3, NEW)


def test_a_lost_plan_is_told(here: Pipe) -> None:
    """The newer plan cannot be written again from the ledger; the window can be given up."""
    ref = fail(here)
    here.plan(clear_number=1)
    newest = latest_generation(here.env.ledger, ref.window).manifest_uri
    assert newest is not None
    here.env.stores.remove(newest)
    with pytest.raises(ExchangeError, match=f"`blockread windows abandon {ref.window}`"):
        here.plan(clear_number=2)
    abandon(here.env, get_window(here.env.ledger, ref.window), who="me")

    assert (here.run("next").files, here.values()) == (3, NEW)


def test_two_at_once(here: Pipe) -> None:
    """The second one gets an error, and finds the generation of the first."""
    ref = fail(here)
    window, latest = get_window(here.env.ledger, ref.window), latest_generation(here.env.ledger, ref.window)
    found = choose_newer(here.env, window, latest)
    assert found is not None
    newer = plan_newer(here.env, window, latest, found.newer)
    row = {"options": latest.options, "clear_number": 1, "run": None}
    started = start_corrected(here.env.ledger, ref.window, newer, row=row, again=newer.holders)
    assert started.number == 2
    with pytest.raises(ConflictError, match="generation 2 was begun or published in between; repeat this") as raised:
        start_corrected(here.env.ledger, ref.window, newer, row=row)
    assert not isinstance(raised.value, StateError)
    assert (here.run(clear_number=1).generation, here.values()) == (2, NEW)


@pytest.mark.files
def test_reprocess_leaves_alone_what_has_not_changed(here: Pipe) -> None:
    """Neither a window of a range, nor one whose files are as planned, nor one that is half published."""
    here.put({"b.txt": b"b1\nb2\n"})
    here.plan()
    assert reprocess(here) == []
    ranged = RebuildRequest(range=WindowRange(feed="feed"), files=FileChoice())
    named = dataclasses.replace(ranged, range=WindowRange(window="w"))
    assert "no selected file has changed" in propose_rebuild(here.env, named).windows[0].what
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*place("publish_file"), die)
        with pytest.raises(Died):
            here.run()
    correct(here)
    assert "left alone, since it is not published" in propose_rebuild(here.env, ranged).windows[0].what
    assert "half published: clear its run" in propose_rebuild(here.env, named).windows[0].what

    here.run(clear_number=1)
    assert here.values() == ["b1", "b2"]
    assert (reprocess(here), here.values()) == ([2], ["b3", "b4", "b5"])


@pytest.mark.parametrize("content", [b"", b"x"])
def test_a_file_that_cannot_be_read_again_is_left_out_by_the_policy(here: Pipe, content: bytes) -> None:
    """One that was emptied between its read and the commit holds up no others; a later window reads what is there."""
    here.with_policies(on_changed="exclude")
    here.block_size = 4
    here.put({"y": b"keep\n", "z": b"one\ntwo\n"})
    ref = here.plan()
    here.read(ref)
    here.put({"z": content})
    with pytest.raises(ProofError):
        here.commit(ref)
    done = here.run(clear_number=1)

    assert (done.excluded, here.values()) == (1, ["keep"])
    assert here.run("next").files == 1
    assert here.values() == sorted(["keep", *content.decode().split()])


def test_one_file_is_corrected_where_another_cannot_be_read_again(here: Pipe) -> None:
    """The first clear does both, also for files of several groups."""
    here.with_policies(on_changed="exclude")
    here.block_size, here.group_bytes = 4, 8
    here.put({"x": b"keepkee\n", "y": b"old\nold\n", "z": b"one\ntwo\n"})
    ref = here.plan()
    here.read(ref)
    here.put({"y": b"new\nnew\nnew\n", "z": b"z"})
    with pytest.raises(ProofError):
        here.commit(ref)
    done = here.run(clear_number=1)

    assert (ref.groups, done.excluded, here.values()) == (3, 1, ["keepkee", "new", "new", "new"])


def test_a_refused_clear_leaves_no_file_out(here: Pipe) -> None:
    """The window and its policy are another DAG's."""
    here.block_size = 4
    here.put({"y": b"keep\n", "z": b"one\ntwo\n"})
    request = here.request("w")
    ref = plan(here.env, dataclasses.replace(request, run="theirs/1", owner="theirs/1/plan/-1"))
    here.read(ref)
    here.put({"z": b"z"})
    here.with_policies(on_changed="exclude")
    here.out_name = "elsewhere"
    with pytest.raises(OptionsError, match=r"was read by run theirs/1 into .*, and this run would move its rows to"):
        plan(here.env, dataclasses.replace(here.request("w", 1), run="ours/1", owner="ours/1/plan/-1"))

    assert list_exclusions(here.env.ledger, ref.window, 1, limit=5) == []
