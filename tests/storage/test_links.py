"""Links of all kinds, and roots that overlap through them: every file is listed, and listings end."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing import list_files

NAMES = st.sampled_from(["a", "b", "c"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
LINKS = st.dictionaries(PATHS, PATHS | st.sampled_from([".", "..", "out", "out/a", "nowhere"]), max_size=6)


def grow(base: Path, files: set[str], links: dict[str, str]) -> None:
    """Make files and links as far as names allow; targets are relative to the base."""
    for path in sorted(files):
        place = base / path
        if not any(parent.is_file() for parent in place.parents) and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(path)
    for path, target in links.items():
        place = base / "in" / path
        if not os.path.lexists(place) and place.parent.is_dir() and not place.parent.is_symlink():
            place.symlink_to(base if target == ".." else base / "in" / target if target != "out" else base / "out")


def reachable(root: Path) -> set[str]:
    """Return the real paths of all files that following every link comes to, by marking where one has been."""
    found, seen, waiting = set(), set(), [os.path.realpath(root)]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        if Path(path).is_file():
            found.add(path)
        elif Path(path).is_dir():
            waiting += [os.path.realpath(place) for place in Path(path).iterdir()]
    return found


@settings(max_examples=100, deadline=None)
@given(
    st.sets(st.sampled_from(["in", "out"]).flatmap(lambda top: PATHS.map(f"{top}/{{}}".format)), max_size=8),
    LINKS,
    st.lists(
        st.sampled_from(["in", "in", "out"]).flatmap(lambda top: PATHS.map(f"{top}/{{}}".format)) | st.just("in"),
        min_size=1,
        max_size=3,
    ),
)
def test_every_file_behind_links_is_listed(files: set[str], links: dict[str, str], inner: list[str]) -> None:
    """Whatever points where, from one root or several: each file once by its own path, and none is left out."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(os.path.realpath(folder))
        grow(base, files | {"in/z", "out/z"}, links)
        roots = [root for root in map(base.joinpath, inner) if root.exists()] or [base / "in"]
        source = FileSource([str(root) for root in roots])
        listed = [version.path.removeprefix("file://") for version in list_files(Stores(), source, now_s=4e9)]
        real = [os.path.realpath(path) for path in listed]
        own = [path for path, place in zip(listed, real, strict=True) if path == place]

        assert len(listed) == len(set(listed))
        assert set(real) == set().union(*map(reachable, roots))
        for path in own:
            assert real.count(path) == 1, path
