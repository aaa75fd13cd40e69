"""Generations and groups that were overtaken, are held by others, or lost their plan: what each message says works."""

from __future__ import annotations

import os
from typing import Any

import pytest

from airflow_provider_blockread.errors import BlockReadError, ConflictError, FencedError, OwnedError, PrunedError
from airflow_provider_blockread.ledger.model import GroupRef
from airflow_provider_blockread.ledger.windows.generations import start_generation
from airflow_provider_blockread.ledger.windows.groups import claim_group
from airflow_provider_blockread.ledger.windows.publishing import check_publication, claim_publication
from airflow_provider_blockread.options import MERGED
from airflow_provider_blockread.steps import Caller, read
from tests.pipeline.dying import Died, dying
from tests.pipeline.make import Pipe
from tests.remedies.desk import Desk

_ALL = ["a1", "a2", "b1", "b2"]


@pytest.fixture
def two(here: Pipe) -> Pipe:
    """Two files in two groups."""
    here.put({"a.txt": b"a1\na2\n", "b.txt": b"b1\nb2\n"})
    here.group_bytes = 6
    return here


def test_an_overtaken_generation(two: Pipe) -> None:
    """Neither its groups nor its commit continue; the run cleared from its plan on does."""
    old = two.plan()
    two.read(old)
    two.sink_options = {"compression": "zstd"}
    two.plan()
    with pytest.raises(ConflictError, match=r"a newer generation has taken its place.*clear the run from its plan on"):
        two.read(old, clear_number=1)
    with pytest.raises(ConflictError, match=r"a newer generation has taken its place.*clear the run from its plan on"):
        two.commit(old)

    assert (two.run(clear_number=1).generation, two.values()) == (2, _ALL)


def test_a_file_of_a_half_published_window(two: Pipe, desk: Desk) -> None:
    """It cannot be left out then; once its commit has ended, the same command says what helps, and that does."""
    ref = two.plan()
    two.read(ref)
    with dying("publish_file", 1), pytest.raises(Died):
        two.commit(ref)
    command = ("windows", "exclude", "w", two.uri("b.txt"), "--reason", "broken")
    assert "let its commit end, then repeat this command" in desk.refused(*command)
    two.commit(ref)
    desk.carry_out(desk.refused(*command), number=1)

    assert two.rows() == []


def test_a_task_of_before_a_clear(two: Pipe) -> None:
    """It stops, and the one that was cleared after it continues."""
    ref = two.plan()
    group = GroupRef(window=ref.window, generation=1, group=0)
    newer = claim_group(two.env.ledger, group, owner="test", clear_number=2, stale_after_s=60)
    assert newer is not None
    with pytest.raises(FencedError, match=r"cleared since this task began .*; stop"):
        two.read(ref, clear_number=1)
    two.read(ref, clear_number=2)

    assert two.commit(ref).records == 4


def test_a_group_that_does_not_exist(two: Pipe, desk: Desk) -> None:
    """The command that the message names shows those that do."""
    ref = two.plan()
    group = GroupRef(window=ref.window, generation=1, group=7)
    with pytest.raises(ConflictError, match="there is no group 7") as refused:
        claim_group(two.env.ledger, group, owner="test", clear_number=0, stale_after_s=60)

    assert "group 1: 1 file" in desk.carry_out(refused.value)


def test_a_publisher_that_lost_its_window(two: Pipe) -> None:
    """It stops; the new owner publishes."""
    ref = two.plan()
    two.read(ref)
    old = claim_publication(two.env.ledger, ref.window, 1, owner="test", stale_after_s=60)
    done = two.commit(ref)
    with pytest.raises(FencedError, match=r"epoch 1 no longer publishes it .*; stop"):
        check_publication(two.env.ledger, old)

    assert (done.status, two.values()) == ("published", _ALL)


@pytest.mark.parametrize("remedy", ["repeat", "abandon"])
@pytest.mark.parametrize("rebuilds", [False, True])
def test_a_verification_of_what_was_begun(two: Pipe, desk: Desk, remedy: str, *, rebuilds: bool) -> None:
    """It is repeated or given up first; what was published before can be verified then."""
    if rebuilds:
        two.run()
    two.plan(clear_number=1)
    message = desk.refused("windows", "verify", "w")
    assert "not published; repeat the command or clear the run that began it, or give it up" in message
    if remedy == "repeat":
        two.run(clear_number=1)
    else:
        desk.carry_out(message)

    if rebuilds or remedy == "repeat":
        assert "4 records" in desk.done("windows", "verify", "w")
    else:
        assert "abandoned" in desk.done("windows", "list")


