"""A disk that is full while a window is published: nothing or all of it is there, and a retry completes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_blockread.errors import TransientError
from airflow_provider_blockread.sinks.protocol import State
from tests.disks import run_on_small_disk
from tests.sinks.kinds import Bench

_PAGE = 4096  # what the disk gives at once
_TRIES = 32  # each frees a page more than the one before, as pyiceberg leaves behind what a try has written
_FILES = 6


def publish_as_space_is_freed(kind: str, disk: Path, elsewhere: Path) -> str:
    """Publish a window on a full disk, more of which is free at each try; return what tries have done that failed.

    A letter for each: `-` nothing, `+` some of the steps.
    """
    bench = Bench(kind, str(disk / "out"), {"work_uri": str(elsewhere / "work")})
    first = bench.publish("a" * 3000, "b" * 3000)
    new = bench.stage(*[f"{number}" * 3000 for number in range(_FILES)], generation=2)
    steps, before = bench.steps(new, first), bench.values()
    at_first = bench.states(steps)
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(b"\0" * _PAGE):
                pass
        except OSError:
            pages = file.tell() // _PAGE
    ended = ""
    for number in range(_TRIES):
        with ballast.open("r+b") as file:
            file.truncate((pages - number * (number + 1) // 2) * _PAGE)
        try:
            bench.apply(steps)
            break
        except TransientError as error:
            says = str(error)
            assert any(
                word in says for word in ("is full", "No space", "OperationalError", "cannot be read or written")
            )
        states = bench.states(steps)
        assert State.UNKNOWN not in states, states
        if bench.is_table:
            assert bench.values() == before
        ended += "-" if states == at_first else "+"
    assert bench.values() == sorted(f"{number}" * 3000 for number in range(_FILES) for _ in range(2))
    bench.apply(steps)
    assert set(bench.states(steps)) == {State.APPLIED}
    bench.sink.sweep(
        "ab12", [bench.sink.placed(file).uri for file in new], [bench.sink.placed(file).uri for file in first]
    )
    assert len(bench.values()) == 2 * _FILES
    return ended


@pytest.mark.slow  # processes of their own, on a file system of their own
@pytest.mark.parametrize("kind", ["delta", "iceberg", "parquet", "parquet with a log"])
def test_a_window_is_whole_once_there_is_space(tmp_path: Path, kind: str) -> None:
    """Whatever the commit was writing when the disk was full."""
    for name in ("disk", "elsewhere"):
        (tmp_path / name).mkdir()
    said = run_on_small_disk(
        tmp_path / "disk",
        "4m",
        "from pathlib import Path; from tests.sinks.test_full_disk import publish_as_space_is_freed as publish;"
        f" print(publish({kind!r}, Path({str(tmp_path / 'disk')!r}), Path({str(tmp_path / 'elsewhere')!r})))",
    )

    assert said.startswith("-"), said
