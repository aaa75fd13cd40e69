"""Files of the work area that somebody has made huge, or replaced by a folder: they say nothing."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_blockread.exchange.files import SMALL, read_small
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.progress import PROGRESS_NAME, read_progress
from airflow_provider_blockread.exchange.signs import (
    SIGN_NAME,
    STOP_NAME,
    read_sign,
    read_stop,
    write_sign,
    write_stop,
)
from airflow_provider_blockread.exchange.states import read_states
from airflow_provider_blockread.storage import Stores

STORES = Stores()
HUGE = 2**40  # a file without content takes no place on the disk

#: Each file by its name, and the look at it, which must find nothing.
LOOKS: dict[str, Callable[[Submission, str], Any]] = {
    SIGN_NAME: lambda made, _: read_sign(STORES, made) or None,
    STOP_NAME: lambda made, _: read_stop(STORES, made),
    PROGRESS_NAME: lambda made, _: read_progress(STORES, made),
    "states-x.json": lambda _, uri: read_states(STORES, uri, secret="s"),  # noqa: S106 - of this test
}


@pytest.fixture
def made(tmp_path: Path) -> Submission:
    """A submission whose folder is the test's."""
    return Submission(spec_uri=f"{tmp_path}/job.json", spec_hash="00ff")


@pytest.mark.parametrize("name", LOOKS)
def test_a_huge_file_is_nothing_and_takes_no_memory(made: Submission, tmp_path: Path, name: str) -> None:
    """It has a terabyte; no more of it is read than a file of that kind may have."""
    with (tmp_path / name).open("wb") as file:
        file.truncate(HUGE)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    assert LOOKS[name](made, f"{tmp_path}/{name}") is None
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**20  # KiB


def test_a_small_file_is_read_whole_up_to_its_limit(tmp_path: Path) -> None:
    """One byte more is too much."""
    for size, found in (0, 0), (SMALL, SMALL), (SMALL + 1, 0):
        (tmp_path / "x").write_bytes(bytes(size))
        assert len(read_small(STORES, f"{tmp_path}/x")) == found


@pytest.mark.parametrize("name", [SIGN_NAME, STOP_NAME])
def test_a_folder_in_the_place_of_a_sign_is_no_sign(made: Submission, tmp_path: Path, name: str) -> None:
    """A wait goes on until there is one."""
    (tmp_path / name).mkdir()
    assert not LOOKS[name](made, "")
    (tmp_path / name).rmdir()
    write_sign(STORES, made, "1")
    write_stop(STORES, made, "why")
    assert (read_sign(STORES, made), read_stop(STORES, made)) == ("1", "why")
