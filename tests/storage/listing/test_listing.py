"""Listings of real trees and of a store through fsspec."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.listing.local import Root, RootListings
from airflow_provider_blockread.storage.listing.roots import SourceRoots
from airflow_provider_blockread.storage.listing.rules import NameRules
from tests.examples import examples

NOW_S = 2_000_000_000.0
NAMES = st.sampled_from(["a", "b", "b.csv", "é d", "_x", ".h", "c.tmp", "2024", "z.csv"])
TREES = st.sets(st.lists(NAMES, min_size=1, max_size=4).map("/".join), max_size=12)


def grow(root: Path, *paths: str) -> Path:
    """Create files that contain their relative path."""
    for path in paths:
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(path)
    return root


def listed(source: FileSource, *, below: Path | str) -> list[str]:
    """Return the listed paths relative to a folder, which a window of the source may take, since it covers them."""
    prefix = Stores().canonical(str(below)) + "/"
    paths = [version.path for version in list_files(Stores(), source, now_s=NOW_S)]
    covers = SourceRoots(source).may_list
    assert all(map(covers, paths))
    return [path.removeprefix(prefix) for path in paths]


@pytest.fixture
def memory() -> Iterator[fsspec.AbstractFileSystem]:
    """Yield fsspec's memory store, emptied before and after."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def test_files_come_in_order_with_size_and_time(tmp_path: Path) -> None:
    """A folder's files come before its folders, both by name, with size and time of the disk."""
    grow(tmp_path, "b", "a/2", "a/10", "c", "B")
    os.utime(tmp_path / "b", ns=(0, 123_456_789_123_456_789))
    versions = list(list_files(Stores(), FileSource(str(tmp_path)), now_s=NOW_S))

    assert [v.path.removeprefix(f"file://{tmp_path}/") for v in versions] == ["B", "b", "c", "a/10", "a/2"]
    assert (versions[1].size, versions[1].mtime_ns, versions[1].etag) == (1, 123_456_789_123_456_789, None)


@examples(40)
@given(TREES, st.booleans(), st.booleans(), st.sampled_from(["**", "*.csv", "2024/**", "*/*"]))
def test_local_and_stored_trees_list_alike(paths: set[str], hidden: bool, recursive: bool, pattern: str) -> None:  # noqa: FBT001
    """Any tree lists the same on disk and in a store, and the same as filtering all of its files."""
    files = sorted(p for p in paths if not any(other.startswith(p + "/") for other in paths))
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = ["", "/t"]
    for path in files:
        system.pipe_file(f"/t/{path}", path.encode())
    with tempfile.TemporaryDirectory() as folder:
        grow(Path(folder), *files)
        options = {"hidden": hidden, "recursive": recursive, "pattern": pattern}
        local = listed(FileSource(folder, **options), below=folder)  # type: ignore[arg-type]
        stored = listed(FileSource("memory://t", **options), below="memory://t")  # type: ignore[arg-type]

    def taken(path: str) -> bool:
        *folders, name = path.split("/")
        if not hidden and any(n[0] in "._" or n.endswith(".tmp") for n in [*folders, name]):
            return False
        wanted = {
            "**": True,
            "*.csv": name.endswith(".csv"),
            "2024/**": len(folders) > 0 and folders[0] == "2024",
            "*/*": len(folders) == 1,
        }
        return wanted[pattern] and (recursive or not folders)

    assert local == stored
    assert sorted(local) == [path for path in files if taken(path)]


def test_hidden_and_unfinished_names_are_skipped(tmp_path: Path) -> None:
    """Hidden names and those of files being written are skipped, folders included, unless asked for."""
    unfinished = ["a._COPYING_", "b.tmp", "c.part", "c.filepart", "d.crdownload", "_SUCCESS"]
    unfinished += ["c.1f.partial", "c_.gstmp", ".x", "_tmp/e", ".git/f", "g.tmp/h"]
    grow(tmp_path, "ok", "tmp.csv", *unfinished)

    assert listed(FileSource(str(tmp_path)), below=tmp_path) == ["ok", "tmp.csv"]
    assert sorted(listed(FileSource(str(tmp_path), hidden=True), below=tmp_path)) == sorted(
        ["ok", "tmp.csv", *unfinished]
    )


