"""Laws of links, for any of them: which files a listing yields, and under which paths."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.listing.rules import NameRules
from tests.examples import examples

NAMES = st.sampled_from(["a", "b", "c"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
LINKS = st.dictionaries(PATHS, PATHS | st.sampled_from([".", "..", "out", "out/a", "nowhere"]), max_size=6)


def grow(base: Path, files: set[str], links: dict[str, str]) -> None:
    """Create files and links as far as names allow; targets are relative to the base."""
    for path in sorted(files):
        place = base / path
        if not any(parent.is_file() for parent in place.parents) and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(path)
    for path, target in links.items():
        place = base / "in" / path
        if not os.path.lexists(place) and place.parent.is_dir() and not place.parent.is_symlink():
            place.symlink_to(base if target == ".." else base / "in" / target if target != "out" else base / "out")


def reachable(root: Path, inside: list[str] | None = None) -> set[str]:
    """Return the real paths of all files that are reachable by links, by a search that marks visited folders.

    The search stays inside the folders `inside`, if they are given.
    """
    found, seen, waiting = set(), set(), [os.path.realpath(root)]
    while waiting:
        path = waiting.pop()
        if path in seen or (inside is not None and not any(Path(path).is_relative_to(place) for place in inside)):
            continue
        seen.add(path)
        if Path(path).is_file():
            found.add(path)
        elif Path(path).is_dir():
            waiting += [os.path.realpath(place) for place in Path(path).iterdir()]
    return found


@examples(100)
@given(
    st.sets(st.sampled_from(["in", "out"]).flatmap(lambda top: PATHS.map(f"{top}/{{}}".format)), max_size=8),
    LINKS,
    st.lists(
        st.sampled_from(["in", "in", "out"]).flatmap(lambda top: PATHS.map(f"{top}/{{}}".format)) | st.just("in"),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(["inside", "anywhere"]),
)
def test_every_file_behind_links_is_listed(
    files: set[str], links: dict[str, str], inner: list[str], follow: str
) -> None:
    """For any links, from one root or several: each file once by its own path, and none is left out.

    Unless links may lead anywhere, only files inside a root are files of the source.
    """
    with tempfile.TemporaryDirectory() as folder:
        base = Path(os.path.realpath(folder))
        grow(base, files | {"in/z", "out/z"}, links)
        roots = [root for root in map(base.joinpath, inner) if root.exists()] or [base / "in"]
        source = FileSource([str(root) for root in roots], follow_links=follow)
        listed = [version.path.removeprefix("file://") for version in list_files(Stores(), source, now_s=4e9)]
        real = [os.path.realpath(path) for path in listed]
        own = [path for path, place in zip(listed, real, strict=True) if path == place]

        assert len(listed) == len(set(listed))
        inside = None if follow == "anywhere" else [os.path.realpath(root) for root in roots]
        assert set(real) == set().union(*(reachable(root, inside) for root in roots))
        for path in own:
            assert real.count(path) == 1, path


def by_names(root: Path, rules: NameRules) -> set[str]:
    """Return the real paths of all files that some path below a root leads to whose names the rules take."""
    found = set()

    def walk(folder: Path, relative: str, above: frozenset[str]) -> None:
        real = os.path.realpath(folder)
        for entry in () if real in above else folder.iterdir():
            name = relative + entry.name
            if entry.is_dir() and rules.enters(name):
                walk(entry, f"{name}/", above | {real})
            elif entry.is_file() and rules.matches(name):
                found.add(os.path.realpath(entry))

    walk(root, "", frozenset())
    return found


@examples(100)
@given(
    st.sets(st.sampled_from(["in", "out"]).flatmap(lambda top: PATHS.map(f"{top}/{{}}".format)), max_size=8),
    LINKS,
    st.sampled_from(["**", "**/a", "a", "re:[ab]", "a/**", "a/*", "*/b", "**/a/*", ["a/*", "b/*"]]),
    st.sampled_from([(), "a/**", "b/*", "**/c"]),
    st.none() | st.integers(1, 4),
)
def test_patterns_hold_for_every_path_that_links_make(
    files: set[str], links: dict[str, str], pattern: str | list[str], exclude: str | tuple[str, ...], depth: int | None
) -> None:
    """Each file to which a path with names that match leads is listed, and no other; once, but for links to files."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(os.path.realpath(folder))
        grow(base, files | {"in/z", "out/z"}, links)
        source = FileSource(
            str(base / "in"), pattern=pattern, exclude=exclude, max_depth=depth, follow_links="anywhere"
        )
        listed = [version.path.removeprefix("file://") for version in list_files(Stores(), source, now_s=4e9)]
        real = [os.path.realpath(path) for path in listed]

        assert set(real) == by_names(base / "in", NameRules(source))
        plain = [place for path, place in zip(listed, real, strict=True) if not Path(path).is_symlink()]
        assert len(plain) == len(set(plain))
