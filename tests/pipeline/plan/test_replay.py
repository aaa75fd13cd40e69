"""The same key again: resumed, rebuilt, verified or left alone, and nothing read twice or lost by it."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import replace

import pytest

from airflow_provider_blockread.errors import ConflictError, FileChangedError, FileMissingError, ProofError, RecordError
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.ledger.windows.exclusions import InPlan, exclude_file
from airflow_provider_blockread.ledger.windows.queries import list_files
from airflow_provider_blockread.options import CustomFormat, Delimited, Lines, Policies, Selection
from airflow_provider_blockread.options.plan import Limits
from tests.pipeline.make import Pipe, ReadHere


def _two_groups(here: Pipe) -> None:
    here.put({"a.txt": b"a1\na2\n", "b.txt": b"b1\nb2\n"})
    here.group_bytes = 6


def test_published_window_is_left_alone(here: Pipe) -> None:
    """The same key again lists nothing, reads nothing and returns what was published."""
    _two_groups(here)
    first = here.run()
    names = here.published()
    here.put({"c.txt": b"late\n"})
    again = here.run()

    assert here.plan().status == "published"
    assert again == replace(first, read_seconds=0.0)
    assert here.published() == names
    assert len(here.attempt_files("job.json")) == 2


def test_next_key_takes_what_is_new(here: Pipe) -> None:
    """The next window takes just the files that landed since."""
    _two_groups(here)
    here.run("monday")
    here.put({"c.txt": b"late\n"})
    done = here.run("tuesday")

    assert (done.files, done.records) == (1, 1)
    assert here.values() == ["a1", "a2", "b1", "b2", "late"]


def test_resume_after_a_failed_group(here: Pipe) -> None:
    """A group that is done stays done: a retry reads only the one that failed."""
    here.put({"a.txt": b"a1\n", "b.txt": b"\xff\n"})
    here.group_bytes = 3
    with pytest.raises(RecordError):
        here.run()
    ref = here.plan()
    with pytest.raises(ConflictError, match=r"groups 1 \(failed\) are not done; clear their read tasks"):
        here.commit(ref)

    os.utime(here.source / "b.txt", ns=(0, (stamp := (here.source / "b.txt").stat().st_mtime_ns)))
    with (here.source / "b.txt").open("r+b") as file:  # corrected in place: same size, and put back to the same time
        file.write(b"b")
    os.utime(here.source / "b.txt", ns=(0, stamp))
    outcomes = here.read(ref)
    here.commit(ref)

    assert [(o.done_before, o.epoch) for o in outcomes] == [(True, 1), (False, 2)]
    assert here.values() == ["a1", "b"]


def test_rebuild_replaces(here: Pipe) -> None:
    """A cleared published window is read again over the same blocks, and its files replace the old ones."""
    _two_groups(here)
    here.run()
    old = set(here.published())
    here.put({"c.txt": b"late\n"})
    here.record_format = Delimited(delimiter=b"1")
    done = here.run(clear_number=1)

    assert (done.generation, done.files) == (2, 2)
    assert here.values() == ["\na2\n", "\nb2\n", "a", "b"]
    assert old.isdisjoint(here.published())


def test_failed_rebuild_leaves_the_old_output(here: Pipe) -> None:
    """A rebuild that fails its proof changes nothing that readers see; the next one replaces it."""
    _two_groups(here)
    here.run()
    old = here.published()
    ref = here.plan(clear_number=1)
    here.read(ref, clear_number=1)
    staged = sorted(here.work.glob("**/g2/**/data/*"))
    staged[0].unlink()
    with pytest.raises(ProofError, match=r"fails its proof.*cannot be counted"):
        here.commit(ref)

    assert (here.published(), here.state()) == (old, "failed")
    done = here.run(clear_number=2)
    assert (done.status, here.values()) == ("published", ["a1", "a2", "b1", "b2"])
    assert set(old).isdisjoint(here.published())


def test_verify(here: Pipe) -> None:
    """With `on_rerun="verify"` a cleared window is read and proven again, and nothing is written."""
    _two_groups(here)
    here.with_policies(on_rerun="verify", proof="digest")
    here.run()
    names = here.published()
    done = here.run(clear_number=1)

    assert (done.status, done.generation, done.records) == ("verified", 2, 4)
    assert here.published() == names
    assert not list(here.work.glob("**/g2/**/data/*"))


def test_verify_finds_other_content(here: Pipe) -> None:
    """A verification that reads other records than were published is refused, even at equal counts."""
    _two_groups(here)
    here.with_policies(on_rerun="verify", proof="digest")
    here.run()
    path = here.source / "a.txt"
    stamp = path.stat().st_mtime_ns
    path.write_bytes(b"a1\nXX\n")
    os.utime(path, ns=(stamp, stamp))

    with pytest.raises(ProofError, match=r"verifying read 4 records.*rebuild the window with"):
        here.run(clear_number=1)


def test_skip(here: Pipe) -> None:
    """With `on_rerun="skip"` a cleared published window is left alone."""
    _two_groups(here)
    here.with_policies(on_rerun="skip")
    first = here.run()

    assert here.run(clear_number=5) == replace(first, read_seconds=0.0)


def test_changed_options_start_a_generation(here: Pipe) -> None:
    """An unpublished window whose options have changed is read again, so that all its output follows one rule."""
    here.put({"a.txt": b"a1\n", "b.txt": b"\xff\n"})
    here.group_bytes = 3
    with pytest.raises(RecordError):
        here.run()
    here.record_format = Lines(encoding="binary")
    done = here.run()

    assert any("options have changed since generation 1: generation 2 starts" in m for m in here.messages)
    assert (done.generation, here.values()) == (2, [b"a1", b"\xff"])


def test_published_window_ignores_changed_options(here: Pipe) -> None:
    """Changed options alone do not touch what is published; the plan says so."""
    _two_groups(here)
    here.run()
    here.record_format = Lines(encoding="binary")

    assert "clear the run to rebuild it" in here.plan().message
    assert here.values() == ["a1", "a2", "b1", "b2"]


def test_empty_window_is_planned_again(here: Pipe) -> None:
    """A window with nothing to read closes itself; the same key takes what has landed since."""
    done = here.run()
    assert (done.status, done.records) == ("empty", 0)
    here.put({"a.txt": b"1\n"})

    assert here.run().records == 1


def test_files_without_bytes(here: Pipe) -> None:
    """Empty files make a window without blocks that is published at once, and are not taken again."""
    here.put({"a.txt": b"", "b.txt": b""})
    done = here.run()

    assert (done.status, done.files, done.blocks, done.records) == ("published", 2, 0, 0)
    assert here.run("next").status == "empty"


def test_two_feeds(here: Pipe) -> None:
    """Two feeds over the same files each read every file."""
    _two_groups(here)
    for feed in ("left", "right"):
        here.feed, here.out_name = feed, f"out-{feed}"
        assert here.run().records == 4
        assert here.values() == ["a1", "a2", "b1", "b2"]


def test_two_feeds_share_an_output(here: Pipe) -> None:
    """Feeds that publish into one directory do not touch each other's files, at a rebuild either."""
    _two_groups(here)
    for feed in ("left", "right"):
        here.feed = feed
        here.run()
    here.run(clear_number=1)

    assert here.values() == sorted(["a1", "a2", "b1", "b2"] * 2)