def test_young_files_wait(tmp_path: Path) -> None:
    """A file younger than `min_age` is left for later; the clock is the caller's."""
    grow(tmp_path, "old", "young")
    os.utime(tmp_path / "old", (NOW_S - 60, NOW_S - 60))
    os.utime(tmp_path / "young", (NOW_S - 59, NOW_S - 59))

    assert listed(FileSource(str(tmp_path), min_age=60), below=tmp_path) == ["old"]
    assert listed(FileSource(str(tmp_path / "young"), min_age="1min"), below=tmp_path) == []


def test_several_roots_yield_each_file_once(tmp_path: Path) -> None:
    """Roots may repeat, nest, be single files, or links to a folder: each file is listed once, from the first root."""
    grow(tmp_path, "d/1", "d/sub/2", "e/3", "_h/4")
    (tmp_path / "link").symlink_to(tmp_path / "d")
    roots = [str(tmp_path / name) for name in ("d/sub", "d", "d/", "d/sub/2", "link", "_h/4", "e/3", "e")]

    assert listed(FileSource(roots), below=tmp_path) == ["d/sub/2", "d/1", "_h/4", "e/3"]


def test_an_inner_root_keeps_what_the_outer_does_not_match(tmp_path: Path) -> None:
    """A pattern is relative to each root, so a nested root may take files that the outer one does not."""
    grow(tmp_path, "in/1.csv", "sub/in/2.csv", "sub/3.csv")
    source = FileSource([str(tmp_path), str(tmp_path / "sub")], pattern="in/*.csv")

    assert listed(source, below=tmp_path) == ["in/1.csv", "sub/in/2.csv"]


def test_links_to_folders_are_followed_once_and_loops_end(tmp_path: Path) -> None:
    """Each real folder is listed once: by its own path if a root holds it, else by the first link; loops end."""
    inside = grow(tmp_path / "in", "real/1", ".store/2")
    outside = grow(tmp_path / "out", "3", "deep/4")
    (inside / "a_link").symlink_to(outside)
    (inside / "again").symlink_to(outside)
    (inside / "deeper").symlink_to(outside / "deep")
    (inside / "alias").symlink_to(inside / "real")
    (inside / "current").symlink_to(".store")
    (inside / "self").symlink_to(".")
    (inside / "up").symlink_to(tmp_path)
    (outside / "back").symlink_to(inside)
    (inside / "x").symlink_to("y")
    (inside / "y").symlink_to("x")

    source = FileSource(str(inside), follow_links="anywhere")
    assert listed(source, below=inside) == ["real/1", "a_link/3", "a_link/deep/4", "current/2"]
    assert listed(FileSource(str(inside)), below=inside) == ["real/1", "current/2"]


def test_links_to_files_are_read_under_their_own_name_unless_listed(tmp_path: Path) -> None:
    """One to a file outside is a file, where it may be; one to a listed file is no second one; a broken one is none."""
    inside = grow(tmp_path / "in", "1.log", "_kept/2.log")
    grow(tmp_path / "out", "3.log")
    (inside / "latest.log").symlink_to("1.log")
    (inside / "far.log").symlink_to(tmp_path / "out" / "3.log")
    (inside / "shown.log").symlink_to("_kept/2.log")
    (inside / "broken.log").symlink_to("nowhere")

    source = FileSource(str(inside), follow_links="anywhere")
    assert listed(source, below=inside) == ["1.log", "far.log", "shown.log"]
    assert listed(FileSource(str(inside)), below=inside) == ["1.log", "shown.log"]


def test_pipes_and_sockets_are_no_files(tmp_path: Path) -> None:
    """They are not listed, and as a root they are an error."""
    grow(tmp_path, "file")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "sock"))

        assert listed(FileSource(str(tmp_path)), below=tmp_path) == ["file"]
    with pytest.raises(SourceError, match="neither a folder nor a file"):
        listed(FileSource(str(tmp_path / "pipe")), below=tmp_path)


@pytest.mark.parametrize("root", ["{0}/none", "{0}/file/inner", "{0}/dangling", "memory://none"])
def test_a_missing_root_is_an_error_that_names_it(tmp_path: Path, root: str) -> None:
    """A missing root is not an empty one."""
    grow(tmp_path, "file")
    (tmp_path / "dangling").symlink_to("nowhere")
    uri = root.format(tmp_path)

    with pytest.raises(SourceError, match="does not exist") as caught:
        listed(FileSource([str(tmp_path), uri]), below=tmp_path)
    assert Stores().canonical(uri) in str(caught.value)


