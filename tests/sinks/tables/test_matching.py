"""Columns of rows and of an output that differ by case: two columns, or one if the option says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from airflow_provider_blockread.errors import FunctionError, OptionsError, ProofError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.options import ParquetSink
from airflow_provider_blockread.sinks.names import AttemptName
from tests.postgres import own_postgres
from tests.sinks.kinds import KINDS, Bench

_TABLES = [name for name, kind in KINDS.items() if kind.table and not kind.like]
_LOGGED = "parquet with a log"
_FORMATS = [name for name in _TABLES if name != _LOGGED]


@pytest.fixture(params=_TABLES)
def kind(request: pytest.FixtureRequest) -> str:
    """The name of each kind of table."""
    return str(request.param)


def matching(kind: str, place: Path, **options: Any) -> Bench:
    """Return a table to which case does not count, as it is now."""
    return Bench(kind, str(place / "out"), {"case_sensitive": False, **options})


def staged(bench: Bench, rows: dict[str, Any], window: str, schema: pa.Schema | None = None) -> list[OutputFile]:
    """Return a file of rows, whose schema the writer knows before or not."""
    bench.marker = bench.marker_of(window)
    name = AttemptName(window=window, generation=1, group=0, epoch=1, attempt=0)
    writer = bench.sink.writer(bench.target, name, schema)
    writer.write(pa.RecordBatch.from_pydict(rows))
    return writer.close()


def published(bench: Bench, rows: dict[str, Any], window: str, schema: pa.Schema | None = None) -> None:
    """Publish rows."""
    bench.apply(bench.steps(staged(bench, rows, window, schema)))


def rows(bench: Bench) -> list[dict[str, Any]]:
    """Return what a reader finds, in order."""
    return sorted(bench.case.rows(bench.place), key=lambda row: str(row["value"]))


@pytest.mark.parametrize("is_known", [False, True])
def test_rows_come_under_the_names_of_the_output(tmp_path: Path, kind: str, is_known: bool) -> None:  # noqa: FBT001
    """The first window names the columns; those after it write into them, whatever the case."""
    published(matching(kind, tmp_path), {"value": ["a"], "Count": [1]}, "w1")
    given = pa.schema([("VALUE", pa.string()), ("count", pa.int64())])
    second = matching(kind, tmp_path)
    second.sink.prepare(given, "")
    published(second, {"VALUE": ["b"], "count": [2]}, "w2", given if is_known else None)

    assert rows(second) == [{"value": "a", "Count": 1}, {"value": "b", "Count": 2}]


def test_a_new_column_is_no_known_one_in_another_case(tmp_path: Path, kind: str) -> None:
    """Added is only what differs by more than case; the next window may write it in another case again."""
    first = matching(kind, tmp_path, schema="add_columns")
    published(first, {"value": ["a"]}, "w1")
    published(matching(kind, tmp_path, schema="add_columns"), {"Value": ["b"], "More": [1]}, "w2")
    published(matching(kind, tmp_path, schema="add_columns"), {"VALUE": ["c"], "more": [2]}, "w3")

    assert [(row["value"], row["More"]) for row in rows(first)] == [("a", None), ("b", 1), ("c", 2)]


def test_two_columns_of_rows_that_are_one_are_refused(tmp_path: Path, kind: str) -> None:
    """Before anything is read where they are known, else by the task that meets them; renamed, both are taken."""
    bench = matching(kind, tmp_path)
    two = {"value": ["a"], "n": [1], "N": [2]}
    with pytest.raises(OptionsError, match="columns 'n' and 'N' are one to case_sensitive=False; rename one"):
        bench.sink.prepare(pa.table(two).schema, "")
    with pytest.raises(FunctionError, match="columns 'n' and 'N' are one to case_sensitive=False; rename one"):
        staged(bench, two, "w1")
    published(bench, {"value": ["a"], "n": [1], "m": [2]}, "w1")

    assert rows(bench) == [{"value": "a", "n": 1, "m": 2}]


def test_partition_columns_are_found_in_any_case(tmp_path: Path) -> None:
    """Of a table that is not made yet they get the case of `partition_by`."""
    for kind in ("delta", "iceberg"):
        (tmp_path / kind).mkdir()
        bench = matching(kind, tmp_path / kind, partition_by=["day"])
        bench.sink.prepare(pa.schema([("value", pa.string()), ("DAY", pa.string())]), "")
        published(bench, {"value": ["a"], "DAY": ["mon"]}, "w1")

        assert rows(bench) == [{"value": "a", "day": "mon"}]


@pytest.mark.postgres
def test_columns_of_a_table_that_differ_by_case_only(tmp_path: Path) -> None:
    """PostgreSQL has both: neither is chosen, and with case that counts both are filled."""
    exact = Bench("postgres", str(tmp_path / "out"))
    published(exact, {"value": ["a"], "n": [1], "N": [2]}, "w1")
    with pytest.raises(OptionsError, match=r"has columns 'n' and 'N'.*rename one of them, or set case_sensitive=True"):
        matching("postgres", tmp_path)
    published(exact, {"value": ["b"], "n": [3], "N": [4]}, "w2")
    with psycopg.connect(own_postgres()) as sql:
        sql.execute(f'ALTER TABLE {exact.option.uri} RENAME "N" TO m')
    published(matching("postgres", tmp_path), {"value": ["c"], "N": [5], "M": [6]}, "w3")

    assert [(row["n"], row["m"]) for row in rows(exact)] == [(1, 2), (3, 4), (5, 6)]


@pytest.mark.postgres
def test_the_column_of_windows_is_not_written_in_another_case(tmp_path: Path) -> None:
    """PostgreSQL's `_window` is filled by the commit alone."""
    bench = matching("postgres", tmp_path)
    for _ in range(2):
        with pytest.raises(OptionsError, match="column '_window' is reserved"):
            bench.sink.prepare(pa.schema([("value", pa.string()), ("_WINDOW", pa.string())]), "")
        with pytest.raises(FunctionError, match="column '_window' is reserved"):
            staged(bench, {"value": ["a"], "_Window": ["w"]}, "w1")
        published(bench, {"value": ["a"]}, "w1")  # and once the table is there
        bench = matching("postgres", tmp_path)


@pytest.mark.parametrize("kind", _FORMATS)
def test_a_table_that_was_made_meanwhile_in_another_case(tmp_path: Path, kind: str) -> None:
    """Files that were written before are refused, since readers would find nulls; written once more they are taken."""
    bench = matching(kind, tmp_path, schema="add_columns")
    files = staged(bench, {"VALUE": ["b"]}, "w2")
    published(matching(kind, tmp_path), {"value": ["a"]}, "w1")
    bench.marker = bench.marker_of("w2")
    with pytest.raises(ProofError, match=r"has column 'value', not 'VALUE'; .* clear the run"):
        bench.apply(bench.steps(files))
    published(matching(kind, tmp_path), {"VALUE": ["b"]}, "w2")

    assert rows(bench) == [{"value": "a"}, {"value": "b"}]


def test_a_directory_without_a_log_knows_no_columns() -> None:
    """So there is nothing to match names with."""
    with pytest.raises(OptionsError, match="case_sensitive=False needs log=True"):
        ParquetSink("lake", case_sensitive=False)

    assert not ParquetSink("lake", case_sensitive=False, log=True).case_sensitive