def test_limits_spread_files_over_windows(here: Pipe) -> None:
    """Windows with a limit take the files in turn, each once."""
    here.put({f"{i}.txt": b"%d\n" % i for i in range(5)})
    here.selection = Selection(limits=Limits(max_files=2))
    counts = [here.run(f"w{i}").records for i in range(4)]

    assert counts == [2, 2, 1, 0]
    assert here.values() == list("01234")


def test_exclude_by_hand(here: Pipe) -> None:
    """A file that is excluded after its read is not published: its group is read again without it."""
    here.put({"a.txt": b"a1\n", "b.txt": b"b1\n", "c.txt": b"c1\n"})
    here.group_bytes = 6
    ref = here.plan()
    here.read(ref)
    _, again = exclude_file(here.env.ledger, ref.window, here.uri("b.txt"), reason="x", who="me", plan=InPlan([0]))
    outcomes = here.read(ref)
    done = here.commit(ref)

    assert (again, [o.done_before for o in outcomes]) == ([0], [False, True])
    assert (done.files, done.excluded, here.values()) == (2, 1, ["a1", "c1"])
    assert here.run("next").status == "empty"


class _ExcludesMeanwhile(ReadHere):
    """Somebody excludes a file while the first application still reads it."""

    pipe: Pipe
    window = ""
    excluded = False

    def submit(self, submission: Submission, *, name: str) -> None:
        """Read, then exclude."""
        super().submit(submission, name=name)
        if not self.excluded:
            self.excluded = True
            path, ledger = self.pipe.uri("b.txt"), self.pipe.env.ledger
            exclude_file(ledger, self.window, path, reason="not ours", who="me", plan=InPlan([0]))


