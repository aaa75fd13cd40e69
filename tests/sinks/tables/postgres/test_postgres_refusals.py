"""What a PostgreSQL server refuses of rows, and what the commit says of it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_provider_blockread.errors import OptionsError, ProofError
from airflow_provider_blockread.testing.bench import SCHEMA
from tests.sinks.kinds import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A table that is not made yet."""
    return Bench("postgres", str(tmp_path / "out"))


def test_rows_that_a_constraint_refuses(bench: Bench, sql: psycopg.Connection[Any]) -> None:
    """Nothing of the window is published, and a retry completes it when the constraint is gone."""
    bench.publish("a")
    sql.execute(f"ALTER TABLE {bench.option.uri} ADD CONSTRAINT short CHECK (value <> 'b')")
    steps = bench.steps(bench.stage("b", window="cd34"))
    with pytest.raises(ProofError, match=r'does not take the rows.*"short".*change the table'):
        bench.apply(steps)
    assert bench.values() == ["a", "a"]
    sql.execute(f"ALTER TABLE {bench.option.uri} DROP CONSTRAINT short")
    bench.apply(steps)

    assert bench.values() == ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("ALTER COLUMN value TYPE text, ADD COLUMN twice text GENERATED ALWAYS AS (value || value) STORED", None),
        ("DROP COLUMN value, ADD COLUMN value text GENERATED ALWAYS AS ('a') STORED", "column 'value'"),
        ("ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY", None),
    ],
)
def test_columns_that_the_database_fills(
    bench: Bench, sql: psycopg.Connection[Any], change: str, why: str | None
) -> None:
    """They stay as they are; rows that have values of their own for them are refused."""
    bench.publish("a")
    sql.execute(f"ALTER TABLE {bench.option.uri} {change}")
    steps = bench.steps(bench.stage("b", window="cd34"))
    if why is None:
        bench.apply(steps)
        assert bench.values() == ["a", "a", "b", "b"]
    else:
        with pytest.raises(OptionsError, match=f"computes the values of its {why}; leave it out of the output"):
            bench.sink.prepare(SCHEMA, "")
        with pytest.raises(ProofError, match=f"computes the values of its {why}"):
            bench.apply(steps)


@pytest.mark.parametrize(("kind", "value"), [("jsonb", '{"a": 1}'), ("uuid", "0" * 32), ("timestamp(3)", "")])
def test_a_type_into_which_no_rows_are_copied(
    bench: Bench, sql: psycopg.Connection[Any], kind: str, value: str
) -> None:
    """The table itself may compute such a column from text."""
    table = bench.option.uri
    sql.execute(f"CREATE TABLE {table} (value {kind}, _window text); CREATE INDEX ON {table} (_window)")
    with pytest.raises(OptionsError, match=r"has column 'value' as .*rename it in the output.*GENERATED ALWAYS AS"):
        bench.sink.prepare(SCHEMA, "")
    if value:
        sql.execute(
            f"ALTER TABLE {table} DROP COLUMN value, ADD COLUMN value text,"
            f" ADD COLUMN other {kind} GENERATED ALWAYS AS (value::{kind}) STORED"
        )
        bench.publish(value)
        found = sql.execute(f"SELECT other = value::{kind} FROM {table}").fetchall()  # noqa: S608
        assert found == [(True,), (True,)]


def test_rows_that_a_trigger_or_an_index_refuses(bench: Bench, sql: psycopg.Connection[Any]) -> None:
    """They are no matter of a server that cannot be reached."""
    bench.publish("a")
    sql.execute(f"CREATE INDEX own ON {bench.option.uri} (value)")
    noise = "".join(hashlib.sha256(bytes([n])).hexdigest() for n in range(250))
    with pytest.raises(ProofError, match=r"does not take the rows.*index row"):
        bench.publish(noise, window="cd34")
    sql.execute(
        "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'no %', NEW.value; END $$;"
        f" CREATE TRIGGER own BEFORE INSERT ON {bench.option.uri} FOR EACH ROW EXECUTE FUNCTION refuse()"
    )
    with pytest.raises(ProofError, match=r"does not take the rows.*no b"):
        bench.publish("b", window="cd34")


@pytest.mark.parametrize("act", ["RETURN NULL", "NEW._window := NULL; RETURN NEW", "NEW._window := 'x'; RETURN NEW"])
def test_rows_that_a_trigger_loses(bench: Bench, sql: psycopg.Connection[Any], act: str) -> None:
    """Rows that are dropped, or that no rebuild or undo would find, are not published."""
    bench.publish("a")
    table = bench.option.uri
    sql.execute(
        f"ALTER TABLE {table} ALTER _window DROP NOT NULL;"
        f" CREATE OR REPLACE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {act}; END $$;"
        f" CREATE TRIGGER lose BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION lose()"
    )
    steps = bench.steps(bench.stage("b", "c", window="cd34"))
    with pytest.raises(ProofError, match=r"holds 0 rows of window cd34 after 4 were copied.*trigger.*or disable it"):
        bench.apply(steps)
    assert bench.values() == ["a", "a"]
    sql.execute(f"ALTER TABLE {table} DISABLE TRIGGER lose")
    bench.apply(steps)

    assert bench.values() == ["a", "a", "b", "b", "c", "c"]


