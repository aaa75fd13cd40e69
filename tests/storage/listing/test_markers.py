"""Done-markers, ages and sizes: the files that a listing holds back, and how it reports them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.listing.held_back import HeldBack
from airflow_provider_blockread.storage.listing.markers import DoneMarker, Marked
from airflow_provider_blockread.storage.listing.roots import SourceRoots
from tests.examples import examples

NOW_S = 2_000_000_000.0
MARKERS = st.sampled_from(["{name}.done", "{stem}.ok", "_SUCCESS", ".{name}.done", "done_{stem}", "{stem}.a"])
NAMES = st.sampled_from(
    [
        *("a", "b.a", "b.b", "b", "a.b", "B-"),
        *("a.done", "b.a.done", "b.ok", "a.ok", "_SUCCESS", ".a.done", ".b.a.done", "done_b", "done_a", "b.done.done"),
    ]
)
TREES = st.sets(st.lists(NAMES, min_size=1, max_size=3).map("/".join), max_size=14)


def of_marker(marker: str, name: str) -> str:
    """Return the name of a file's marker, as the documentation says it."""
    return marker.replace("{name}", name).replace("{stem}", name.rpartition(".")[0] or name)


def is_marker(marker: str, name: str) -> bool:
    """Return whether a name is that of a marker."""
    before, _, after = marker.replace("{stem}", "{name}").partition("{name}")
    if "{" not in marker:
        return name == marker
    return name.startswith(before) and name.endswith(after) and len(name) > len(before + after)


def expected(files: set[str], marker: str) -> tuple[list[str], list[str]]:
    """Return which of the files are taken, and which wait."""
    taken, waiting = [], []
    for path in sorted(files):
        folder, slash, name = path.rpartition("/")
        if is_marker(marker, name):
            continue
        (taken if folder + slash + of_marker(marker, name) in files else waiting).append(path)
    return taken, waiting


def listed(source: FileSource) -> tuple[list[str], HeldBack]:
    """Return the paths below the source's first root, which the source covers, and what is held back."""
    prefix = Stores().canonical(source.roots[0]) + "/"
    held, covers = HeldBack(), SourceRoots(source).may_list
    paths = [version.path for version in list_files(Stores(), source, now_s=NOW_S, held=held)]
    assert all(map(covers, paths))
    return [path.removeprefix(prefix) for path in paths], held


def as_tree(paths: set[str]) -> set[str]:
    """Return the paths of which none is a folder of another."""
    return {p for p in paths if not any(other.startswith(p + "/") for other in paths)}


@examples(150)
@given(TREES, MARKERS)
def test_a_file_is_taken_once_its_marker_exists(paths: set[str], marker: str) -> None:
    """On disk and in a store, for any tree: markers are never taken, and files without one are counted."""
    files = as_tree(paths)
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = ["", "/t"]
    options: dict[str, Any] = {"done_marker": marker, "hidden": True}
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            system.pipe_file(f"/t/{path}", b"")
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / path).touch()
        local, held = listed(FileSource(folder, **options))
        stored, held_in_store = listed(FileSource("memory://t", **options))
    taken, waiting = expected(files, marker)

    assert (sorted(local), sorted(stored)) == (taken, taken)
    assert held.counts["unmarked"] == held_in_store.counts["unmarked"] == len(waiting)


@examples(300)
@given(TREES, MARKERS, st.integers(1, 3))
def test_a_flat_listing_in_order_of_keys_serves_too(files: set[str], marker: str, most: int) -> None:
    """An object store shows keys: those below a folder are among its own, and a folder may also be a file."""
    held: list[str] = []
    asked: list[str] = []

    def exists(uri: str) -> bool:
        asked.append(uri)
        return uri.removeprefix("s3://b/") in files

    marked = Marked(DoneMarker(marker), exists, held.append, most=most)
    found = [v.path for v in marked.of(FileVersion(path=f"s3://b/{k}", size=0, mtime_ns=0) for k in sorted(files))]
    taken, waiting = expected(files, marker)

    assert sorted(found) == [f"s3://b/{path}" for path in taken]
    assert sorted(held) == [f"s3://b/{path}" for path in waiting]
    assert len(asked) == len(set(asked))
    assert not asked or marker == "_SUCCESS"


