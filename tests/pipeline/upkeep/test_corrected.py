"""Files that are corrected before their window is published: a clear reads the newer version in the old one's place."""

from __future__ import annotations

import dataclasses
import os

import pytest

from airflow_provider_blockread.errors import FileChangedError, FileMissingError, ProofError, RecordError
from airflow_provider_blockread.ledger.windows.generations import latest_generation, list_generations, list_groups
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import Selection
from airflow_provider_blockread.options.plan import Limits
from airflow_provider_blockread.steps import plan
from airflow_provider_blockread.steps.excluding import exclude
from airflow_provider_blockread.steps.plan.choosing import FileChoice
from airflow_provider_blockread.steps.upkeep.pruning import PruneRequest, prune
from airflow_provider_blockread.steps.upkeep.rebuilding import RebuildRequest, WindowRange, propose_rebuild
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon, undo
from tests.pipeline.correcting import NEW, ONCE, correct, fail, reprocess, states
from tests.pipeline.make import Pipe


@pytest.mark.slow
def test_a_retry_is_strict_and_a_clear_reads_the_corrected_file(here: Pipe) -> None:
    """Groups that are done keep their results, unless their tasks are cleared too; each version is read once."""
    old = fail(here)
    with pytest.raises(FileChangedError, match=f"to read it as it is now: `blockread reprocess --window {old.window}`"):
        here.run()
    assert len(list_generations(here.env.ledger, old.window)) == 1

    ref = here.plan(clear_number=1)
    assert (ref.generation, states(here)) == (2, [(6, "replaced", True), (9, "planned", True)])
    assert "was cleared: generation 2 starts and reads 1 newer version in place of the planned" in ref.message
    assert f"{here.uri('b.txt')} (9 B, of 20" in ref.message
    outcomes = here.read(ref)
    done = here.commit(ref)

    assert [outcome.done_before for outcome in outcomes] == [True, False, True]
    assert (done.generation, done.files, done.records, here.values()) == (2, 3, 7, NEW)
    assert states(here) == ONCE
    assert here.plan("next").status == "empty"
    assert here.plan().status == "published"


@pytest.mark.slow
def test_a_clear_of_all_reads_all(here: Pipe) -> None:
    """As without a correction: what the run reads again may be read by a function that was corrected too."""
    fail(here)
    ref = here.plan(clear_number=1)
    assert [outcome.done_before for outcome in here.read(ref, clear_number=1)] == [False, False, False]
    assert (here.commit(ref).records, here.values()) == (7, NEW)


def test_a_read_cleared_alone_says_what_to_clear(here: Pipe) -> None:
    """In a run of Airflow it is the plan that takes the newer version."""
    here.put({"b.txt": b"b\xff\n"})
    request = dataclasses.replace(here.request("w"), run="dag/run")
    ref = plan(here.env, request)
    with pytest.raises(RecordError, match=r"'drop'; to read a corrected file: clear the run from its plan on$"):
        here.read(ref)
    correct(here)
    with pytest.raises(FileChangedError, match=r"retry; to read it as it is now: clear the run from its plan on$"):
        here.read(ref, clear_number=1)
    (group,) = list_groups(here.env.ledger, ref.window, 1)
    assert group.error is not None
    assert group.error.endswith("clear the run from its plan on")

    for retried in (1, 1, 2):
        ref = plan(here.env, dataclasses.replace(request, clear_number=retried))
        assert ref.generation == 2
    here.read(ref, clear_number=2)
    assert (here.commit(ref).records, here.values()) == (3, ["b3", "b4", "b5"])


@pytest.mark.slow
def test_one_that_changes_between_plan_and_read(here: Pipe) -> None:
    """It fails as any file that has changed, and another clear reads it; several are read at once."""
    fail(here)
    ref = here.plan(clear_number=1)
    correct(here, "b6")
    with pytest.raises(FileChangedError):
        here.read(ref)
    assert here.plan(clear_number=1).generation == 2  # a retry of the plan
    here.put({"a.txt": b"a9\na8\n"})
    here.run(clear_number=2)

    assert here.values() == ["a8", "a9", "b6", "c1", "c2"]
    assert states(here) == [(6, "replaced", True), (9, "replaced", True), (3, "done", True)]
    assert here.plan("next").status == "empty"