@pytest.mark.parametrize("how", ["undo", "abandon"])
def test_a_verification_of_what_was_abandoned(two: Pipe, desk: Desk, how: str) -> None:
    """Another window, which the command lists, is verified instead."""
    (two.run if how == "undo" else two.plan)()
    desk.done("windows", how, "w")
    two.put({"later.txt": b"later\n"})
    two.run("other")
    message = desk.refused("windows", "verify", "w")
    assert "was abandoned, so nothing of it is published; choose another one with" in message

    assert "other" in desk.carry_out(message)
    assert "is verified" in desk.done("windows", "verify", "other")


@pytest.mark.parametrize("sink", ["parquet", "text"])
@pytest.mark.parametrize("kind", ["output", "quarantine"])
@pytest.mark.parametrize("damage", ["removed", "truncated"])
def test_published_files_that_are_gone(here: Pipe, desk: Desk, sink: str, kind: str, damage: str) -> None:
    """A verification looks for them; the window is rebuilt by the command that the message names, and verified."""
    here.put({"a.txt": b"a1\n\xff\n", "b.txt": b"b1\nb2\n"})
    here.kind = sink
    here.with_policies(on_bad_record="quarantine")
    here.run()
    assert "is verified: 4 records" in desk.done("windows", "verify", "w")
    file = next((here.out if kind == "output" else here.work / "quarantine").rglob("part-*"))
    file.unlink() if damage == "removed" else os.truncate(file, file.stat().st_size - 1)
    message = desk.refused("windows", "verify", "w")
    assert f"{file.name} is missing or of another size, as 1 of the " in message
    desk.carry_out(message)

    assert "is verified: 4 records" in desk.done("windows", "verify", "w")


def test_an_index_of_a_published_archive_that_is_gone(here: Pipe, desk: Desk) -> None:
    """A verification names it, since nothing finds files in the archive any more; the rebuild brings it back."""
    here.put({"a.txt": b"a1\n", "b.txt": b"b1\n"})
    here.kind, here.record_format, here.merges = "archive", MERGED, True
    here.sink_options = {"file_bytes": 3}
    here.run()
    assert "is verified: 2 records" in desk.done("windows", "verify", "w")
    index = next(here.out.glob(".part-*.index"))
    index.unlink()
    message = desk.refused("windows", "verify", "w")
    assert f"{index} is missing or of another size, as 1 of the 2 files that generation 1 published" in message
    desk.carry_out(message)

    assert "is verified: 2 records" in desk.done("windows", "verify", "w")


def test_a_window_that_was_not_planned(two: Pipe, desk: Desk) -> None:
    """One of an empty plan has no generation; planned with files it has."""
    two.source.joinpath("a.txt").rename(two.folder / "a.txt")
    two.source.joinpath("b.txt").unlink()
    two.plan()
    assert "is empty, so it has no generation; plan it first" in desk.refused("windows", "verify", "w")
    assert "list windows with" in (message := desk.refused("windows", "abandon", "w"))
    assert "empty" in desk.carry_out(message)
    (two.folder / "a.txt").rename(two.source / "a.txt")
    two.run()

    assert "2 records" in desk.done("windows", "verify", "w")


@pytest.mark.parametrize("remedy", ["name", "backup"])
def test_a_window_whose_plan_was_pruned(two: Pipe, desk: Desk, remedy: str) -> None:
    """Its files are read again under another name and output, or from a backup of its manifest."""
    two.run()
    [manifest] = two.work.rglob("manifest-*.parquet")
    backup = manifest.read_bytes()
    desk.done("prune", "--older-than", "1h", "--keep", "0")
    message = desk.refused("windows", "verify", "w")
    assert "Read its files under another feed name (--name) and output, or restore its manifest" in message
    with pytest.raises(PrunedError):
        two.run(clear_number=1)
    refused = desk.refused("windows", "exclude", "w", two.uri("a.txt"), "--reason", "bad")
    assert "was pruned on" in refused
    assert "Read its files under another feed name" in refused

    if remedy == "name":
        out = f"{two.folder}/again"
        printed = desk.done("run", str(two.source), "--name", "again", "--output", out)
        assert "4, 0 of them bad" in printed
    else:
        manifest.parent.mkdir(parents=True, exist_ok=True)
        manifest.write_bytes(backup)
        assert (two.run(clear_number=1).generation, two.values()) == (2, _ALL)


