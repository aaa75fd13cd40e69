"""Files of a window that an error names, or that a person calls by a name, on both databases."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, event

from airflow_provider_blockread.ledger.overview.window import files_called, named_files
from airflow_provider_blockread.ledger.store import Ledger
from tests.ledger.make import open_window


def test_the_files_that_an_error_names_are_found(ledger: Ledger) -> None:
    """By their paths, of which another one may differ in one sign."""
    window = open_window(ledger, names=("a_1.csv", "aX1.csv", "b.csv"))
    error = "RecordError: csv record at byte 3 of file:///in/a_1.csv block 0 bytes [0, 9): no number"

    assert [one.path[-7:] for one in named_files(ledger, window.id, error)] == ["a_1.csv"]
    odd = open_window(ledger, "odd", names=("c\\1.csv",))
    assert [one.path[-7:] for one in named_files(ledger, odd.id, error.replace("a_1", "c\\1"))] == ["c\\1.csv"]
    assert named_files(ledger, window.id, "a worker died") == []


def test_only_what_an_error_says_of_itself_names_files(ledger: Ledger) -> None:
    """Neither lines of a log behind it nor what it quotes of a record do; a name may contain anything else."""
    window = open_window(ledger, names=("a.csv", "b; c.csv", "d", *(f"{n:02d}" for n in range(12))))

    def named(error: str) -> list[str]:
        return [one.path.removeprefix("file:///in/") for one in named_files(ledger, window.id, error)]

    record = "csv record at byte 3 of file:///in/b; c.csv block 0 bytes [0, 9): no number: 'file:///in/a.csv'"
    assert named(record) == ["b; c.csv"]
    assert named("SparkJobError: it failed\nreading file:///in/a.csv") == []
    assert named("it failed (file:///in/d), 'file:///in/a.csv'; restore it") == ["a.csv", "d"]
    assert len(named("; ".join(f"file:///in/{n:02d} is missing" for n in range(12)))) == 12


def test_a_path_that_is_the_beginning_of_another_one_is_not_named(ledger: Ledger) -> None:
    """A page would offer to leave out the wrong file; where both are named, both are found."""
    window = open_window(ledger, names=("app.log", "app.log.1", "app.log.10"))

    def named(error: str) -> list[str]:
        return [one.path.removeprefix("file:///in/") for one in named_files(ledger, window.id, error)]

    assert named("file:///in/app.log.1 block 0 bytes [0, 9): no number") == ["app.log.1"]
    assert named("file:///in/app.log.10 is missing") == ["app.log.10"]
    assert named("file:///in/app.log.10 is missing; file:///in/app.log is changed") == ["app.log", "app.log.10"]


def test_files_are_called_by_their_paths_or_the_ends_of_these(ledger: Ledger) -> None:
    """A whole path before an end, in the same case, as pages show it; SQL's wildcards are text."""
    window = open_window(ledger, names=("x/a_1", "y/a_1", "aX1", "A", "odd\u200b", "b"))

    def called(name: str) -> list[str]:
        return [path.removeprefix("file:///in/") for path in files_called(ledger, window.id, name)]

    assert called("a_1") == ["x/a_1", "y/a_1"]
    assert called("x/a_1") == called("/in/x/a_1") == called("file:///in/x/a_1") == ["x/a_1"]
    assert called("odd\\u200b") == called("odd\u200b") == ["odd\u200b"]
    assert called("a") == called("_") == called("%") == called("in") == []


def test_a_file_is_looked_for_in_its_window_alone(ledger: Ledger) -> None:
    """No statement reads all files of the ledger, in which there may be millions of other windows."""
    window, plans = open_window(ledger, names=("x/a_1",)), []

    def explain(connection: Connection, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.startswith(("SET", "EXPLAIN")) or "files" not in statement:
            return
        how = "QUERY PLAN "
        if connection.dialect.name == "postgresql":
            how = ""
            cursor.execute("SET LOCAL enable_seqscan TO off")
        cursor.execute(f"EXPLAIN {how}{statement}", parameters)
        plans.append("\n".join(str(row[-1]) for row in cursor.fetchall()))

    with listening(ledger, explain):
        for name in ("a_1", "odd\\u200b", "/in/x/a_1"):
            files_called(ledger, window.id, name)
        named_files(ledger, window.id, "file:///in/x/a_1 is missing")

    assert len(plans) == 7
    whole = r"Seq Scan on files|Scan using \w+ on files\b.*\n(?! *Index Cond)|SCAN files"
    assert not [plan for plan in plans if re.search(whole, plan)]


@contextmanager
def listening(ledger: Ledger, told: Callable[..., None]) -> Iterator[None]:
    """Tell of each statement before it is executed."""
    with ledger.reading() as connection:
        engine = connection.engine
    event.listen(engine, "before_cursor_execute", told)
    try:
        yield
    finally:
        event.remove(engine, "before_cursor_execute", told)