def test_exclude_while_the_group_is_read(here: Pipe) -> None:
    """A group that was running when a file of it was excluded is read again without it, by the same task."""
    here.put({"a.txt": b"a1\n", "b.txt": b"b1\n"})
    submitter = here.submitter = _ExcludesMeanwhile()
    ref = here.plan()
    submitter.pipe, submitter.window = here, ref.window
    (outcome,) = here.read(ref)
    done = here.commit(ref)

    assert outcome.epoch == 2
    assert (done.files, done.excluded, here.values()) == (1, 1, ["a1"])


@pytest.mark.parametrize("spans", [False, True], ids=["plain", "scanned"])
@pytest.mark.parametrize("reason", ["missing", "changed"])
def test_exclude_by_policy(here: Pipe, reason: str, *, spans: bool) -> None:
    """A file that is gone or changed is excluded where the policy says so, in the scan step too, and reported."""
    here.put({"a.txt": b"a1\na2\n", "b.txt": b"b1\nb2\n"})
    if spans:
        here.record_format, here.block_size, here.group_bytes = CustomFormat(path="quoted_lines:QuotedLines"), 3, 3
    here.policies = Policies(on_missing="exclude", on_changed="exclude")
    ref = here.plan()
    if reason == "missing":
        (here.source / "b.txt").unlink()
    else:
        here.put({"b.txt": b"another\nb\n"})
    here.read(ref)
    done = here.commit(ref)

    assert (done.files, done.excluded, here.values()) == (1, 1, ["a1", "a2"])
    assert [row.state for row in list_files(here.env.ledger, here.feed)] == ["done", reason]
    assert any(f"{here.uri('b.txt')} is {reason}" in warning for warning in here.warnings)


def test_all_files_excluded(here: Pipe) -> None:
    """A window whose files are all gone is published without any record."""
    _two_groups(here)
    here.policies = Policies(on_missing="exclude")
    ref = here.plan()
    for name in ("a.txt", "b.txt"):
        (here.source / name).unlink()
    here.read(ref)

    assert (here.commit(ref).records, here.published(), here.state()) == (0, [], "published")


@pytest.mark.parametrize(("name", "error"), [("on_missing", FileMissingError), ("on_changed", FileChangedError)])
def test_one_policy_does_not_speak_for_the_other(here: Pipe, name: str, error: type[Exception]) -> None:
    """Each policy excludes only what it is about."""
    here.put({"a.txt": b"a1\n", "b.txt": b"b1\n"})
    other = {"on_missing": "on_changed", "on_changed": "on_missing"}[name]
    here.policies = dataclasses.replace(Policies(), **{other: "exclude"})
    ref = here.plan()
    if name == "on_missing":
        (here.source / "b.txt").unlink()
    else:
        here.put({"b.txt": b"longer now\n"})

    with pytest.raises(error, match="blockread windows exclude"):
        here.read(ref)
