"""What was cleaned away and is needed again is refused until it is back; archives, from which it comes back."""

from __future__ import annotations

import dataclasses

import pytest

from airflow_provider_blockread.errors import CleanedError, OptionsError, SourceError
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.steps import plan
from airflow_provider_blockread.steps.plan.choosing import FileChoice
from airflow_provider_blockread.steps.plan.cleaned import restore_files
from airflow_provider_blockread.steps.running import WindowRunner
from airflow_provider_blockread.steps.upkeep import cleaning
from airflow_provider_blockread.steps.upkeep.cleaning import clean, propose_cleaning
from airflow_provider_blockread.steps.upkeep.pruning import PruneRequest, prune
from airflow_provider_blockread.steps.upkeep.rebuilding import RebuildRequest, WindowRange, propose_rebuild, rebuild
from airflow_provider_blockread.steps.upkeep.withdrawing import propose_undoing, undo
from airflow_provider_blockread.storage.stores import Stores
from tests.pipeline.cleaning import cleaned, request, there
from tests.pipeline.cleaning import pipe as pipe  # noqa: PLC0414 - a fixture
from tests.pipeline.dying import Died, dying
from tests.pipeline.make import Pipe

pytestmark = pytest.mark.slow

_DAY_S = 86_400.0


def runner(pipe: Pipe) -> WindowRunner:
    """Return what takes windows to their end."""
    return WindowRunner(env=pipe.env, owner="test", job=pipe.job, submitter=pipe.submitter)


def test_a_clear_is_refused_until_the_files_are_back(pipe: Pipe) -> None:
    """It names the files and where they are, and changes nothing; restored ones are seen by themselves."""
    cleaned(pipe)
    before = pipe.values(), pipe.state()
    with pytest.raises(CleanedError, match=r"2 of its files .*a\.txt \(archived to .*blockread clean --restore"):
        pipe.run(clear_number=1)
    assert (pipe.values(), pipe.state()) == before

    (pipe.source / "sub").mkdir(exist_ok=True)
    for name in ("a.txt", "sub/b.txt"):
        (pipe.folder / "kept" / name).rename(pipe.source / name)
    assert pipe.run(clear_number=1).generation == 2
    assert cleaned(pipe).files == 0
    pipe.pass_seconds(8 * _DAY_S)
    assert cleaned(pipe).files == 2


def test_a_rebuild_is_refused_before_its_first_window(pipe: Pipe) -> None:
    """No window of a range is read when one needs what was cleaned; the proposal warns of it."""
    cleaned(pipe, "delete")
    pipe.put({"c.txt": b"c1\n"})
    pipe.run("w2")
    asked = RebuildRequest(range=WindowRange(feed=pipe.feed))
    intent = propose_rebuild(pipe.env, asked)
    (alert,) = intent.all_warnings()
    assert f"window {intent.windows[0].window} 'w' of feed {pipe.feed}: this will fail" in alert
    with pytest.raises(CleanedError, match=r"a\.txt \(deleted\)"):
        rebuild(pipe.env, asked, runner(pipe))
    assert pipe.state("w") == pipe.state("w2") == "published"


def test_reprocessing_needs_its_own_groups_only(pipe: Pipe) -> None:
    """Files of groups that are carried over may be gone."""
    cleaned(pipe)
    window = get_window(pipe.env.ledger, "w", pipe.feed)
    asked = RebuildRequest(range=WindowRange(window="w", feed=pipe.feed), files=FileChoice(path="b.txt"))
    with pytest.raises(CleanedError, match=r": 1 of its files.*b\.txt"):
        rebuild(pipe.env, asked, runner(pipe))
    (pipe.source / "sub").mkdir(exist_ok=True)
    (pipe.folder / "kept" / "sub" / "b.txt").rename(pipe.source / "sub" / "b.txt")

    (done,) = rebuild(pipe.env, asked, runner(pipe))

    assert (done.generation, pipe.values()) == (2, ["a1", "a2", "b1"])
    assert restore_files(pipe.env, window).files == 1


def test_reprocessing_behind_a_lost_half(pipe: Pipe) -> None:
    """Files that are not read again may be gone when a reprocessing that died half way has lost what it staged, too."""
    cleaned(pipe)
    asked = RebuildRequest(range=WindowRange(window="w", feed=pipe.feed), files=FileChoice(path="b.txt"))
    (pipe.source / "sub").mkdir(exist_ok=True)
    (pipe.folder / "kept" / "sub" / "b.txt").rename(pipe.source / "sub" / "b.txt")
    with dying("publish_file", 0), pytest.raises(Died):
        rebuild(pipe.env, asked, runner(pipe))
    assert pipe.state() == "publishing"
    for path in pipe.work.glob("**/g2/**/data/*"):
        path.unlink()

    (done,) = rebuild(pipe.env, asked, runner(pipe))

    assert (done.generation, pipe.values()) == (4, ["a1", "a2", "b1"])


def test_a_verification_is_refused(pipe: Pipe) -> None:
    """It would read the files; a clear that is skipped does not."""
    cleaned(pipe)
    pipe.with_policies(on_rerun="verify")
    with pytest.raises(CleanedError):
        pipe.run(clear_number=1)
    pipe.with_policies(on_rerun="skip")
    assert pipe.run(clear_number=1).status == "published"


