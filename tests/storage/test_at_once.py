"""Requests that are sent ahead: answers in order, errors in their place, and none without need on the local disk."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import FileMissingError
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.at_once import answers, ask_ahead


def test_a_local_file_is_asked_about_when_its_answer_is_needed() -> None:
    """In the caller's thread, and not at all if nobody wants the answer."""
    asked = []
    found = ask_ahead(Stores(), range(300), lambda n: asked.append(n) or -n, lambda n: f"file:///{n}")

    some = list(itertools.islice(found, 3))
    assert asked == []
    assert [(item, answer()) for item, answer in some] == [(0, 0), (1, -1), (2, -2)]
    assert asked == [0, 1, 2]
    assert [item for item, _ in found] == list(range(3, 300))


def test_an_error_is_raised_in_the_place_of_its_answer(tmp_path: Path) -> None:
    """What comes before it is answered."""
    (tmp_path / "a").write_bytes(b"12")
    stores = Stores()
    found = answers(stores, [f"file://{tmp_path}/{name}" for name in "ab"], lambda uri: stores.stat(uri).size)

    assert next(found) == 2
    with pytest.raises(FileMissingError, match=f"{tmp_path}/b"):
        next(found)