def test_one_that_is_put_back(here: Pipe) -> None:
    """The version that was planned first counts again."""
    here.put({"b.txt": b"b1\nb2\n"})
    first = (here.source / "b.txt").stat()
    here.plan()
    correct(here)
    here.plan(clear_number=1)
    correct(here, "b1", "b2")
    os.utime(here.source / "b.txt", ns=(first.st_atime_ns, first.st_mtime_ns))
    with pytest.raises(FileChangedError):
        here.run(clear_number=1)

    assert (here.run(clear_number=2).generation, here.values()) == (3, ["b1", "b2"])
    assert states(here) == [(6, "done", True), (9, "replaced", True)]
    assert here.plan("next").status == "empty"


@pytest.mark.slow
def test_a_clear_twice_goes_on_with_what_began(here: Pipe) -> None:
    """Without a further change, the generation that failed is resumed, also under options that were corrected too."""
    fail(here)
    here.put({"b.txt": b"b3\n\xff\n"})
    for clear_number in (1, 2):
        with pytest.raises(RecordError):
            here.run(clear_number=clear_number)
    assert latest_generation(here.env.ledger, get_window(here.env.ledger, "w").id).number == 2
    here.with_policies(on_bad_record="drop")

    assert here.run(clear_number=2).generation == 3
    assert here.values() == ["a1", "a2", "b3", "c1", "c2"]
    assert states(here) == [(6, "replaced", True), (5, "done", True)]


@pytest.mark.columns
def test_options_and_a_file_are_corrected_at_once(here: Pipe) -> None:
    """Then nothing that was read before counts, and the newer version is read."""
    fail(here)
    here.sink_options = {"compression": "zstd"}
    ref = here.plan(clear_number=1)
    assert [outcome.done_before for outcome in here.read(ref)] == [False, False, False]
    assert (here.commit(ref).generation, here.values(), states(here)) == (2, NEW, ONCE)


def test_a_file_that_came_back(here: Pipe) -> None:
    """One that was missing is restored from a backup, and so in another version."""
    here.put({"b.txt": b"b1\nb2\n"})
    here.plan()
    (here.source / "b.txt").unlink()
    with pytest.raises(FileMissingError, match="to read a corrected file: `blockread reprocess"):
        here.run(clear_number=1)
    correct(here)

    assert (here.run(clear_number=2).generation, here.values()) == (2, ["b3", "b4", "b5"])


def test_one_that_changed_after_its_read(here: Pipe) -> None:
    """The proof refuses it, and says how it is read as it is now."""
    here.put({"b.txt": b"b1\nb2\n"})
    ref = here.plan()
    here.read(ref)
    correct(here)
    with pytest.raises(ProofError, match=r"read it as it is now \(`blockread reprocess --window"):
        here.commit(ref)

    assert (here.run(clear_number=1).generation, here.values(), states(here)) == (2, ["b3", "b4", "b5"], ONCE)


@pytest.mark.slow
def test_results_of_a_file_that_changed_later_do_not_count(here: Pipe) -> None:
    """What the new generation takes over is proven like what it reads: a source must be as it was read."""
    fail(here)
    ref = here.plan(clear_number=1)
    here.read(ref)
    here.put({"c.txt": b"c3\nc4\n"})
    with pytest.raises(ProofError, match=r"c\.txt .* the file was changed after its read"):
        here.commit(ref)
    assert (here.run(clear_number=2).generation, here.values()) == (3, [*NEW[:5], "c3", "c4"])


@pytest.mark.slow
@pytest.mark.parametrize("adds", [False, True])
def test_a_listing_in_between_leaves_it_to_the_window(here: Pipe, *, adds: bool) -> None:
    """It is taken from among what waits, and no later plan takes it, whatever it says of modified files."""
    fail(here)
    selection = Selection(on_modified="add") if adds else here.selection
    if adds:
        here.selection = dataclasses.replace(selection, limits=Limits(max_files=1))
        here.put({"0.txt": b"first\n"})
        os.utime(here.source / "0.txt", (1, 1))
        assert here.run("looks").files == 1
        here.selection = selection
        assert states(here)[1] == (9, "pending", False)
    else:
        assert here.plan("looks").ignored == 1
        assert states(here)[1] == (9, "ignored", False)
    ref = here.plan(clear_number=1)
    assert here.plan("next").status == "empty"
    here.read(ref)
    here.commit(ref)

    assert here.plan("last").status == "empty"
    assert ([v for v in here.values() if v != "first"], states(here)) == (NEW, ONCE)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["hand", "policy"])