def test_files_of_an_undone_window_must_be_there_to_go_back(pipe: Pipe) -> None:
    """They may stay excluded; to be pending, they must be in their places."""
    cleaned(pipe)
    window = get_window(pipe.env.ledger, "w", pipe.feed)
    for attempt in (propose_undoing, lambda *given, **o: undo(*given, **o, who="me")):
        with pytest.raises(CleanedError):
            attempt(pipe.env, window, files="pending")
    assert undo(pipe.env, window, who="me").files_are == "excluded"
    with pytest.raises(CleanedError):
        undo(pipe.env, window, files="pending", who="me")
    restore_files(pipe.env, window)
    assert undo(pipe.env, window, files="pending", who="me").files == 2
    assert pipe.run("w2").records == 3


@pytest.mark.parametrize("keep", [False, True])
def test_pruned_windows(pipe: Pipe, *, keep: bool) -> None:
    """Cleaning comes before pruning; what was cleaned is known as long as the window may be read again."""
    cleaned(pipe)
    prune(pipe.env, PruneRequest(older_than=_DAY_S, keep=0, keep_manifests=keep))
    assert cleaned(pipe, "delete").files == 0
    with pytest.raises(CleanedError if keep else Exception, match="cleaned" if keep else "pruned"):
        pipe.run(clear_number=1)


def test_a_replaced_file_is_not_asked_for_after_pruning(pipe: Pipe) -> None:
    """A newer version is read in its place, so that the archived one is needed no longer."""
    cleaned(pipe)
    pipe.put({"sub/b.txt": b"b2\nb3\n"})
    asked = RebuildRequest(range=WindowRange(window="w", feed=pipe.feed), files=FileChoice(path="b.txt"))
    rebuild(pipe.env, asked, runner(pipe))
    pipe.pass_seconds(2 * _DAY_S)
    prune(pipe.env, PruneRequest(older_than=_DAY_S, keep=0, keep_manifests=True))
    with pytest.raises(CleanedError, match=r"1 of its files .*: \S+/a\.txt"):
        pipe.run(clear_number=1)
    assert restore_files(pipe.env, get_window(pipe.env.ledger, "w", pipe.feed)).files == 1

    assert pipe.run(clear_number=1).generation == 3
    assert pipe.values() == ["a1", "a2", "b2", "b3"]


def test_restoring_never_overwrites(pipe: Pipe) -> None:
    """Another file in a place stays there, and the archived one where it is."""
    cleaned(pipe)
    pipe.put({"a.txt": b"new\n"})
    with pytest.raises(SourceError, match="another file is there now"):
        restore_files(pipe.env, get_window(pipe.env.ledger, "w", pipe.feed))
    assert (pipe.source / "a.txt").read_bytes() == b"new\n"
    assert "a.txt" in there(pipe.folder / "kept")


@pytest.mark.parametrize("place", ["out", "out/kept", "other"])
def test_an_archive_in_an_output_is_refused(pipe: Pipe, place: str) -> None:
    """Readers of any feed's output would find the files there; not beside it, nor in a folder that they skip."""
    other = dataclasses.replace(pipe.request("w"), feed="other", names_feed=True)
    sink = dataclasses.replace(other.generation.sink, uri=str(pipe.folder / "other"))
    plan(pipe.env, dataclasses.replace(other, generation=dataclasses.replace(other.generation, sink=sink)))
    with pytest.raises(OptionsError, match=f"archive file://.*/{place} is in .*; choose a folder outside of it"):
        propose_cleaning(pipe.env, request(pipe, archive=str(pipe.folder / place)))
    with pytest.raises(OptionsError, match="is in the output"):
        clean(pipe.env, request(pipe, archive=str(pipe.folder / place)), who="me")

    for apart in ("out2", "out/_kept", "out.blockread/_kept"):
        assert propose_cleaning(pipe.env, request(pipe, archive=str(pipe.folder / apart))).left == {"waiting": 2}


def test_a_folder_in_the_place_of_a_file_in_the_archive(pipe: Pipe) -> None:
    """It stays, as other content does, and no other file waits for it."""
    kept = pipe.folder / "kept"
    (kept / "a.txt").mkdir(parents=True)

    assert cleaned(pipe).files == 2
    assert [name[:6] for name in there(kept)] == ["a.txt.", "sub/b."]
    assert restore_files(pipe.env, get_window(pipe.env.ledger, "w", pipe.feed)).files == 2


def test_a_store_that_denies_everything_is_not_asked_for_each_file(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call ends at so many failures, with the last one; what it did is recorded."""
    asked: list[str] = []

    def denied(_stores: Stores, uri: str, _target: str) -> None:
        asked.append(uri)
        msg = f"{uri}: access is denied"
        raise SourceError(msg, uri)

    with monkeypatch.context() as failing:
        failing.setattr(Stores, "place", denied)
        failing.setattr(cleaning, "_MOST_FAILED", 1)
        with pytest.raises(SourceError, match=r"access is denied$"):
            clean(pipe.env, request(pipe), who="me")
    assert len(asked) == 1
    assert cleaned(pipe).files == 2