def test_a_pruned_window_that_keeps_its_manifest(two: Pipe, desk: Desk) -> None:
    """Pruned by the command that the message names, a window can be read again."""
    two.run()
    desk.done("prune", "--older-than", "1h", "--keep", "0", "--keep-manifests")

    assert (two.run(clear_number=1).generation, two.values()) == (2, _ALL)


@pytest.mark.parametrize("again", [False, True])
def test_files_of_a_pruned_window_do_not_go_back(two: Pipe, desk: Desk, *, again: bool) -> None:
    """They stay excluded, and another feed name reads them."""
    two.run()
    promise = "(--files pending returns them to the feed)"
    assert promise in desk.done("windows", "undo", "w", "--dry-run")
    desk.done("prune", "--older-than", "1h", "--keep", "0", *(["--keep-manifests"] if again else []))
    if again:
        two.run(clear_number=1)
    assert promise not in desk.done("windows", "undo", "w", "--dry-run")
    message = desk.refused("windows", "undo", "w", "--files", "pending")
    assert "let them stay excluded, and read them under another feed name" in message
    desk.done("windows", "undo", "w")
    assert "--files pending" not in desk.done("windows", "show", "w")
    desk.done("run", str(two.source), "--name", "again", "--output", str(two.out))

    assert two.values() == _ALL


def test_a_generation_that_is_being_published_comes_first(two: Pipe, desk: Desk) -> None:
    """What would start another waits for it, and works when it is repeated."""
    ref = two.plan()
    two.read(ref)
    with dying("publish_file", 1), pytest.raises(Died):
        two.commit(ref)
    with pytest.raises(ConflictError, match="is being published; repeat this once it is"):
        start_generation(two.env.ledger, ref.window, options={}, mode="write", clear_number=1)
    two.commit(ref)

    assert two.run(clear_number=1).generation == 2
    desk.done("windows", "rebuild", "w")


def test_a_half_published_rebuild_is_not_given_up(two: Pipe, desk: Desk) -> None:
    """What began it, repeated, ends it; then nothing is left to give up."""
    two.run()
    with dying("publish_file", 1), pytest.raises(Died):
        two.run(clear_number=1)
    message = desk.refused("windows", "abandon", "w")
    assert "half published" in message
    desk.done("windows", "rebuild", "w")

    assert two.values() == _ALL


def test_an_owner_that_lives(two: Pipe) -> None:
    """Once its heartbeat is stale, the retry takes the group over."""
    ref = two.plan()
    group = GroupRef(window=ref.window, generation=1, group=0)
    claim_group(two.env.ledger, group, owner="another process", clear_number=0, stale_after_s=60)
    with pytest.raises(OwnedError, match="wait for it, or stop it and retry when its heartbeat is stale"):
        two.read(ref)
    two.pass_seconds(61)
    two.read(ref)

    assert two.commit(ref).records == 4


@pytest.mark.parametrize("at_work", ["reader", "publisher"])
def test_other_options_while_an_owner_is_at_work(two: Pipe, at_work: str) -> None:
    """A plan that would begin a new generation waits until the one before has ended, or its owner is dead."""
    ref = two.plan()
    other: Any = {"owner": "another process", "stale_after_s": 60}
    if at_work == "reader":
        claim_group(two.env.ledger, GroupRef(window=ref.window, generation=1, group=0), clear_number=0, **other)
    else:
        two.read(ref)
        claim_publication(two.env.ledger, ref.window, 1, **other)
    two.with_policies(on_bad_record="drop")
    with pytest.raises(OwnedError, match=r"another process is at work on generation 1.*stop it and retry when its"):
        two.plan()
    two.pass_seconds(200)

    assert two.run().generation == 2


def test_a_published_group_is_read_by_the_run(two: Pipe) -> None:
    """Clearing the run from its plan on rebuilds the window whose group cannot be read alone."""
    ref = two.plan()
    two.read(ref)
    two.commit(ref)
    with pytest.raises(BlockReadError, match="clear the run from its plan on"):
        read(two.env, ref, 0, caller=Caller(owner="test", clear_number=1), job=two.job, submitter=two.submitter)

    assert two.run(clear_number=1).generation == 2
