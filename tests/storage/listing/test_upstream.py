"""Paths from upstream: lists in files, and the files that they name."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.asyn import AsyncFileSystem
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import BlockReadError, FileMissingError, OptionsError, SourceError
from airflow_provider_blockread.options import FileList, FileSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing.upstream import named_files, read_list

PATHS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0"), min_size=1, max_size=12)


def listed(data: bytes, name: str = "list.txt", **options: Any) -> list[str]:
    """Return the entries of a list in a store."""
    system = fsspec.filesystem("memory")
    system.pipe_file(f"/{name}", data)
    return list(read_list(Stores(), FileList(f"memory:///{name}", **options)))


@given(st.lists(PATHS.filter(str.strip)), st.sampled_from(["\n", "\r\n"]), st.sampled_from(["\n", ""]))
def test_a_text_names_what_its_lines_are(paths: list[str], newline: str, end: str) -> None:
    """Spaces belong to a path, a line's end does not; the last line need not have one."""
    text = newline.join(paths) + end

    assert listed(text.encode()) == paths


@given(st.lists(PATHS.filter(str.strip) | st.just("a\nb")), st.sampled_from(["text", "object"]))
def test_json_lines_name_any_path(paths: list[str], kind: str) -> None:
    """As strings or as objects with a `path`; a name may contain a line feed."""
    lines = [json.dumps({"path": path, "size": 1} if kind == "object" else path) for path in paths]

    assert listed("\n\n".join(lines).encode(), "list.jsonl") == paths
    assert listed("\r\n".join(lines).encode(), format="json_lines") == paths


def test_a_byte_order_mark_is_no_part_of_a_path() -> None:
    """Lists are written on all kinds of machines."""
    assert listed(b"\xef\xbb\xbfa\r\nb") == ["a", "b"]


@pytest.mark.parametrize(
    ("data", "name", "message"),
    [
        (b"a\n\xff\n", "list.txt", "line 2 is not a path in UTF-8, but b'\\\\xff'"),
        (b"a\0b", "list.txt", "line 1 is not a path"),
        (b"x" * (2**20 + 1), "list.txt", "line 1 is not a path"),
        (b"a\n", "list.json", "line 1 is not a JSON text or an object with the text `path`, but b'a"),
        (b'"a"\n\n{"uri": "b"}\n', "list.ndjson", "line 3 is not a JSON text"),
        (b'["a", "b"]', "list.jsonl", "line 1 is not a JSON text"),
        (b'"a"\n' + b"[" * 500_000, "list.jsonl", "line 2 is not a JSON text"),
        (b"[" * 500_000 + b"]" * 500_000, "list.jsonl", "line 1 is not a JSON text"),
        (b'{"path": " "}', "list.jsonl", "line 1 is not"),
    ],
)
def test_a_line_that_is_no_path_is_named(data: bytes, name: str, message: str) -> None:
    """By its number, the list's URI and its content."""
    with pytest.raises(SourceError, match=message) as caught:
        listed(data, name)
    assert str(caught.value).startswith(f"memory:///{name} ")


@pytest.mark.parametrize(("link", "to"), [("lists/list.txt", "../elsewhere/list.txt"), ("lists", "elsewhere")])
def test_a_list_behind_a_link_is_not_quoted(tmp_path: Path, link: str, to: str) -> None:
    """Who may write lists must not learn from a message what is in a file elsewhere."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "list.txt").write_bytes(b"secret\xff\n")
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(to)
    with pytest.raises(SourceError, match="line 1 is not a path in UTF-8; correct the list"):
        list(read_list(Stores(), FileList(uri=str(tmp_path / "lists" / "list.txt"))))


@pytest.mark.parametrize("options", [{"uri": " "}, {"uri": "a", "format": "csv"}])
def test_a_list_that_cannot_be_is_refused(options: dict[str, Any]) -> None:
    """A blank path, and an unknown format."""
    with pytest.raises(OptionsError, match="file_list"):
        FileList(**options)


def test_a_list_that_is_not_there_is_named() -> None:
    """A missing list is not an empty one."""
    with pytest.raises(FileMissingError, match=r"the list memory:///none\.txt does not exist; correct its place"):
        list(read_list(Stores(), FileList("memory://none.txt")))


def test_files_come_in_order_with_their_versions(tmp_path: Path) -> None:
    """From several stores and roots, in whatever form a path is written; repeated ones are left out."""
    system = fsspec.filesystem("memory")
    for name in ("b", "a"):
        (tmp_path / name).write_text(name * 3)
        system.pipe_file(f"/up/{name}", b"1")
    source = FileSource([str(tmp_path), "memory://up"], pattern="*.csv", min_size=100)
    paths = [f"{tmp_path}/b", "memory://up/b", f"file://{tmp_path}/x/../b", "memory:///up/a", f"{tmp_path}/a"]
    found = list(named_files(Stores(), source, paths))

    assert [version.path for version in found] == [
        *(f"file://{tmp_path}/b", "memory:///up/b"),
        *("memory:///up/a", f"file://{tmp_path}/a"),
    ]
    assert found == [Stores().stat(version.path) for version in found]


@pytest.mark.parametrize(
    ("path", "kind", "message"),
    [
        ("{0}/in/none", FileMissingError, "/in/none is named upstream, but does not exist; restore it"),
        ("{0}/in/sub", SourceError, "is a folder or a device"),
        ("{0}/inner/a", SourceError, "is in none of the source's roots .file://{0}/in, memory:///up.; add its"),
        ("{0}/in/../a", SourceError, "/a is named upstream, but is in none"),
        ("s3://bucket/a", SourceError, "s3://bucket/a is named upstream, but is in none"),
        ("  ", OptionsError, "names no place"),
    ],
)
def test_a_path_that_is_no_file_of_the_source_is_an_error(
    tmp_path: Path, path: str, kind: type[BlockReadError], message: str
) -> None:
    """Missing, a folder, outside all roots, or not a path."""
    for name in ("in/sub/b", "in/a", "inner/a", "a"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    source = FileSource([f"{tmp_path}/in", "memory://up"])

    with pytest.raises(kind, match=message.format(tmp_path)):
        list(named_files(Stores(), source, [f"{tmp_path}/in/a", path.format(tmp_path)]))


class Slow(AsyncFileSystem):
    """A store that answers only after a number of concurrent requests."""

    protocol = "slow"
    waits_for = 8
    at_once = most = 0
    lock = threading.Lock()

    async def _info(self, path: str, **_: Any) -> dict[str, Any]:
        Slow.at_once += 1
        Slow.most = max(Slow.most, Slow.at_once)
        for _ in range(1000):
            if Slow.most >= self.waits_for:
                break
            await asyncio.sleep(0.001)
        Slow.at_once -= 1
        return {"name": path, "type": "file", "size": len(path)}


@pytest.mark.slow
def test_stores_are_asked_about_many_files_at_once() -> None:
    """In bounded numbers, read ahead by a bounded number, with the answers in order."""
    fsspec.register_implementation("slow", Slow, clobber=True)
    taken = 0

    def paths() -> Iterator[str]:
        nonlocal taken
        for number in range(5000):
            taken += 1
            yield f"slow://store/in/{number}"

    found = named_files(Stores(), FileSource("slow://store/in"), paths())
    first = [next(found).path for _ in range(3)]

    assert first == [f"slow://store/in/{number}" for number in range(3)]
    assert (taken, Slow.waits_for <= Slow.most <= 32) == (1000, True)
    assert len(list(found)) == 4997
