"""Files that have changed since their window was published, reprocessed: the newer version in the place of the old."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable

import pytest

from airflow_provider_blockread.errors import ConflictError, ExchangeError, FileChangedError, OptionsError, ProofError
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import Limits, Selection
from airflow_provider_blockread.steps import plan
from airflow_provider_blockread.steps.commit import committing
from airflow_provider_blockread.steps.plan.choosing import FileChoice
from airflow_provider_blockread.steps.upkeep import rebuilding
from airflow_provider_blockread.steps.upkeep.pruning import PruneRequest, prune
from airflow_provider_blockread.steps.upkeep.rebuilding import (
    RebuildRequest,
    WindowRange,
    give_up_rebuild,
    propose_rebuild,
)
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon, undo
from tests.pipeline.correcting import NEW, OLD, Died, carry_out, correct, die, publish, states
from tests.pipeline.dying import param, place, place_param
from tests.pipeline.make import Pipe

pytestmark = pytest.mark.slow

_B = RebuildRequest(range=WindowRange(window="w", feed="feed"), files=FileChoice(path="b.*"))


def _add(here: Pipe, key: str) -> str:
    """Plan a window that takes newer versions, too; return its status."""
    request = here.request(key)
    selection = dataclasses.replace(request.selection, on_modified="add")
    return plan(here.env, dataclasses.replace(request, selection=selection)).status


@pytest.mark.carried
def test_the_newer_version_is_read_in_the_place_of_the_old_one(here: Pipe) -> None:
    """Only its group is read again; it is listed before, and the ledger says which version is which."""
    old = publish(here)
    correct(here)
    (what,) = (window.what for window in propose_rebuild(here.env, _B).windows)
    (done,) = carry_out(here, _B)

    uri = here.uri("b.txt")
    assert "1 of 3 groups read again for 1 file (1 newer version in place of the planned" in what
    assert f"{uri} (9 B, of 20" in what
    assert (done.generation, done.records, done.files, here.values()) == (2, 7, 3, NEW)
    assert len(list(here.work.glob("**/g2/*"))) == 1
    assert {old["a"], old["c"]} < set(here.published())
    assert states(here) == [(6, "replaced", True), (9, "done", True)]
    assert propose_rebuild(here.env, _B).windows[0].what.startswith("1 of 3 groups read again for 1 file as gen")


@pytest.mark.parametrize("adds", [False, True])
def test_a_scan_in_between_leaves_it_to_the_window(here: Pipe, *, adds: bool) -> None:
    """While it is read, and when it was published, no listing takes it, nor counts it as left out."""
    publish(here)
    correct(here)
    if adds:
        assert _add(here, "looks") == "read"
        abandon(here.env, get_window(here.env.ledger, "looks", "feed"), who="me")
    else:
        assert here.plan("looks").ignored == 1
    assert states(here)[1][1] == ("pending" if adds else "ignored")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(committing, "mark_proven", die)
        with pytest.raises(Died):
            carry_out(here, _B)
    assert (_add(here, "next"), here.plan("next too").ignored) == ("empty", 0)
    assert states(here)[1] == (9, "planned", True)
    carry_out(here, _B)

    assert (_add(here, "last"), here.values()) == ("empty", NEW)


_STEPS = [
    *((rebuilding, name) for name in ("plan_newer", "start_requested", "open_ref", "finish_request")),
    *map(place_param, ("mark_proven", "journal", "publish_file", "remove_file", "confirm_entries")),
    *map(place_param, ("sweep", "finish_publication")),
]


@pytest.mark.slow
@pytest.mark.sampled(2, each="step")
@pytest.mark.parametrize(("module", "step"), _STEPS)
@pytest.mark.parametrize("after", [False, True])
def test_whatever_dies_the_same_command_goes_on(here: Pipe, module: object, step: str, *, after: bool) -> None:
    """Readers see the old version of the file, or the new one, or for a moment both, and in the end the new one."""
    publish(here)
    correct(here)
    done: Callable[..., object] = getattr(module, step)

    def dies(*args: object, **options: object) -> None:
        if after:
            done(*args, **options)
        raise Died

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, step, dies)
        with pytest.raises(Died):
            carry_out(here, _B)
    assert set(here.values()) in (set(OLD), set(NEW), {*OLD, *NEW})
    carry_out(here, _B)

    assert (here.values(), len(here.published())) == (NEW, 3)
    assert states(here) == [(6, "replaced", True), (9, "done", True)]


@pytest.mark.files
def test_a_failure_leaves_what_is_published(here: Pipe) -> None:
    """The version stays with the generation that failed, and goes back when another takes its place."""
    old = publish(here)
    correct(here)
    (here.out / old["c"]).rename(here.folder / "aside")
    with pytest.raises(ProofError):
        carry_out(here, _B)
    assert set(here.published()) == {old["a"], old["b"]}
    assert (here.state(), states(here)[1]) == ("failed", (9, "planned", True))
    (here.folder / "aside").rename(here.out / old["c"])

    here.plan(clear_number=1)
    assert states(here)[1] == (9, "planned", True)  # a clear continues with what failed
    here.sink_options = {"compression": "zstd"}
    here.plan()
    assert states(here) == [(6, "done", True), (9, "ignored", False)]
    with pytest.raises(FileChangedError):
        here.run()
    assert here.values() == OLD
    give_up_rebuild(here.env, _B)
    assert (carry_out(here, _B)[0].generation, here.values()) == (4, NEW)


def test_one_that_changes_once_more(here: Pipe) -> None:
    """What was begun makes way for a generation that reads what is there; one that was put back counts again."""
    publish(here)
    first = (here.source / "b.txt").stat()
    correct(here)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rebuilding, "open_ref", die)
        with pytest.raises(Died):
            carry_out(here, _B)
    correct(here, "b6")
    assert [d.generation for d in carry_out(here, _B)] == [3]
    assert here.values() == ["a1", "a2", "b6", "c1", "c2"]
    assert states(here) == [(6, "replaced", True), (9, "ignored", False), (3, "done", True)]

    correct(here, "b1", "b2")
    os.utime(here.source / "b.txt", ns=(first.st_atime_ns, first.st_mtime_ns))
    assert here.run("next").status == "empty"
    assert [d.generation for d in carry_out(here, _B)] == [4]
    assert here.values() == OLD
    assert states(here) == [(6, "done", True), (3, "replaced", True)]


def test_what_comes_after_goes_on_from_the_newer_version(here: Pipe) -> None:
    """A clear rebuilds it, another reprocess carries it over, and undo gives it back to be read, not the old one."""
    publish(here)
    correct(here)
    carry_out(here, _B)
    assert (here.run(clear_number=1).generation, here.values()) == (3, NEW)
    here.put({"c.txt": b"c9\n"})
    asked = dataclasses.replace(_B, files=FileChoice(path="c.txt"))
    assert [d.records for d in carry_out(here, asked)] == [6]
    assert here.values() == [*NEW[:5], "c9"]
    whole = dataclasses.replace(_B, files=None)
    assert [d.records for d in carry_out(here, whole)] == [6]

    undo(here.env, get_window(here.env.ledger, "w"), files="pending", who="me")
    assert here.published() == []
    assert states(here) == [(6, "replaced", True), (9, "pending", False)]
    assert (here.run("next").files, here.values()) == (3, [*NEW[:5], "c9"])


@pytest.mark.slow
@pytest.mark.parametrize("files", ["pending", "excluded"])
@pytest.mark.parametrize(
    "step", [*map(param, ("mark_proven", "publish_file", "confirm_entries", "finish_publication"))]
)
def test_an_undo_in_the_middle(here: Pipe, files: str, step: str) -> None:
    """Nothing is left in the output, and the newer version is read once by a later window, if it is to be read."""
    publish(here)
    correct(here)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*place(step), die)
        with pytest.raises(Died):
            carry_out(here, _B)
    here.pass_seconds(3600)
    undo(here.env, get_window(here.env.ledger, "w"), files=files, who="me")

    assert here.published() == []
    if files == "pending":
        assert (here.run("next").files, here.values()) == (3, NEW)
    assert here.run("last").status in {"empty", "published"}
    assert here.run("very last").status == "empty"
    assert here.values().count("b3") <= 1


def test_a_version_that_another_window_has_is_refused(here: Pipe) -> None:
    """Under on_modified="add" a later window may have read it; the refusal names that window, before and after."""
    old = publish(here)
    correct(here)
    assert _add(here, "later") == "read"
    later = get_window(here.env.ledger, "later", "feed").id
    assert f"is planned in window {later} 'later'" in propose_rebuild(here.env, _B).all_warnings()[0]
    with pytest.raises(ConflictError, match=f"is planned in window {later} 'later', which has taken it"):
        carry_out(here, _B)
    assert (set(here.published()), here.state()) == (set(old.values()), "published")


def test_a_file_of_parts_is_refused(here: Pipe) -> None:
    """It says what to do instead: the windows of all parts are taken away."""
    here.block_size, here.selection = 4, Selection(limits=Limits(max_bytes=8))
    here.put({"b.txt": b"".join(b"b%d\n" % n for n in range(5))})
    here.run()
    here.run("rest")
    correct(here)

    assert "this will fail: window" in propose_rebuild(here.env, _B).all_warnings()[0]
    with pytest.raises(OptionsError, match=r"parts of two versions make no file; give up the windows"):
        carry_out(here, _B)
    assert here.values() == [f"b{n}" for n in range(5)]


def test_a_file_that_has_become_too_small_is_refused(here: Pipe) -> None:
    """Each of its blocks needs a byte, since groups and numbers stay."""
    here.block_size = 4
    publish(here)
    (here.source / "b.txt").write_bytes(b"\n")
    with pytest.raises(OptionsError, match=r"has 1 bytes, too few for the 2 blocks .* --files pending"):
        carry_out(here, _B)
    assert here.values() == OLD


@pytest.mark.parametrize("keeps", [True, False])
def test_a_pruned_window(here: Pipe, *, keeps: bool) -> None:
    """Neither version is taken again; with its manifest kept, the newer plan is what is rebuilt, and changes again."""
    publish(here)
    correct(here)
    carry_out(here, _B)
    here.pass_seconds(100)
    prune(here.env, PruneRequest(older_than=10, keep=0, keep_manifests=keeps))

    assert here.run("next").status == "empty"
    assert bool(list(here.work.rglob("manifest-*"))) == keeps
    if not keeps:
        assert "its plan is gone" in propose_rebuild(here.env, _B).windows[0].what
        return
    assert (here.run(clear_number=1).generation, here.values()) == (3, NEW)
    correct(here, "b7")
    assert [d.records for d in carry_out(here, _B)] == [5]
    assert "b7" in here.values()
    assert here.run("last").status == "empty"


def test_a_lost_plan_is_told(here: Pipe) -> None:
    """The manifest of a newer plan cannot be made again from the ledger; what is published stays."""
    publish(here)
    correct(here)
    carry_out(here, _B)
    [path.unlink() for path in here.work.rglob("manifest-*")]
    with pytest.raises(ExchangeError, match="manifest"):
        here.run(clear_number=1)
    assert here.values() == NEW
