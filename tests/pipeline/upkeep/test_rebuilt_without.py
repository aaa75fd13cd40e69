"""A published window that is read again, and one of its files is no longer there as it was planned."""

from __future__ import annotations

import os

import pytest

from airflow_provider_blockread.errors import ConflictError, SourceError
from airflow_provider_blockread.ledger.windows.exclusions import InPlan, exclude_file
from airflow_provider_blockread.ledger.windows.queries import feed_counts, get_window
from airflow_provider_blockread.options import Csv, CustomFormat, Limits, Selection
from airflow_provider_blockread.steps.excluding import exclude, propose_excluding
from airflow_provider_blockread.steps.plan.choosing import FileChoice
from airflow_provider_blockread.steps.running import WindowRunner
from airflow_provider_blockread.steps.upkeep.pruning import PruneRequest, prune
from airflow_provider_blockread.steps.upkeep.rebuilding import RebuildRequest, WindowRange, rebuild
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon, propose_abandoning, undo
from tests.pipeline.make import Pipe

pytestmark = pytest.mark.slow

_FILES = {"a.txt": b"a1\na2\n", "b.txt": b"b1\n", "c.txt": b"c1\n"}
_ALL = ["a1", "a2", "b1", "c1"]


@pytest.fixture
def published(here: Pipe) -> Pipe:
    """A window of three files in two groups, whose policies let files go."""
    here.with_policies(on_missing="exclude", on_changed="exclude")
    here.put(_FILES)
    here.group_bytes = 6
    assert here.run().records == 4
    return here


def _spoil(here: Pipe, name: str, how: str) -> None:
    if how == "missing":
        (here.source / name).unlink()
    else:
        here.put({name: b"another\n"})


def _exclude(here: Pipe, name: str, *groups: int, reason: str = "not ours") -> None:
    window = get_window(here.env.ledger, "w")
    exclude_file(here.env.ledger, window.id, here.uri(name), reason=reason, who="me", plan=InPlan(groups))


@pytest.mark.parametrize("how", ["missing", "changed"])
def test_no_policy_takes_away_what_is_published(published: Pipe, how: str) -> None:
    """The read fails and names the ways on, and the output stays; one of them is to leave the file out by hand."""
    here = published
    _spoil(here, "a.txt", how)
    with pytest.raises(SourceError, match=rf"is {how}, and window \w+ is published with its records") as failed:
        here.run(clear_number=1)

    window = get_window(here.env.ledger, "w").id
    for way in (f"windows exclude {window} {here.uri('a.txt')} --reason {how}", f"windows abandon {window}"):
        assert f"`blockread {way}`" in str(failed.value)
    assert ("blockread reprocess" in str(failed.value)) == (how == "changed")
    assert here.values() == _ALL

    _exclude(here, "a.txt", 0, reason=how)
    assert here.values() == _ALL
    done = here.run(clear_number=1)
    assert (done.generation, done.files, done.excluded, here.values()) == (2, 2, 1, ["b1", "c1"])
    here.put({"a.txt": b"a3\n"})
    assert (here.run("next").records, here.values()) == (1, ["a3", "b1", "c1"])


def test_a_rebuild_is_given_up(published: Pipe) -> None:
    """What is published stays, an exclusion of the rebuild is forgotten, and the next clear reads every file."""
    here, kept = published, (published.source / "a.txt").stat()
    _spoil(here, "a.txt", "missing")
    with pytest.raises(SourceError):
        here.run(clear_number=1)
    _exclude(here, "a.txt", 0)
    window = get_window(here.env.ledger, "w")
    (line,) = propose_abandoning(here.env, window).lines()
    assert line.endswith("generation 2, now failed, is given up; what is published stays, and so do its files")
    given_up = abandon(here.env, window, who="me")
    assert (given_up.files, given_up.files_are, given_up.removed) == (0, "done", 0)
    assert propose_abandoning(here.env, window).is_empty
    assert abandon(here.env, window, who="me") == given_up  # as a retry does
    assert (here.values(), feed_counts(here.env.ledger, "feed")) == (_ALL, {"done": 3})

    here.put({"a.txt": _FILES["a.txt"]})
    os.utime(here.source / "a.txt", ns=(kept.st_mtime_ns, kept.st_mtime_ns))
    assert (here.run(clear_number=2).generation, here.values()) == (3, _ALL)