@pytest.mark.parametrize("locked", ["sub", "."])
def test_a_folder_that_must_not_be_read_is_an_error(locked: str) -> None:
    """An unreadable folder fails the listing and is named; a program without rights shows it even to root."""
    script = (
        "import os, sys\n"
        "from airflow_provider_blockread.options import FileSource\n"
        "from airflow_provider_blockread.storage import Stores\n"
        "from airflow_provider_blockread.storage.listing.files import list_files\n"
        "if os.getuid() == 0: os.setuid(65534)\n"
        "try: print(len(list(list_files(Stores(), FileSource(sys.argv[1]), now_s=0.0))))\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        root.chmod(0o755)
        grow(root, "1", "sub/2")
        (root / locked).chmod(0o000)
        done = subprocess.run(
            [sys.executable, "-c", script, folder], capture_output=True, text=True, check=True, cwd=Path.cwd()
        )
        (root / locked).chmod(0o755)

    named = Stores().canonical(f"{folder}/{locked}")
    assert done.stdout.startswith(f"SourceError {named}: this folder cannot be listed")


def test_a_folder_that_vanishes_is_an_error(tmp_path: Path) -> None:
    """A folder removed during a listing fails it."""
    grow(tmp_path, "a/1", "b/2")
    files = list_files(Stores(), FileSource(str(tmp_path)), now_s=NOW_S)
    next(files)
    (tmp_path / "b" / "2").unlink()
    (tmp_path / "b").rmdir()

    with pytest.raises(Exception, match=r"b vanished while it was being listed; try again"):
        list(files)


def test_a_file_that_vanishes_is_not_listed(tmp_path: Path) -> None:
    """A file removed during a listing is not listed."""
    grow(tmp_path, "1", "2", "3")
    files = list_files(Stores(), FileSource(str(tmp_path)), now_s=NOW_S)
    next(files)
    (tmp_path / "2").unlink()

    assert [version.path[-1] for version in files] == ["3"]


def test_names_may_hold_anything_but_broken_text(tmp_path: Path) -> None:
    """Spaces, newlines, URL characters and glob characters are names; bytes that are not UTF-8 are an error."""
    names = sorted(["a b", "a\nb", "a%20b", "a#b?c", "[x]", "s3:::y", "ü"])
    grow(tmp_path, *names)

    assert listed(FileSource(str(tmp_path)), below=tmp_path) == names
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff")).touch()
    with pytest.raises(SourceError, match="not UTF-8"):
        listed(FileSource(str(tmp_path)), below=tmp_path)
    assert listed(FileSource(str(tmp_path), exclude="bad*"), below=tmp_path) == names


def test_a_new_file_in_a_store_is_seen_at_once(memory: fsspec.AbstractFileSystem) -> None:
    """Listings are never served from a cache, and a changed file is another version."""
    stores, source = Stores(), FileSource("memory://in", pattern="*.log")
    memory.pipe_file("/in/a.log", b"1")
    first = list(list_files(stores, source, now_s=NOW_S))
    memory.pipe_file("/in/deep/b.log", b"2")
    memory.pipe_file("/in/a.log", b"3")
    second = list(list_files(stores, source, now_s=NOW_S))

    assert [version.path for version in second] == ["memory:///in/a.log", "memory:///in/deep/b.log"]
    assert second[0] != first[0]
    assert second == [stores.stat(version.path) for version in second]


def test_a_listing_is_lazy(tmp_path: Path) -> None:
    """The first file of a large tree is yielded before the rest is listed."""
    grow(tmp_path, "a/1", *(f"b{i}/2" for i in range(50)))
    files = list_files(Stores(), FileSource(str(tmp_path)), now_s=NOW_S)

    assert next(files).path.endswith("a/1")
    grow(tmp_path, "b7/new")
    assert any(version.path.endswith("b7/new") for version in files)


def test_a_folder_does_not_contain_an_object_of_its_own_name() -> None:
    """In an object store both may be there, and another root may contain the object."""
    place = "s3://bucket/in/b"
    roots = RootListings([Root(uri=place, real=place, file=None)], NameRules(FileSource(place)))

    assert not roots.contain(place)
    assert roots.contain(f"{place}/x")
