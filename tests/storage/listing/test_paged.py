"""Walks over artificial listings: the same files for all pages, threads and patterns, with few held at once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from threading import Lock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage.backends.shared.pages import Entry, Page
from airflow_provider_blockread.storage.listing.paged import PagedListing
from airflow_provider_blockread.storage.listing.rules import NameRules
from airflow_provider_blockread.storage.uris import canonical

PARTS = st.sampled_from(["a", "b", "a.csv", "b.csv", "2024", "_x", ".y", "c.tmp", "z"])
KEYS = st.sets(st.lists(PARTS, min_size=1, max_size=4).map("/".join), max_size=40)
ODD_KEYS = st.sets(
    st.lists(PARTS | st.sampled_from(["", ".", "..", "a#b", "c\nd", "e?f", "g\\h", "..i"]), min_size=1, max_size=3).map(
        "/".join
    ),
    max_size=12,
)
ALL = FileSource("s3://b", hidden=True)
_ODD = frozenset("#?\\\n")
PATTERNS = st.sampled_from(["**", "*.csv", "2024/**", "a/*", "*/*.csv", "/a/", "**/2024/**", "b/**/z"])


class Keys:
    """The listings of an object store with these keys; `fetched` counts entries."""

    flat = True
    by_name = folder_links = False

    def __init__(self, keys: Sequence[str], size: int, width: int) -> None:
        self.keys, self.size, self.width = keys, size, width
        self.fetched = 0
        self._lock = Lock()

    def page(self, folder: str, cursor: str | None, *, flat: bool) -> Page:
        """Return the page of so many entries from the cursor, a number, on."""
        at = bisect_left(self.keys, folder) if cursor is None else int(cursor)
        entries: list[Entry] = []
        while at < len(self.keys) and self.keys[at].startswith(folder) and len(entries) < self.size:
            name, slash, _ = self.keys[at][len(folder) :].partition("/")
            if slash and not flat:
                entries.append(Entry(f"{folder}{name}/", folder=True))
                at = bisect_left(self.keys, f"{folder}{name}0")
            else:
                entries.append(Entry(self.keys[at], at))
                at += 1
        with self._lock:
            self.fetched += len(entries)
        more = at < len(self.keys) and self.keys[at].startswith(folder)
        return Page.of(entries, str(at) if more else None)

    def version(self, uri: str, name: str) -> FileVersion | None:
        """Each entry has all fields."""
        raise ValueError(uri, name)

    def addresses(self, name: str) -> bool:
        """Return whether a client takes the key for itself."""
        return _ODD.isdisjoint(name)


@given(KEYS, PATTERNS, st.sampled_from([(), "2024/", "/a/b/", "*.csv", "**/z"]), st.integers(1, 7), st.integers(0, 4))
def test_files_are_those_that_the_rules_take(
    keys: set[str], pattern: str, exclude: str | tuple[()], size: int, width: int
) -> None:
    """A walk yields exactly the keys whose names are taken, in their order."""
    ordered = sorted(keys)
    rules = NameRules(FileSource("s3://b", pattern=pattern, exclude=exclude))
    found = [version.path for version in PagedListing("s3://b", Keys(ordered, size, width), rules).files()]

    assert found == [f"s3://b/{key}" for key in ordered if rules.matches(key)]


@example({"a/../b"}, ALL, 2)
@example({"a/./b"}, ALL, 2)
@example({".."}, ALL, 2)
@example({"a", "b/"}, ALL, 2)
@example({"a", "b#c"}, ALL, 2)
@given(ODD_KEYS, st.builds(FileSource, st.just("s3://b"), pattern=PATTERNS, hidden=st.booleans()), st.integers(1, 7))
def test_names_that_mean_another_place_are_errors_where_they_are_taken(
    keys: set[str], source: FileSource, size: int
) -> None:
    """Checked together or one by one, odd names are yielded, except for those that a URI changes."""
    ordered = sorted(keys)
    rules = NameRules(source)
    marks = {key for number, key in enumerate(ordered) if number == 0 and (not key or key.endswith("/"))}
    taken = [f"s3://b/{key}" for key in ordered if rules.matches(key) and key not in marks]
    walk = PagedListing("s3://b", Keys(ordered, size, 0), rules)
    if any(canonical(uri) != uri or not _ODD.isdisjoint(uri) for uri in taken):
        with pytest.raises(SourceError, match="takes this for another name"):
            list(walk.files())
    else:
        assert [version.path for version in walk.files()] == taken


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["{0:06d}", "{1}/{0:06d}", "{2:05d}/{0:06d}", "{1}/{2:05d}/{0:06d}"])
def test_few_entries_wait_however_many_there_are(shape: str) -> None:
    """The number of entries fetched ahead is bounded for each open folder, and independent of the total."""
    most = {}
    for total in (10_000, 100_000):
        keys = sorted(shape.format(n, n * 20 // total, n // 5) for n in range(total))
        listing = Keys(keys, 1000, 8)
        yielded = waiting = 0
        for _ in PagedListing("s3://b", listing, NameRules(FileSource("s3://b"))).files():
            yielded += 1
            waiting = max(waiting, listing.fetched - yielded)

        assert yielded == total
        most[total] = waiting

    assert most[100_000] <= sum(range(1, 9)) * 1500 + 8 * 1000