def test_a_window_is_taken_away_while_a_rebuild_leaves_a_file_out(published: Pipe) -> None:
    """All of its files go back, that one too: what is published held it."""
    here = published
    here.plan(clear_number=1)
    _exclude(here, "b.txt", 0)
    assert undo(here.env, get_window(here.env.ledger, "w"), files="pending", who="me").files == 3
    assert (here.run("again").records, here.values()) == (4, _ALL)


def test_a_group_that_was_carried_over_is_read_again_without(published: Pipe) -> None:
    """Reprocessing takes the results of other groups over, but not those that hold what is left out meanwhile."""
    here = published
    _spoil(here, "c.txt", "changed")
    asked = RebuildRequest(range=WindowRange(feed=here.feed), files=FileChoice(path="c.txt"))
    runner = WindowRunner(env=here.env, owner=here.owner, job=here.job, submitter=here.submitter)
    kept = here.submitter.submit

    def fail(*_: object, **__: object) -> None:
        msg = "the store is away"
        raise SourceError(msg)

    here.submitter.submit = fail  # type: ignore[method-assign]
    with pytest.raises(SourceError, match="the store is away"):
        rebuild(here.env, asked, runner)
    here.submitter.submit = kept  # type: ignore[method-assign]
    with pytest.raises(ConflictError, match="about to read a newer version"):
        _exclude(here, "c.txt", 1)
    _exclude(here, "a.txt", 0)

    (done,) = rebuild(here.env, asked, runner)
    assert (done.excluded, here.values()) == (1, ["another", "b1"])
    assert feed_counts(here.env.ledger, "feed") == {"done": 2, "excluded": 1, "replaced": 1}


def test_a_part_is_not_left_out_of_a_rebuild(here: Pipe) -> None:
    """Other windows may continue behind it: the windows are taken away instead, the newest first."""
    here.put({"a.txt": b"".join(b"%04d\n" % number for number in range(20))})
    here.block_size, here.selection = 16, Selection(limits=Limits(max_bytes=40))
    here.run()
    here.plan(clear_number=1)
    with pytest.raises(ConflictError, match=r"with a part of this file, .* `blockread windows undo \w+`"):
        _exclude(here, "a.txt", 0)


def _without_b(here: Pipe) -> None:
    """Read a rebuild that leaves b out, give it up, and let b come back as it was."""
    kept, data = (here.source / "b.txt").stat(), (here.source / "b.txt").read_bytes()
    here.plan(clear_number=1)
    _exclude(here, "b.txt", *range(get_window(here.env.ledger, "w").groups), reason="missing")
    (here.source / "b.txt").unlink()
    here.read(here.plan(clear_number=1), clear_number=1)
    abandon(here.env, get_window(here.env.ledger, "w"), who="me")
    (here.source / "b.txt").write_bytes(data)
    os.utime(here.source / "b.txt", ns=(kept.st_mtime_ns, kept.st_mtime_ns))


@pytest.mark.files
@pytest.mark.columns
def test_what_a_scan_without_a_file_finds_is_not_for_others(here: Pipe) -> None:
    """The next rebuild scans that file, too."""
    long = b'one\ntwo\nthree\n"x' + b"\n" * 14 + b'y"\n"b"\n'
    here.put({"a.txt": b'"one\nrecord\n"\n' * 3, "b.txt": long, "c.txt": b"one\n"})
    here.record_format, here.block_size, here.group_bytes = CustomFormat(path="quoted_lines:QuotedLines"), 6, 20
    here.run()
    before = here.values()
    here.record_format = CustomFormat(path="quoted_lines:QuotedLines", encoding="binary")
    _without_b(here)
    assert here.run(clear_number=2).generation == 3
    assert here.values() == [value.encode() for value in before]


@pytest.mark.files
@pytest.mark.columns
def test_columns_inferred_without_a_file_are_not_for_others(here: Pipe) -> None:
    """The next rebuild infers them again, so that the file's records fit."""
    here.put({"a.txt": b"x,y\n1,2\n", "b.txt": b"x,y\nfoo,3\n"})
    here.record_format = Csv(header=True, delimiter=";")
    here.run()
    here.record_format = Csv(header=True)
    _without_b(here)
    assert here.run(clear_number=2).bad_records == 0
    assert sorted(row["x"] for row in here.rows()) == ["1", "foo"]


