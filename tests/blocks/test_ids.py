"""Identities: the same for the same thing, different for different things, safe as names."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.blocks.ids import (
    digest,
    options_digest,
    path_digest,
    same_version,
    slug,
    version_digest,
    window_id,
)

texts = st.text(max_size=20)
parts = st.lists(st.text(max_size=4) | st.integers() | st.none(), max_size=4)
A = FileVersion(path="file:///a", size=5, mtime_ns=7)


@given(left=parts, right=parts)
def test_digests_tell_sequences_apart(left: list[str | int | None], right: list[str | int | None]) -> None:
    """Two sequences have one digest only if they are equal; types and borders count."""
    assert (digest(*left) == digest(*right)) == (left == right)


def test_digests_are_those_of_earlier_versions() -> None:
    """The ledger keeps these ids, so they must never change."""
    assert digest("a", 1, None) == "0ae764bffd3a17b6454c8d9ebf712311"
    assert window_id("feed", "2024-05-06") == "7b672dbe36863ab4"


def test_a_version_is_its_size_with_etag_or_mtime() -> None:
    """The store's own identity takes precedence over the modification time; the path is no part of the content."""
    tagged = A._replace(etag="x")

    assert version_digest(A) != version_digest(A._replace(mtime_ns=8))
    assert version_digest(A) != version_digest(A._replace(size=6))
    assert version_digest(tagged) == version_digest(tagged._replace(mtime_ns=8))
    assert version_digest(tagged) != version_digest(tagged._replace(etag="y"))
    assert same_version(A, FileVersion(*A))
    assert not same_version(A, A._replace(path="file:///b"))


def test_the_digests_of_a_folder_lie_beside_each_other() -> None:
    """The ledger keeps them, so they must never change: 8 digits of the folder, 24 of the path."""
    assert path_digest("file:///in/a\nb") == "3b91e10d80f1fac27adc56fd92017123"
    one, other, below = (path_digest(f"file:///in/{name}") for name in ("a", "b", "c/a"))

    assert one[:8] == other[:8] != below[:8]
    assert len({digits[8:] for digits in (one, other, below)}) == 3


@given(items=st.dictionaries(texts, st.integers(), max_size=5))
def test_the_order_of_options_does_not_matter(items: dict[str, int]) -> None:
    """Options that say the same have the same digest."""
    assert options_digest(items) == options_digest(dict(reversed(items.items())))


@given(left=texts, right=texts)
def test_slugs_are_safe_and_distinct(left: str, right: str) -> None:
    """A slug is one path segment, not a hidden one, and different names have different slugs."""
    assert re.fullmatch(r"[A-Za-z0-9_.-]+", slug(left))
    assert not slug(left).startswith(".") or left == slug(left)
    assert (slug(left) == slug(right)) == (left == right)
