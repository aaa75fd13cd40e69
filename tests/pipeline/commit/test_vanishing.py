"""A planned file goes or changes before, during or after its read: each policy, through a whole window."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import BinaryIO

import pytest

from airflow_provider_blockread.errors import FileChangedError, FileMissingError, ProofError
from airflow_provider_blockread.ledger.windows.queries import feed_counts
from airflow_provider_blockread.options import Policies
from airflow_provider_blockread.storage.stores import Stores
from tests.pipeline.make import Pipe, ReadHere

ERRORS = {"missing": FileMissingError, "changed": FileChangedError}


class _Harm:
    """What happens to a file, and how it is undone."""

    def __init__(self, path: Path, reason: str) -> None:
        self._path, self._reason = path, reason
        self._data, self._stamp = path.read_bytes(), path.stat().st_mtime_ns

    def do(self) -> None:
        """Let the file go, or change under the same size."""
        if self._reason == "missing":
            self._path.unlink(missing_ok=True)
        else:
            os.utime(self._path, ns=(0, self._stamp + 1))

    def undo(self) -> None:
        """Put it back as it was planned."""
        self._path.write_bytes(self._data)
        os.utime(self._path, ns=(self._stamp, self._stamp))


class _During(Stores):
    """Lets the harm happen when the file is open: only the look at its end can tell."""

    def __init__(self, harm: _Harm) -> None:
        super().__init__()
        self._harm = harm

    def open_read(self, uri: str) -> BinaryIO:
        """Return the open file."""
        file = super().open_read(uri)
        if uri.endswith("b.txt"):
            self._harm.do()
        return file


@pytest.fixture
def two(here: Pipe) -> Pipe:
    """Two files in two groups."""
    here.put({"a.txt": b"a1\na2\n", "b.txt": b"b1\nb2\n"})
    here.group_bytes = 6
    return here


def _policies(reason: str, rule: str) -> Policies:
    return Policies(on_missing=rule) if reason == "missing" else Policies(on_changed=rule)


@pytest.mark.parametrize("when", ["before", "during"])
@pytest.mark.parametrize("reason", list(ERRORS))
def test_a_read_excludes_what_the_policy_lets_go(two: Pipe, reason: str, when: str) -> None:
    """The version is looked at when a file is opened and when its read ends; the window goes without it."""
    harm = _Harm(two.source / "b.txt", reason)
    two.policies = _policies(reason, "exclude")
    ref = two.plan()
    if when == "before":
        harm.do()
    else:
        two.submitter = ReadHere(_During(harm))
    two.read(ref)
    done = two.commit(ref)

    assert (two.values(), done.files, done.blocks, done.excluded) == (["a1", "a2"], 1, 1, 1)
    assert two.commit(ref) == dataclasses.replace(done, read_seconds=0.0)
    assert feed_counts(two.env.ledger, two.feed) == {"done": 1, reason: 1}


@pytest.mark.parametrize("when", ["before", "during"])
@pytest.mark.parametrize("reason", list(ERRORS))
def test_a_read_fails_and_goes_on_once_the_file_is_back(two: Pipe, reason: str, when: str) -> None:
    """Under `fail` the error names the file and nothing is excluded; restored, the retry completes the window."""
    harm = _Harm(two.source / "b.txt", reason)
    ref = two.plan()
    if when == "before":
        harm.do()
    else:
        two.submitter = ReadHere(_During(harm))
    with pytest.raises(ERRORS[reason], match=r"b\.txt.* restore it, or exclude it"):
        two.read(ref)
    harm.undo()
    two.submitter = ReadHere()
    two.read(ref)

    assert (two.commit(ref).excluded, two.values()) == (0, ["a1", "a2", "b1", "b2"])


@pytest.mark.parametrize("rule", ["fail", "exclude"])
@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_what_is_no_file_any_more_has_changed(two: Pipe, kind: str, rule: str) -> None:
    """The policy decides; what is neither restored nor excluded fails and says so, and restored it is read."""
    harm, path = _Harm(two.source / "b.txt", "changed"), two.source / "b.txt"
    two.policies = _policies("changed", rule)
    ref = two.plan()
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/null")
    if rule == "fail":
        with pytest.raises(
            FileChangedError, match=r"b\.txt is a folder, a pipe or a device .* restore it, or exclude it"
        ):
            two.read(ref)
        path.rmdir() if kind == "folder" else path.unlink()
        harm.undo()
    two.read(ref)

    assert two.commit(ref).excluded == (0 if rule == "fail" else 1)


@pytest.mark.parametrize("rule", ["fail", "exclude"])
@pytest.mark.parametrize("reason", list(ERRORS))
def test_a_file_that_goes_between_read_and_proof(two: Pipe, reason: str, rule: str) -> None:
    """The proof refuses what it cannot compare; a clear then reads again: the file as it is now, or without it."""
    harm = _Harm(two.source / "b.txt", reason)
    two.policies = _policies(reason, rule)
    ref = two.plan()
    two.read(ref)
    harm.do()
    with pytest.raises(ProofError, match=r"b\.txt block 1 bytes \[0, 6\)"):
        two.commit(ref)
    assert two.published() == []
    if rule == "fail":
        harm.undo()

    done = two.run(clear_number=1)
    without = rule == "exclude" and reason == "missing"  # a clear reads a changed file as it is now
    assert (done.excluded, len(two.values())) == ((1, 2) if without else (0, 4))


def test_an_excluded_file_that_comes_back_is_read_by_a_later_window(two: Pipe) -> None:
    """Exclusion of what is gone or changed is not forever: whatever version is there later is read then."""
    two.policies = _policies("missing", "exclude")
    ref = two.plan()
    (two.source / "b.txt").unlink()
    two.read(ref)
    two.commit(ref)
    two.put({"b.txt": b"b1\nb2\nb3\n"})

    assert (two.run("later").files, two.values()) == (1, ["a1", "a2", "b1", "b2", "b3"])