def test_what_was_excluded_stays_out(here: Pipe, by: str) -> None:
    """A clear looks at the files that the window still holds; one that changed before its read is read."""
    fail(here)
    window = get_window(here.env.ledger, "w")
    if by == "hand":
        exclude(here.env, window, here.uri("a.txt"), reason="not ours", who="me")
        here.put({"a.txt": b"a3\n"})
    else:
        here.with_policies(on_changed="exclude")
        here.put({"a.txt": b"a3\n"})
        here.put({"b.txt": b"b1\n"})
        ref = here.plan()
        here.read(ref)
        correct(here)
        here.put({"c.txt": b"c9\nc8\n"})
    done = here.run(clear_number=1)

    if by == "hand":
        assert (done.excluded, here.values()) == (1, NEW[2:])
        return
    assert (done.excluded, here.values()) == (2, ["c8", "c9"])
    assert (here.run("next").files, here.values()) == (2, ["a3", "b3", "b4", "b5", "c8", "c9"])
    assert here.plan("last").status == "empty"


@pytest.mark.slow
@pytest.mark.parametrize("known", [False, True])
def test_given_up_it_waits_again(here: Pipe, *, known: bool) -> None:
    """The newer version goes back once, and the one that it has replaced never does."""
    fail(here)
    if known:
        assert here.plan("looks").ignored == 1
    ref = here.plan(clear_number=1)
    here.read(ref)
    abandon(here.env, get_window(here.env.ledger, ref.window), who="me")
    assert states(here) == [(6, "replaced", True), (9, "pending", False)]

    assert (here.run("next").files, here.values()) == (3, NEW)
    assert here.plan("last").status == "empty"
    prune(here.env, PruneRequest(older_than=0, keep=0))
    assert here.plan("very last").status == "empty"


@pytest.mark.slow
def test_published_it_is_like_any_window(here: Pipe) -> None:
    """It is rebuilt, reprocessed, taken away and pruned by the plan that names the newer version."""
    fail(here)
    here.run(clear_number=1)
    assert (here.run(clear_number=2).generation, here.values()) == (3, NEW)
    here.put({"c.txt": b"c9\n"})
    reprocess(here, "c.txt")
    assert here.values() == [*NEW[:5], "c9"]
    undo(here.env, get_window(here.env.ledger, "w"), files="pending", who="me")
    assert (states(here), here.published()) == ([(6, "replaced", True), (9, "pending", False)], [])
    assert (here.run("next").files, here.values()) == (3, [*NEW[:5], "c9"])
    here.pass_seconds(100)
    prune(here.env, PruneRequest(older_than=10, keep=0))

    assert here.run("last").status == "empty"


@pytest.mark.slow
@pytest.mark.carried
def test_results_that_were_taken_over_are_published_from_where_they_lie(here: Pipe) -> None:
    """They are carried through several generations, and then by one that is reprocessed; nothing is left staged."""
    fail(here)
    here.plan(clear_number=1)
    correct(here, "b6")
    ref = here.plan(clear_number=2)
    here.read(ref)
    here.commit(ref)
    first = here.published()
    assert here.values() == ["a1", "a2", "b6", "c1", "c2"]
    prune(here.env, PruneRequest(older_than=1000, keep=10))
    assert not list(here.work.rglob("data/*"))
    correct(here)
    reprocess(here, "b.txt")

    assert here.values() == NEW
    assert len(set(first) & set(here.published())) == 2


@pytest.mark.slow
def test_reprocess_names_an_unpublished_window(here: Pipe) -> None:
    """What the command line says: it reads the corrected file and what is not done, and publishes the window."""
    fail(here)
    asked = RebuildRequest(range=WindowRange(window="w", feed="feed"), files=FileChoice(path="b.*"))
    (intent,) = propose_rebuild(here.env, asked).windows
    assert intent.what.startswith("1 of 3 groups read again for 1 file (1 newer version in place of the planned")
    assert intent.what.endswith("as generation 2, and the window is published")
    assert (reprocess(here, "b.*"), here.values(), states(here)) == ([2], NEW, ONCE)
    assert here.plan("next").status == "empty"
