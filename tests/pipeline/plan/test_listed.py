"""What a listing shows and holds back, from the option to what is published."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_blockread.errors import FileMissingError, SourceError
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import AsRead, FileList, FileSource
from airflow_provider_blockread.steps import WindowRef, plan
from airflow_provider_blockread.steps.excluding import exclude
from tests.pipeline.make import Pipe
from tests.servers.redirecting import serving

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
    assert any(f"such as {here.uri('in/c')}, {here.uri('b')}" in line for line in here.messages)
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
    here.function = AsRead(columns=("_file",))
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


def test_links_out_of_the_roots_are_told_and_not_published(here: Pipe) -> None:
    """By the plan, from a listing and from a list; an option, and a clear, let them in."""
    here.put({"a": b"a\n"})
    (here.folder / "secret").write_text("secret\n")
    (here.source / "link").symlink_to(here.folder / "secret")
    first = planned(here, "1")

    assert (first.files, first.left_out) == (1, {"linked_out": 1})
    assert "left out: 1 behind links out of the roots (follow_links='inside')" in first.message
    assert any(f"such as {here.uri('link')}" in line for line in here.messages)
    assert published(here, first) == ["a"]
    request = replace(here.request("2"), files=[here.uri("link")])
    assert plan(here.env, request).left_out == {"linked_out": 1}
    second = plan(here.env, replace(request, source=FileSource(str(here.source), follow_links="anywhere")))
    assert published(here, second) == ["a", "secret"]


def test_a_link_exchanged_after_the_plan_is_read_once_the_option_lets_it(here: Pipe) -> None:
    """The read fails, and says what to do; each of the remedies works as it is written."""
    here.put({"a": b"a\n", "b": b"b\n"})
    (here.folder / "secret").write_text("x\n")
    ref = planned(here, "1")
    time_ns = (here.source / "a").stat().st_mtime_ns
    os.utime(here.folder / "secret", ns=(time_ns, time_ns))
    (here.source / "a").unlink()
    (here.source / "a").symlink_to(here.folder / "secret")
    with pytest.raises(SourceError, match=r"in/a is reached by a link out of the source's roots"):
        here.read(ref)

    again = planned(here, "1", follow_links="anywhere")
    assert again.generation == ref.generation + 1
    assert published(here, again) == ["b", "x"]


def test_a_file_behind_an_exchanged_link_can_be_excluded(here: Pipe) -> None:
    """The other remedy."""
    here.put({"a": b"a\n", "b": b"b\n"})
    ref = planned(here, "1")
    (here.source / "a").rename(here.folder / "a")
    (here.source / "a").symlink_to(here.folder / "a")
    command = f"blockread windows exclude {ref.window} {here.uri('a')} --reason bad"
    with pytest.raises(SourceError, match=rf"exclude the file \(`{command}`\)"):
        here.read(ref)

    exclude(here.env, get_window(here.env.ledger, ref.window), here.uri("a"), reason="a link", who="test")
    assert published(here, ref) == ["b"]


@pytest.mark.slow
def test_a_redirect_is_read_once_the_option_lets_it(here: Pipe) -> None:
    """The plan fails, and says what to do; carried out, the tasks follow it, too, with its hosts and no others."""
    with serving() as server, serving() as other:
        other.files = {"/a.csv": b"a\n"}
        server.moved = {"/a.csv": other.url("/a.csv", host="localhost")}
        request = replace(here.request("1"), source=FileSource(server.url("/a.csv")))
        with pytest.raises(SourceError, match=r"set FileSource\(redirect_hosts=\['localhost'\]\)"):
            plan(here.env, request)

        source = FileSource(server.url("/a.csv"), redirect_hosts=["localhost"])
        ref = plan(here.env, replace(request, source=source))
        assert published(here, ref) == ["a"]
        other.files["/b.csv"] = b"b\n"
        server.moved["/b.csv"] = other.url("/b.csv", host="localhost")
        ref = plan(here.env, replace(here.request("2"), source=replace(source, uris=server.url("/b.csv"))))
        with pytest.raises(SourceError, match=r"set FileSource\(redirect_hosts=\['localhost'\]\)"):
            here.env.stores.stat(server.url("/b.csv"))
        again = plan(here.env, replace(here.request("2"), source=FileSource(server.url("/b.csv"))))
        assert again.generation == ref.generation + 1
        with pytest.raises(SourceError, match="clear the run from its plan on"):
            here.read(again)
        again = plan(here.env, replace(here.request("2"), source=replace(source, uris=server.url("/b.csv"))))
        assert published(here, again) == ["a", "b"]
