"""A disk that is full while a window is published: nothing or all of it is there, and a retry completes it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random

import psycopg
import pytest

from airflow_provider_blockread.errors import TransientError
from airflow_provider_blockread.sinks.protocol import State
from tests.disks import run_on_small_disk
from tests.postgres import postgres_server, share_postgres
from tests.sinks.kinds import Bench

_PAGE = 4096  # what the disk gives at once
_TRIES = 32  # each frees a page more than the one before, as pyiceberg leaves behind what a try has written
_FILES = 6
_FULL = ("is full", "No space", "OperationalError", "cannot be read or written")  # the last two of pyiceberg's catalog
_BYTES = 3000  # of a value, which no database can store in less


def publish_as_space_is_freed(kind: str, disk: Path, elsewhere: Path) -> str:
    """Publish a window on a full disk, more of which is free at each try; return what tries have done that failed.

    A letter for each: `-` nothing, `+` some of the steps.
    """
    bench = Bench(kind, str(disk / "out"), {"work_uri": str(elsewhere / "work")})
    first = bench.publish(*_values("ab"))
    values = _values(range(_FILES))
    new = bench.stage(*values, generation=2)
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
            assert any(words in says for words in _FULL)
        states = bench.states(steps)
        assert State.UNKNOWN not in states, states
        if bench.is_table:
            assert bench.values() == before
        ended += "-" if states == at_first else "+"
    assert bench.values() == sorted(2 * values)
    bench.apply(steps)
    assert set(bench.states(steps)) == {State.APPLIED}
    bench.sink.sweep(
        "ab12", [bench.sink.placed(file).uri for file in new], [bench.sink.placed(file).uri for file in first]
    )
    assert len(bench.values()) == 2 * _FILES
    return ended


def _values(seeds: Iterable[object]) -> list[str]:
    return [Random(str(seed)).randbytes(_BYTES // 2).hex() for seed in seeds]


def publish_in_a_full_database(disk: Path, elsewhere: Path) -> str:
    """Do the same with a table whose database keeps its tables on the disk."""
    place = disk / "tables"
    place.mkdir()
    with postgres_server() as server:
        share_postgres(server)
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"CREATE TABLESPACE small LOCATION '{place}'")  # type: ignore[arg-type] # no user's text
            connection.execute("ALTER SYSTEM SET default_tablespace = small")
            connection.execute("SELECT pg_reload_conf()")
        return publish_as_space_is_freed("postgres", disk, elsewhere)


@pytest.mark.slow  # processes of their own, on a file system of their own
@pytest.mark.parametrize(
    "kind",
    [
        "delta",
        "iceberg",
        "parquet",
        "parquet with a log",
        "text",
        "archive",
        pytest.param("postgres", marks=pytest.mark.postgres),
    ],
)
def test_a_window_is_whole_once_there_is_space(tmp_path: Path, kind: str) -> None:
    """Whatever the commit was writing when the disk was full."""
    folders = [tmp_path / name for name in ("disk", "elsewhere")]
    for folder in folders:
        folder.mkdir()
    call = "publish_in_a_full_database(" if kind == "postgres" else f"publish_as_space_is_freed({kind!r}, "
    said = run_on_small_disk(
        folders[0],
        "4m",
        "from pathlib import Path; from tests.sinks.test_full_disk import *;"
        f" print({call}{', '.join(f'Path({str(folder)!r})' for folder in folders)}))",
    )

    assert said.startswith("-"), said