def test_little_is_held_where_a_marker_begins_as_its_file() -> None:
    """A million files without markers are held back one by one, as soon as their markers would have been listed."""
    shown = waited = most = 0

    def files() -> Iterator[FileVersion]:
        nonlocal shown, most
        for number in range(20_000):
            shown += 1
            most = max(most, shown - waited)
            yield FileVersion(path=f"s3://b/{number:06d}.csv", size=1, mtime_ns=1)

    def wait(_: str) -> None:
        nonlocal waited
        waited += 1

    assert list(Marked(DoneMarker("{name}.done"), lambda _: False, wait).of(files())) == []
    assert (waited, most) == (20_000, 2)


def test_a_marker_may_be_hidden_unwanted_excluded_or_a_link(tmp_path: Path) -> None:
    """The rules for other files do not apply to markers; but a folder with a marker's name stays hidden."""
    for name in ("a.csv", ".a.csv.ok", "b.csv", "sub/c.csv", "sub/.c.csv.ok", ".x.ok/d.csv", ".x.ok/.d.csv.ok"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".b.csv.ok").symlink_to("a.csv")
    found, held = listed(FileSource(str(tmp_path), pattern="*.csv", exclude="*.ok", done_marker=".{name}.ok"))

    assert (found, held.counts) == (["a.csv", "b.csv", "sub/c.csv"], {})


def test_roots_that_overlap_find_their_own_markers(tmp_path: Path) -> None:
    """A file that only the second root takes has its marker there, although the first one skips it."""
    for name in ("b", "sub/a", "sub/b", "sub/c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
        (tmp_path / f"{name}.done").touch()
    (tmp_path / "sub/c.done").unlink()
    roots = [str(tmp_path), str(tmp_path / "sub"), str(tmp_path / "sub/c"), str(tmp_path / "sub/b")]
    found, held = listed(FileSource(roots, pattern=["/sub/a", "/b"], done_marker="{name}.done"))

    assert found == ["b", "sub/a", "sub/b"]
    assert held.counts == {"unmarked": 1}


def test_what_is_held_back_is_counted_by_reason(tmp_path: Path) -> None:
    """Young, unmarked, too small, too large: each with some paths, also for a root that is a file."""
    sizes = {"young": 10, "small": 1, "large": 100, "plain": 10, "least": 5, "most": 50}
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(b"x" * size)
        os.utime(tmp_path / name, (NOW_S - 100, NOW_S - 100 + 95 * (name == "young")))
        (tmp_path / f"{name}.done").touch()
    (tmp_path / "unmarked").write_bytes(b"")
    options: dict[str, Any] = {"min_age": 60, "min_size": 5, "max_size": "50B", "done_marker": "{name}.done"}
    found, held = listed(FileSource(str(tmp_path), **options))
    _, of_files = listed(FileSource([str(tmp_path / name) for name in ("young", "small", "unmarked")], **options))

    assert found == ["least", "most", "plain"]
    assert held.counts == {"young": 1, "too_small": 1, "too_large": 1, "unmarked": 1}
    assert held.samples["too_large"] == [f"file://{tmp_path}/large"]
    assert of_files.counts == {"young": 1, "too_small": 1, "unmarked": 1}


@pytest.mark.parametrize(("depth", "found"), [(1, ["a"]), (2, ["a", "1/b"]), (3, ["a", "1/b", "1/2/c"])])
def test_folders_below_the_depth_are_not_entered(tmp_path: Path, depth: int, found: list[str]) -> None:
    """A depth counts names below the root; a folder beyond it need not even be readable."""
    for name in ("a", "1/b", "1/2/c", "1/2/3/d"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    assert listed(FileSource(str(tmp_path), max_depth=depth))[0] == found
    assert listed(FileSource(str(tmp_path), max_depth=1, recursive=False))[0] == ["a"]
