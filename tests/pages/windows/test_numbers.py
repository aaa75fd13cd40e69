"""Numbers on the pages of a window and a file: what was read and is there, not what was planned once."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from airflow_provider_blockread.errors import FileMissingError
from airflow_provider_blockread.ledger.windows.queries import get_window, list_files
from airflow_provider_blockread.pages.app import make_app
from airflow_provider_blockread.steps import WindowRef
from airflow_provider_blockread.steps.excluding import exclude
from airflow_provider_blockread.steps.plan.choosing import FileChoice
from airflow_provider_blockread.steps.running import WindowRunner
from airflow_provider_blockread.steps.upkeep.handing_over import Reading, propose_reading
from airflow_provider_blockread.steps.upkeep.rebuilding import (
    RebuildRequest,
    WindowRange,
    propose_rebuild,
    rebuild,
)
from airflow_provider_blockread.steps.upkeep.withdrawing import propose_abandoning, propose_undoing
from tests.pages.visitors import Person, site_of
from tests.pipeline.here import ReadHere
from tests.pipeline.make import Pipe

OLD, NEW = b"1\n2\n3\n4\n", b"11\n22\n"


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    """A feed of two files of several blocks, listed 14 minutes after they were modified."""
    made = Pipe(tmp_path, ReadHere(), block_size=3)
    made.put({"a": OLD, "b": b"5\n6\n7\n"})
    for name in "ab":
        _modified(made, name)
    made.pass_seconds(14 * 60)
    yield made
    made.close()


def _modified(pipe: Pipe, name: str) -> None:
    os.utime(pipe.source / name, (pipe.time.timestamp(),) * 2)


def _said(pipe: Pipe, path: str) -> str:
    text = TestClient(make_app(site_of(pipe.env, Person()))).get(f"/ledgers/main/{path}").text
    shown = re.sub(r"<(script|style|title)\b.*?</\1>|</time>", "", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", shown)).split())


def _planned_without_b(pipe: Pipe) -> WindowRef:
    ref = pipe.plan()
    exclude(pipe.env, get_window(pipe.env.ledger, ref.window), pipe.uri("b"), reason="bad", who="ann")
    return ref


def test_a_file_that_is_left_out_is_in_no_number(pipe: Pipe) -> None:
    """Neither in the proof nor in what would be read again or goes back to the feed."""
    ref = _planned_without_b(pipe)
    window = get_window(pipe.env.ledger, ref.window)
    [given_up] = propose_abandoning(pipe.env, window).windows
    pipe.read(ref)
    pipe.commit(ref)
    text = _said(pipe, f"windows/{window.id}")
    [undone] = propose_undoing(pipe.env, window, files="pending").windows
    [verified] = propose_reading(pipe.env, window, Reading(action="verify")).windows

    assert (window.files, window.bytes) == (2, 14)
    assert "its 1 file (8 B) goes back to pending" in given_up.what
    assert "its 1 file (8 B) goes back to pending" in undone.what
    assert verified.what.startswith("1 file read and proven again")
    assert "Every byte is accounted for: 8 bytes of 1 file, without 1 file left out." in text
    assert "Neighbouring blocks agree at each border" in text
    assert "Read 1 file (8 B) again" in text
    assert "bytes 8 B 8 records" in text


def test_what_a_rebuild_leaves_out_was_read_before(pipe: Pipe) -> None:
    """The page of a generation counts the files that this one left out; actions are about what is published."""
    pipe.run()
    window = get_window(pipe.env.ledger, "w", pipe.feed)
    pipe.pass_seconds(60)
    (pipe.source / "b").unlink()
    runner = WindowRunner(env=pipe.env, owner="me", job=pipe.job, submitter=pipe.submitter)
    asked = RebuildRequest(range=WindowRange(window=window.id))
    with pytest.raises(FileMissingError):
        rebuild(pipe.env, asked, runner)
    exclude(pipe.env, window, pipe.uri("b"), reason="tidied up", who="ann")
    unproven = _said(pipe, f"windows/{window.id}?generation=2")
    [resumed] = propose_rebuild(pipe.env, asked).windows
    [restarted] = propose_rebuild(pipe.env, asked, restarts=True).windows
    rebuild(pipe.env, asked, runner)
    first, second = (_said(pipe, f"windows/{window.id}?generation={number}") for number in (1, 2))
    [again] = propose_reading(pipe.env, window, Reading(action="rebuild")).windows

    assert resumed.what.startswith("1 file (8 B) in 1 group read again as generation 2")
    assert restarted.what.startswith("2 files (14 B) in 1 group read again as generation 3")
    assert again.what.startswith("1 file (8 B) in 1 group read again as generation 3")
    assert "files 2 5 blocks, 1 file left out" in unproven
    assert "14 bytes in 5 blocks of 2 files." in first
    assert "files 2 5 blocks bytes 14 B" in first
    assert "8 bytes of 1 file, without 1 file left out." in second
    assert "files 2 5 blocks, 1 file left out bytes 8 B" in second
    assert "Read 1 file (8 B) again and replace 1 output file." in first
    assert "Read 1 file (8 B) again and replace 1 output file." in second


def test_a_newer_version_is_what_a_window_has_read(pipe: Pipe) -> None:
    """Its bytes are those of the proof; the file says when it was found, and what became of the older version."""
    pipe.run()
    window = get_window(pipe.env.ledger, "w", pipe.feed)
    pipe.pass_seconds(15 * 60)
    pipe.put({"a": NEW})
    _modified(pipe, "a")
    pipe.pass_seconds(25)
    runner = WindowRunner(env=pipe.env, owner="me", job=pipe.job, submitter=pipe.submitter)
    rebuild(pipe.env, RebuildRequest(range=WindowRange(window=window.id), files=FileChoice(path="**/a")), runner)
    pipe.pass_seconds(5)
    text = _said(pipe, f"windows/{window.id}")
    old, new = (
        _said(pipe, f"files/{one.file}")
        for one in sorted(list_files(pipe.env.ledger, pipe.feed), key=lambda one: one.file)
        if one.version.path.endswith("/a")
    )

    assert "bytes 12 B 12 records" in text
    assert "12 bytes in 5 blocks of 2 files" in text
    assert "Read 2 files (12 B) again" in text
    assert "A newer version was read in its place, so the window's plan holds no block of this one." in old
    assert "it is empty" not in old
    assert "seen by a listing that began 16 min ago planned 16 min ago in window w" in old
    assert "modified 30 s ago found 5.0 s ago to be read in the place of an older version in window w" in new
    assert "seen by a listing" not in new


def test_a_file_without_bytes_says_so(pipe: Pipe) -> None:
    """It has no block."""
    pipe.put({"empty": b""})
    pipe.run()
    [empty] = [one.file for one in list_files(pipe.env.ledger, pipe.feed) if one.version.path.endswith("/empty")]

    assert "The window's plan holds no block of this file: it is empty." in _said(pipe, f"files/{empty}")
