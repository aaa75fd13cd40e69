"""What a listing shows and holds back, from the option to what is published."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_blockread.errors import FileMissingError, SourceError
from airflow_provider_blockread.options import FileList, FileSource, Transform
from airflow_provider_blockread.steps import WindowRef, plan
from tests.pipeline.make import Pipe

ODD = ("a b", "a#b?c", "a%20b", "k=v/é=1", "new\nline", " ", "[x]", "~", "s3:::y", "a\\b", "'q\"", "100%", "+1")


def planned(pipe: Pipe, key: str, **options: Any) -> WindowRef:
    """Plan a window with options of the source."""
    return plan(pipe.env, replace(pipe.request(key), source=FileSource(str(pipe.source), **options)))


def published(pipe: Pipe, ref: WindowRef) -> list[Any]:
    """Read and publish a window, and return all that is published."""
    pipe.read(ref)
    pipe.commit(ref)
    return pipe.values()


def test_files_wait_for_their_markers(here: Pipe) -> None:
    """Each is taken by the first plan that sees its marker, and none is forgotten or taken for a file."""
    here.put({"a": b"a\n", "a.done": b"marker\n", "b": b"b\n", "in/c": b"c\n"})
    first = planned(here, "1", done_marker="{name}.done")

    assert (first.files, first.left_out) == (1, {"unmarked": 2})
    assert "left out: 2 without their done_marker='{name}.done'" in first.message
    assert any(f"such as {here.uri('in/c')}, {here.uri('b')}" in told for told in here.messages)
    assert published(here, first) == ["a"]
    here.put({"b.done": b"", "in/c.done": b""})
    second = planned(here, "2", done_marker="{name}.done")
    assert (second.files, second.left_out, published(here, second)) == (2, {}, ["a", "b", "c"])


def test_a_file_that_is_written_again_waits_for_its_age(here: Pipe) -> None:
    """One that changed just now is counted until it is old enough, and then taken as it is."""
    here.put({"a": b"a\n", "b": b"b\n"})
    now = here.time.timestamp()
    os.utime(here.source / "a", (now - 61, now - 61))
    os.utime(here.source / "b", (now - 59, now - 59))
    first = planned(here, "1", min_age=60.0)

    assert (first.files, first.left_out) == (1, {"young": 1})
    assert published(here, first) == ["a"]
    here.pass_seconds(2)
    assert published(here, planned(here, "2", min_age=60.0)) == ["a", "b"]


def test_sizes_leave_out_what_is_counted(here: Pipe) -> None:
    """A plan with nothing else to read says so, too; bounds that are taken back let the files in."""
    here.put({"empty": b"", "large": b"large\n" * 10})
    none = planned(here, "1", min_size=1, max_size="59B")

    assert (none.status, none.left_out) == ("empty", {"too_small": 1, "too_large": 1})
    assert "1 smaller than min_size=1, 1 larger than max_size='59B'" in none.message
    assert planned(here, "2", max_size=60).files == 2


def test_names_are_what_they_are(here: Pipe) -> None:
    """Spaces, signs of URIs and globs, quotes and line feeds go from the disk to the published path and back."""
    here.transform = Transform(columns=("_file",))
    here.put(dict.fromkeys(ODD, b"x\n"))
    ref = here.plan()
    here.read(ref)
    here.commit(ref)

    assert sorted(row["_file"] for row in here.rows()) == sorted(map(here.uri, ODD))
    assert here.plan("again").status == "empty"


def test_a_name_that_is_not_utf8_fails_the_plan_until_it_is_excluded(here: Pipe) -> None:
    """Nothing is planned without it silently; the error names it in letters, and a pattern leaves it out."""
    here.put({"a": b"a\n"})
    folder = Path(os.fsdecode(os.fsencode(here.source) + b"/k=\xe9"))
    folder.mkdir()
    (folder / "b").write_bytes(b"b\n")

    with pytest.raises(SourceError, match=r"in/k=\\udce9/b: this name is not UTF-8.*exclude it by a pattern") as caught:
        here.plan("1")
    assert str(caught.value).isprintable()
    assert planned(here, "2", exclude=r"re:.*[\udc80-\udcff].*").files == 1


def test_files_from_upstream_are_read_once_whatever_the_rules(here: Pipe) -> None:
    """Rules of the source are for listings; a list with an error plans nothing, and a retry reads it again."""
    here.put({name: f"{name}\n".encode() for name in ("a", "b", "_c")})
    names = here.folder / "names.txt"
    names.write_text("\n".join([here.uri("_c"), here.uri("a"), here.uri("none"), here.uri("a")]))
    source = FileSource(str(here.source), pattern="b", min_age=60.0)
    request = replace(here.request("1"), source=source, files=FileList(str(names)))

    with pytest.raises(FileMissingError, match="none is named upstream, but does not exist"):
        plan(here.env, request)
    names.write_text(names.read_text().replace(here.uri("none"), here.uri("_c")))
    ref = plan(here.env, request)
    names.unlink()
    assert plan(here.env, request).files == ref.files == 2
    assert published(here, ref) == ["_c", "a"]