def test_a_file_of_a_pruned_window_is_left_out(published: Pipe) -> None:
    """The ledger no longer has a row for the file; its plan, which was kept, has its number."""
    here = published
    here.pass_seconds(20)
    prune(here.env, PruneRequest(older_than=10, keep=0, keep_manifests=True))
    _spoil(here, "a.txt", "missing")
    with pytest.raises(SourceError, match="or leave it out with"):
        here.run(clear_number=1)
    window, path = get_window(here.env.ledger, "w"), here.uri("a.txt")
    (line,) = propose_excluding(here.env, window, path, reason="gone").lines()
    assert "is left out of generation 2" in line
    exclude(here.env, window, path, reason="gone", who="me")
    done = here.run(clear_number=1)

    assert (done.generation, done.excluded, here.values()) == (2, 1, ["b1", "c1"])


@pytest.mark.parametrize("how", ["missing", "changed"])
def test_a_file_that_a_pruned_window_leaves_out_waits(published: Pipe, how: str) -> None:
    """A later window reads it, as it was once it is back, or as it is now; no other file is taken twice."""
    here, kept = published, (published.source / "a.txt").stat()
    here.pass_seconds(20)
    prune(here.env, PruneRequest(older_than=10, keep=0, keep_manifests=True))
    _spoil(here, "a.txt", how)
    with pytest.raises(SourceError, match="or leave it out with"):
        here.run(clear_number=1)
    window, path = get_window(here.env.ledger, "w"), here.uri("a.txt")
    assert "waits for a later window" in propose_excluding(here.env, window, path, reason=how).lines()[0]
    exclude(here.env, window, path, reason=how, who="me")
    assert here.run(clear_number=1).excluded == 1
    if how == "missing":
        (here.source / "a.txt").write_bytes(_FILES["a.txt"])
        os.utime(here.source / "a.txt", ns=(kept.st_mtime_ns, kept.st_mtime_ns))

    here.run("next")
    assert here.values() == (_ALL if how == "missing" else ["another", "b1", "c1"])


def test_a_newer_version_of_a_pruned_window_is_left_out(published: Pipe) -> None:
    """The plan that counts is the one with which it was published, not the one with which it was planned."""
    here = published
    _spoil(here, "a.txt", "changed")
    runner = WindowRunner(env=here.env, owner=here.owner, job=here.job, submitter=here.submitter)
    asked = RebuildRequest(range=WindowRange(feed=here.feed), files=FileChoice(path="a.txt"))
    assert [done.generation for done in rebuild(here.env, asked, runner)] == [2]
    here.pass_seconds(20)
    prune(here.env, PruneRequest(older_than=10, keep=0, keep_manifests=True))
    _spoil(here, "a.txt", "missing")
    with pytest.raises(SourceError, match="or leave it out with"):
        here.run(clear_number=1)
    exclude(here.env, get_window(here.env.ledger, "w"), here.uri("a.txt"), reason="gone", who="me")
    done = here.run(clear_number=1)

    assert (done.generation, done.excluded, here.values()) == (3, 1, ["b1", "c1"])


@pytest.mark.parametrize("how", ["missing", "changed"])
def test_a_verification_names_no_exclusion(published: Pipe, how: str) -> None:
    """It changes nothing, so nothing can be left out of it; given up, it leaves what is published alone."""
    here = published
    here.with_policies(on_missing="exclude", on_changed="exclude", on_rerun="verify")
    _spoil(here, "a.txt", how)
    with pytest.raises(SourceError, match="or give this verification up with") as failed:
        here.run(clear_number=1)
    assert "windows exclude" not in str(failed.value)
    window = get_window(here.env.ledger, "w")

    assert abandon(here.env, window, who="me").files_are == "done"
    assert here.values() == _ALL


def test_a_part_cannot_be_left_out(here: Pipe) -> None:
    """Of a file that several windows read, neither an exclusion nor its newer version is offered."""
    here.with_policies(on_missing="exclude", on_changed="exclude")
    here.put({"a.txt": b"a1\na2\na3\na4\n"})
    here.block_size, here.selection = 4, Selection(limits=Limits(max_bytes=8))
    here.run()
    _spoil(here, "a.txt", "changed")
    with pytest.raises(SourceError, match="restore it and retry; or give this rebuild up with"):
        here.run(clear_number=1)
