"""Files that changed after they were published: what the messages say of reading them again works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from airflow_provider_blockread.errors import ProofError, SourceError
from airflow_provider_blockread.ledger.upkeep.requests import finish_request
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import Limits, Selection
from airflow_provider_blockread.steps.upkeep import rebuilding
from airflow_provider_blockread.steps.upkeep.withdrawing import undo
from tests.pipeline.make import Pipe
from tests.remedies.advice import commands
from tests.remedies.desk import Desk

_LINES = b"".join(b"%04d\n" % number for number in range(20))


@pytest.fixture
def two(here: Pipe) -> Pipe:
    """Two published files in two groups."""
    here.put({"a file.txt": b"a1\na2\n", "b.txt": b"b1\nb2\n"})
    here.group_bytes = 6
    here.run()
    return here


@pytest.mark.parametrize("remedy", ["leave out", "undo"])
def test_a_version_that_another_window_took(two: Pipe, desk: Desk, remedy: str) -> None:
    """The file is left out of the choice, or the other window taken away by the command that the message names."""
    two.put({"b.txt": b"corrected\n"})
    two.selection = Selection(on_modified="add")
    two.run("w2")
    message = desk.refused("reprocess", "--window", "w")
    assert "leave the file out, or give that window up first" in message
    if remedy == "leave out":
        desk.done("reprocess", "--window", "w", "--path", "a file.txt")
        assert two.values() == ["a1", "a2", "b1", "b2", "corrected"]
    else:
        desk.carry_out(message)
        desk.done("reprocess", "--window", "w")
        assert two.values() == ["a1", "a2", "corrected"]


def test_a_version_that_a_pruned_window_took(two: Pipe, desk: Desk) -> None:
    """Left out of the choice, it does not stand in the way."""
    two.put({"b.txt": b"corrected\n"})
    two.selection = Selection(on_modified="add")
    two.run("w2")
    desk.done("reprocess", "--window", "w", "--path", "a file.txt")  # so that only the other one is old
    desk.done("prune", "--older-than", "1h", "--keep", "0")
    message = desk.refused("reprocess", "--window", "w", "--path", "b.txt")
    assert "each version is read only once; leave the file out" in message
    desk.done("reprocess", "--window", "w", "--path", "a file.txt")


def test_a_newer_version_of_a_part(here: Pipe, desk: Desk) -> None:
    """The windows are given up by the commands that the message names, in their order, and the next run reads it."""
    here.put({"a.txt": _LINES})
    here.block_size, here.selection = 16, Selection(limits=Limits(max_bytes=40))
    for key in "123":
        here.run(key)
    here.put({"a.txt": b"new\n"})
    message = desk.refused("reprocess", "--window", "1")
    for command in commands(message):
        desk.done(*command)
    here.run("4")

    assert here.values() == ["new"]


def test_a_newer_version_that_is_too_small(here: Pipe, desk: Desk) -> None:
    """The window is taken away by the command that the message names, and the next run reads the file."""
    here.put({"a.txt": _LINES})
    here.block_size = 4
    here.run()
    here.put({"a.txt": b"new\n"})
    desk.carry_out(desk.refused("reprocess", "--window", "w"))
    here.run("next")

    assert here.values() == ["new"]


@pytest.mark.parametrize("how", ["changed", "missing"])
@pytest.mark.parametrize("remedy", ["restore", "reprocess", "exclude", "abandon"])
def test_no_policy_takes_away_what_is_published(two: Pipe, desk: Desk, how: str, remedy: str) -> None:
    """Each of the ways out that the message names."""
    two.with_policies(on_missing="exclude", on_changed="exclude")
    path, kept = two.source / "a file.txt", two.folder / "kept"
    two.run(clear_number=1)
    path.rename(kept)
    if how == "changed":
        path.write_bytes(b"other\n")
    with pytest.raises(SourceError, match="which no policy removes: restore it and retry") as refused:
        two.run(clear_number=2)
    named = {" ".join(words[:2]): words for words in commands(str(refused.value))}
    if remedy == "reprocess" and how == "missing":
        assert "reprocess --window" not in named
        return
    expected = {"restore": ["a1", "a2"], "reprocess": ["other"], "exclude": [], "abandon": ["a1", "a2"]}[remedy]
    if remedy == "restore":
        kept.replace(path)
    else:
        desk.done(*named[{"reprocess": "reprocess --window"}.get(remedy, f"windows {remedy}")])
    if remedy in {"restore", "exclude"}:
        two.run(clear_number=2)

    assert two.values() == sorted([*expected, "b1", "b2"])


def _interfering(monkeypatch: pytest.MonkeyPatch, interfere: Callable[[Any], object]) -> None:
    start = rebuilding.start_requested
    done: list[bool] = []

    def late(ledger: Any, request: Any, *given: Any, **options: Any) -> Any:
        if not done:
            done.append(True)
            interfere(request)
        return start(ledger, request, *given, **options)

    monkeypatch.setattr(rebuilding, "start_requested", late)


@pytest.mark.parametrize("what", ["finished", "published", "changed", "undone"])
def test_what_came_in_between(two: Pipe, desk: Desk, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """The command is repeated, as the message says."""
    two.put({"b.txt": b"corrected\n"})

    def interfere(request: Any) -> None:
        if what == "finished":
            finish_request(two.env.ledger, request)
        elif what == "published":
            two.source.joinpath("b.txt").rename(two.folder / "b.txt")
            two.put({"b.txt": b"b1\nb2\n"})
            desk.pipe.env.ledger.close()
            desk.done("reprocess", "--window", "w", "--path", "a file.txt")
            (two.folder / "b.txt").replace(two.source / "b.txt")
        elif what == "changed":
            two.selection = Selection(on_modified="add")
            two.run("other")
        else:
            undo(two.env, get_window(two.env.ledger, "w"), who="me")

    _interfering(monkeypatch, interfere)
    message = desk.refused("reprocess", "--window", "w", "--path", "b.txt")
    assert "repeat the command" in message
    if what == "changed":
        desk.done("windows", "undo", "other", "--files", "pending")
    printed = desk.done("reprocess", "--window", "w", "--path", "b.txt")

    assert ("left alone, since it is abandoned" in printed) == (what == "undone")
    assert two.values() == ([] if what == "undone" else ["a1", "a2", "corrected"])


@pytest.mark.parametrize("remedy", ["restore", "reprocess", "windows exclude"])
def test_a_file_that_changed_after_its_read(here: Pipe, desk: Desk, remedy: str) -> None:
    """Restored, and the commit retried; or read as it is now, or left out, by the commands that the message names."""
    here.put({"a file.txt": b"a1\n", "b.txt": b"b1\n"})
    ref = here.plan()
    here.read(ref)
    path, kept = here.source / "a file.txt", here.folder / "kept"
    path.rename(kept)
    path.write_bytes(b"other\n")
    with pytest.raises(ProofError, match="was changed after its read") as refused:
        here.commit(ref)
    if remedy == "restore":
        kept.replace(path)
    else:
        [named] = [words for words in commands(str(refused.value)) if " ".join(words).startswith(remedy)]
        desk.done(*named)
    if remedy == "windows exclude":
        here.read(ref, clear_number=1)
    if remedy != "reprocess":
        here.commit(ref)

    assert here.values() == {"restore": ["a1", "b1"], "reprocess": ["b1", "other"]}.get(remedy, ["b1"])
