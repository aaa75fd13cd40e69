"""Tables that get the columns of new rows: added as nullable, widened where that is safe, and never narrowed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from airflow_provider_blockread.errors import OptionsError, ProofError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.sinks.evolution import Evolution
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import Applied
from airflow_provider_blockread.sinks.tables.postgres.table import PostgresTable
from tests.postgres import own_postgres
from tests.sinks.kinds import KINDS, Bench, opened_iceberg

_TABLES = [name for name, kind in KINDS.items() if kind.table and not kind.like]
_LOGGED = "parquet with a log"
_WIDENING = ["iceberg", "postgres", _LOGGED]


@pytest.fixture(params=_TABLES)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """A table that evolves, of each format."""
    return Bench(request.param, str(tmp_path / "out"), {"schema": "add_columns"})


def staged(bench: Bench, rows: pa.Table, window: str, generation: int = 1) -> list[OutputFile]:
    """Return a file of rows."""
    bench.marker = bench.marker_of(window, generation)
    name = AttemptName(window=window, generation=generation, group=0, epoch=1, attempt=0)
    writer = bench.sink.writer(bench.target, name, None)
    for batch in rows.to_batches():
        writer.write(batch)
    return writer.close()


def published(bench: Bench, rows: dict[str, Any], window: str) -> Applied | None:
    """Publish rows and return what was made of the table."""
    steps = bench.steps(staged(bench, pa.table(rows), window))
    return bench.sink.apply(steps, bench.marker, lambda: None)


def rows(bench: Bench) -> list[dict[str, Any]]:
    """Return what a reader finds, in order."""
    return sorted(bench.case.rows(bench.place), key=lambda row: str(row["value"]))


def test_a_column_is_added_and_null_in_earlier_rows(bench: Bench) -> None:
    """In words, the commit says which; a window without the column is taken, too, and so is a rebuild of the first."""
    first = published(bench, {"value": ["a"]}, "w1")
    second = published(bench, {"value": ["b"], "more": pa.array([2], pa.int64())}, "w2")
    third = published(bench, {"value": ["c"]}, "w3")

    changes = [made.schema_changes if made else "" for made in (first, second, third)]
    assert changes == ["", "column more int64 added", ""]
    assert rows(bench) == [
        {"value": "a", "more": None},
        {"value": "b", "more": 2},
        {"value": "c", "more": None},
    ]


def test_a_retry_finds_what_its_commit_has_changed(bench: Bench) -> None:
    """Nothing is added a second time, and the retry says what the try before it added, but had not recorded."""
    published(bench, {"value": ["a"]}, "w1")
    files = staged(bench, pa.table({"value": ["b"], "more": [2]}), "w2")
    steps = bench.steps(files)
    made = [bench.sink.apply(steps, bench.marker, lambda: None) for _ in range(2)]

    assert [one and one.schema_changes for one in made] == ["column more int64 added"] * 2
    assert len(rows(bench)) == 2


def test_an_iceberg_snapshot_says_what_its_own_change_has_added(tmp_path: Path) -> None:
    """A rebuild that adds nothing does not repeat what the one before has added, nor when its snapshot is gone."""
    bench = Bench("iceberg", str(tmp_path / "out"), {"schema": "add_columns"})
    published(bench, {"value": ["a"]}, "w1")
    wider = pa.table({"value": ["b"], "more": [2]})
    first = staged(bench, wider, "w2")
    bench.apply(bench.steps(first))
    steps = bench.steps(staged(bench, wider, "w2", generation=2), first)
    made = [bench.sink.apply(steps, bench.marker, lambda: None) for _ in range(2)]
    table = opened_iceberg(bench.place)
    snapshot = table.current_snapshot()
    table.append(pa.table({"value": ["foreign"], "more": [3]}))
    assert snapshot is not None
    opened_iceberg(bench.place).maintenance.expire_snapshots().by_id(snapshot.snapshot_id).commit()
    made.append(bench.sink.apply(steps, bench.marker, lambda: None))

    assert [one and one.schema_changes for one in made] == [""] * 3


def test_others_do_not_come_between_the_look_and_the_change_of_columns(tmp_path: Path) -> None:
    """PostgreSQL's table is locked before its columns are compared: a reader's transaction keeps the commit waiting."""
    bench = Bench("postgres", str(tmp_path / "out"), {"schema": "add_columns"})
    published(bench, {"value": ["a"]}, "w1")
    steps = bench.steps(staged(bench, pa.table({"value": ["b"], "more": [2]}), "w2"))
    columns, seen = PostgresTable.columns, []

    def looking(self: PostgresTable, cursor: Any) -> Any:
        with psycopg.connect(own_postgres()) as sql:
            locks = "SELECT mode FROM pg_locks WHERE relation = %s::regclass AND granted"
            seen.append({mode for (mode,) in sql.execute(locks, (bench.option.uri,))})
        return columns(self, cursor)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PostgresTable, "columns", looking)
        bench.apply(steps)

    assert "AccessExclusiveLock" in seen[1]  # the first look is that of the load
    assert [row["more"] for row in rows(bench)] == [None, 2]


@pytest.mark.parametrize("kind", _TABLES)
def test_a_table_that_does_not_evolve_refuses_new_columns(tmp_path: Path, kind: str) -> None:
    """Before anything is read where they are known, else before the commit; with the option it takes them."""
    bench = Bench(kind, str(tmp_path / "out"))
    bench.publish("a")
    wider = pa.table({"value": ["b"], "more": [2]})
    with pytest.raises(OptionsError, match=r"has no column 'more'; add it to the table.*schema='add_columns'"):
        bench.sink.prepare(wider.schema, "")
    files = staged(bench, wider, "w2")
    with pytest.raises(ProofError, match="has no column 'more'"):
        bench.apply(bench.steps(files))
    evolving = Bench(kind, bench.place, {"schema": "add_columns"})
    evolving.marker = bench.marker
    evolving.sink.prepare(wider.schema, "")
    evolving.apply(evolving.steps(files))

    assert [row["more"] for row in rows(evolving)] == [None, None, 2]


@pytest.mark.parametrize("kind", _WIDENING)
def test_types_are_widened_and_never_narrowed(tmp_path: Path, kind: str) -> None:
    """Numbers of a wider type change the column; narrower ones are taken after that as they are."""
    bench = Bench(kind, str(tmp_path / "out"), {"schema": "add_columns"})
    narrow = {
        "n": pa.array([1], pa.int32()),
        "x": pa.array([0.5], pa.float32()),
        "d": pa.array(["1.25"]).cast(pa.decimal128(5, 2)),
    }
    wide = {
        "n": pa.array([2**40]),
        "x": pa.array([0.1]),
        "d": pa.array(["12345678.25"]).cast(pa.decimal128(12, 2)),
    }
    published(bench, {"value": ["a"], **narrow}, "w1")
    second = published(bench, {"value": ["b"], **wide}, "w2")
    published(bench, {"value": ["c"], **narrow}, "w3")

    assert second is not None
    assert second.schema_changes == (
        "column n widened to int64, column x widened to double, column d widened to decimal128(12, 2)"
    )
    assert [row["n"] for row in rows(bench)] == [1, 2**40, 1]
    assert [row["x"] for row in rows(bench)] == [0.5, 0.1, 0.5]
    assert [str(row["d"]) for row in rows(bench)] == ["1.25", "12345678.25", "1.25"]
    with pytest.raises(OptionsError, match=r"has column 'n' as .*, not string; cast it"):
        bench.sink.prepare(pa.schema([("value", pa.string()), ("n", pa.string())]), "")


def test_a_delta_table_keeps_its_types(tmp_path: Path) -> None:
    """The library cannot widen them: refused, and cast in the function they are taken."""
    bench = Bench("delta", str(tmp_path / "out"), {"schema": "add_columns"})
    published(bench, {"value": ["a"], "n": pa.array([1], pa.int32())}, "w1")
    with pytest.raises(OptionsError, match=r"has column 'n' as .*integer.*, not int64; cast it"):
        bench.sink.prepare(pa.schema([("value", pa.string()), ("n", pa.int64())]), "")

    assert published(bench, {"value": ["b"], "n": pa.array([2], pa.int32())}, "w2")


@pytest.mark.parametrize("kind", ["delta", "iceberg", _LOGGED])
def test_a_name_that_differs_by_case_is_no_new_column(tmp_path: Path, kind: str) -> None:
    """Readers would not distinguish the two: refused, and renamed it is taken."""
    for schema in ("fail", "add_columns"):
        bench = Bench(kind, str(tmp_path / schema), {"schema": schema})
        bench.publish("a")
        with pytest.raises(OptionsError, match="has column 'value', not 'Value'; rename it"):
            bench.sink.prepare(pa.schema([("Value", pa.string())]), "")

        bench.sink.prepare(pa.schema([("value", pa.string())]), "")


@pytest.mark.postgres
def test_a_column_that_a_view_has_is_named(tmp_path: Path) -> None:
    """PostgreSQL keeps its type: the error says what to change, and no retry is needed to see it."""
    bench = Bench("postgres", str(tmp_path / "out"), {"schema": "add_columns"})
    published(bench, {"value": ["a"], "n": pa.array([1], pa.int32())}, "w1")
    files = staged(bench, pa.table({"value": ["b"], "n": [2**40]}), "w2")
    name = bench.option.uri
    with psycopg.connect(own_postgres(), autocommit=True) as sql:
        sql.execute(f"CREATE VIEW {name}_seen AS SELECT n FROM {name}")  # noqa: S608
        with pytest.raises(ProofError, match=r"does not take the rows \(cannot alter type.*change the table"):
            bench.apply(bench.steps(files))
        sql.execute(f"DROP VIEW {name}_seen")
    bench.apply(bench.steps(files))

    assert [row["n"] for row in rows(bench)] == [1, 2**40]


def test_many_changes_are_counted() -> None:
    """The words of a commit go into an XCom, however many columns it has added."""
    said = str(Evolution(added=tuple(pa.field(f"c{number}", pa.int64()) for number in range(2000))))

    assert said.startswith("column c0 int64 added, column c1 int64 added, ")
    assert said.endswith("column c19 int64 added, 1980 more columns")


@pytest.mark.parametrize("kind", [name for name in _TABLES if name != _LOGGED])
def test_a_publisher_that_finds_another_schema_looks_again(tmp_path: Path, kind: str) -> None:
    """Two that add the same column at once: the second finds it there."""
    bench = Bench(kind, str(tmp_path / "out"), {"schema": "add_columns"})
    published(bench, {"value": ["a"]}, "w1")
    late = staged(bench, pa.table({"value": ["b"], "more": [2]}), "w2")
    steps, marker = bench.steps(late), bench.marker
    snapshot = bench.sink._format.load()  # type: ignore[attr-defined]
    published(bench, {"value": ["c"], "more": pa.array([3])}, "w3")
    loads = iter([snapshot])
    again = bench.sink._format.load  # type: ignore[attr-defined]
    bench.sink._format.load = lambda: next(loads, None) or again()  # type: ignore[attr-defined]
    made = bench.sink.apply(steps, marker, lambda: None)

    assert made is not None
    assert made.schema_changes == ""
    assert [row["more"] for row in rows(bench)] == [None, 2, 3]


def test_what_a_dead_try_has_added_is_said_by_the_next_generation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Delta table has the columns already when the run is cleared; the rebuild says so, and no other one."""
    bench = Bench("delta", str(tmp_path / "out"), {"schema": "add_columns"})
    published(bench, {"value": ["a"]}, "w1")
    wider = pa.table({"value": ["b"], "more": [2]})
    dead = bench.steps(staged(bench, wider, "w2"))

    def die(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(DeltaTable, "create_write_transaction", die)
        with pytest.raises(KeyboardInterrupt):
            bench.apply(dead)
    assert DeltaTable(bench.place).version() == 1  # the columns alone
    widest = wider.append_column("most", pa.array([3]))
    steps = bench.steps(staged(bench, widest, "w2", generation=2))
    looked = []
    history = DeltaTable.history
    monkeypatch.setattr(DeltaTable, "history", lambda self, limit: looked.append(limit) or history(self, limit))
    made = [bench.sink.apply(steps, bench.marker, lambda: None) for _ in range(2)]
    assert [one and one.schema_changes for one in made] == ["column more int64 added, column most int64 added"] * 2
    looked.clear()
    third = bench.sink.apply(bench.steps(staged(bench, widest, "w2", generation=3)), bench.marker, lambda: None)

    assert third is not None
    assert (third.schema_changes, looked) == ("", [])  # nor is it looked for any more