def test_rows_that_a_trigger_of_a_partition_loses(bench: Bench, sql: psycopg.Connection[Any]) -> None:
    """Rows are looked for where any partition has a trigger."""
    table = bench.option.uri
    sql.execute(
        f"CREATE TABLE {table} (value text, _window text) PARTITION BY LIST (_window);"
        f" CREATE INDEX ON {table} (_window);"
        f" CREATE TABLE {table}_rest PARTITION OF {table} DEFAULT;"
        " CREATE OR REPLACE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;"
    )
    bench.publish("a")
    sql.execute(f"CREATE TRIGGER lose BEFORE INSERT ON {table}_rest FOR EACH ROW EXECUTE FUNCTION lose()")
    with pytest.raises(ProofError, match=r"holds 0 rows of window cd34 after 2 were copied.*trigger"):
        bench.publish("b", window="cd34")

    assert bench.values() == ["a", "a"]


def test_rows_that_a_trigger_keeps_in_another_table(bench: Bench, sql: psycopg.Connection[Any]) -> None:
    """Those of a table that inherits are rows of the window like any other."""
    table = bench.option.uri
    sql.execute(
        f"CREATE TABLE {table} (value text, _window text); CREATE INDEX ON {table} (_window);"
        f" CREATE TABLE {table}_a () INHERITS ({table});"
        " CREATE OR REPLACE FUNCTION route() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN INSERT INTO {table}_a SELECT NEW.*; RETURN NULL; END $$;"
        f" CREATE TRIGGER route BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION route()"
    )
    files = bench.publish("a")

    assert (bench.values(), bench.undo(files), bench.values()) == (["a", "a"], 1, [])


def test_a_table_that_is_replicated(bench: Bench, sql: psycopg.Connection[Any]) -> None:
    """Windows come in; none is replaced before its rows can be named to subscribers."""
    old, table = bench.publish("a"), bench.option.uri
    sql.execute(f"CREATE PUBLICATION p{table.partition('.')[2]} FOR TABLE {table}")
    bench.publish("b", window="cd34")
    steps = bench.steps(bench.stage("c", generation=2), old)
    with pytest.raises(ProofError, match=r"does not take the rows.*replica identity.*change the table"):
        bench.apply(steps)
    sql.execute(f"ALTER TABLE {table} REPLICA IDENTITY FULL")
    bench.apply(steps)

    assert bench.values() == ["b", "b", "c", "c"]


@pytest.mark.parametrize("kind", ["view", "materialized view"])
def test_what_is_no_table(bench: Bench, sql: psycopg.Connection[Any], kind: str) -> None:
    """It is refused before anything is read; a table of the name is not."""
    uri = bench.option.uri
    sql.execute(f"CREATE TABLE {uri}_base (value text, _window text); CREATE {kind} {uri} AS TABLE {uri}_base")
    with pytest.raises(OptionsError, match=f"is a {kind}, into which no rows are copied; name a table"):
        bench.sink.prepare(SCHEMA, "")
    sql.execute(f"DROP {kind} {uri}; ALTER TABLE {uri}_base RENAME TO {uri.partition('.')[2]}")
    sql.execute(f"CREATE INDEX ON {uri} (_window)")
    bench.sink.prepare(SCHEMA, "")


_KEEPING = {
    "RULE": "CREATE RULE keep AS ON DELETE TO {table} DO INSTEAD NOTHING",
    "TRIGGER": (
        "CREATE OR REPLACE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;"
        " CREATE TRIGGER keep BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION keep()"
    ),
}


@pytest.mark.parametrize("means", _KEEPING)
def test_rows_that_cannot_be_deleted(bench: Bench, sql: psycopg.Connection[Any], means: str) -> None:
    """Neither a rebuild, which would double them, nor an undo goes on before they can be."""
    old = bench.publish("a")
    sql.execute(_KEEPING[means].format(table=bench.option.uri))
    steps = bench.steps(bench.stage("b", generation=2), old)
    for change in (lambda: bench.apply(steps), lambda: bench.undo(old)):
        with pytest.raises(ProofError, match=r"keeps rows of window ab12.*trigger or a rule; drop it"):
            change()
        assert bench.values() == ["a", "a"]
    sql.execute(f"DROP {means} keep ON {bench.option.uri}")
    bench.apply(steps)

    assert bench.values() == ["b", "b"]


def test_staged_rows_that_are_damaged(bench: Bench) -> None:
    """The error names the file; it is none of the database."""
    staged = bench.stage("a")
    steps = bench.steps(staged)
    file = Path(staged[0].uri.removeprefix("file://"))
    file.write_bytes(bytes(file.stat().st_size))
    with pytest.raises(ProofError, match=r"part-.*parquet is truncated or not a Parquet file; clear the group"):
        bench.apply(steps)
