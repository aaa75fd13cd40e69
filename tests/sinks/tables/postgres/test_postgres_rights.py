"""What an account may do in a PostgreSQL database, and what is said to one that may not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_provider_blockread.errors import OptionsError, TransientError
from airflow_provider_blockread.options import PostgresSink
from airflow_provider_blockread.sinks.protocol import RecordSink
from airflow_provider_blockread.sinks.registry import make_sink
from airflow_provider_blockread.testing.bench import SCHEMA
from tests.sinks.kinds import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A table that is not made yet."""
    return Bench("postgres", str(tmp_path / "out"))


@pytest.fixture
def role(bench: Bench, sql: psycopg.Connection[Any]) -> Iterator[str]:
    """An account without any rights of its own."""
    name = f"role_{bench.option.uri.partition('.')[2]}"
    sql.execute(f"CREATE ROLE {name} LOGIN; REVOKE CREATE ON SCHEMA public FROM public")
    yield name
    sql.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")


def _of(role: str, bench: Bench, table: str | None = None) -> RecordSink:
    """Return the sink as another account sees it."""
    assert isinstance(bench.option, PostgresSink)
    url = str(bench.option.url).replace("//postgres:", f"//{role}:")
    return make_sink(bench.stores, replace(bench.option, url=url, uri=table or bench.option.uri))


def _granted(refused: pytest.ExceptionInfo[OptionsError]) -> str:
    """Return the statements that a message advises to run."""
    return str(refused.value).partition("run ")[2].partition("; and retry")[0]


@pytest.mark.parametrize("schema", [SCHEMA, None])
def test_an_account_that_may_not(bench: Bench, sql: psycopg.Connection[Any], role: str, schema: Any) -> None:
    """It is refused before anything is read, and may publish once the statements of the message were run."""
    bench.publish("a")
    steps = bench.steps(bench.stage("b", window="cd34"))
    other = _of(role, bench)
    with pytest.raises(OptionsError, match=r"INSERT, UPDATE ON .*blockread_windows TO role_.*; and") as refused:
        other.prepare(schema, "")
    with pytest.raises(OptionsError, match=r"permission denied.*grant what is missing"):
        other.apply(steps, bench.marker, lambda: None)
    assert bench.values() == ["a", "a"]
    sql.execute(_granted(refused))
    other.prepare(schema, "")
    other.apply(steps, bench.marker, lambda: None)

    assert bench.values() == ["a", "a", "b", "b"]


@pytest.mark.parametrize(("place", "right"), [("public.new_{role}", "SCHEMA"), ("new_{role}.data", "DATABASE")])
def test_an_account_that_may_not_create_the_table(
    bench: Bench, sql: psycopg.Connection[Any], role: str, place: str, right: str
) -> None:
    """As in new databases, where nobody else than their owner may create anything."""
    bench.publish("a")
    steps = bench.steps(bench.stage("b", window="cd34"))
    other = _of(role, bench, place.format(role=role))
    with pytest.raises(OptionsError, match=f"GRANT CREATE ON {right} .*and retry") as refused:
        other.prepare(SCHEMA, "")
    sql.execute(_granted(refused))
    other.prepare(SCHEMA, "")
    other.apply([replace(step, target=place.format(role=role)) for step in steps], bench.marker, lambda: None)

    assert sql.execute(f"SELECT count(*) FROM {place.format(role=role)}").fetchall() == [(2,)]  # noqa: S608


def test_a_right_that_is_gone_at_the_commit(bench: Bench, sql: psycopg.Connection[Any], role: str) -> None:
    """The error is the server's, and a retry works when the right is granted."""
    old = bench.publish("a")
    sql.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}; REVOKE DELETE ON {bench.option.uri} FROM {role}")
    bench.sink = _of(role, bench)
    with pytest.raises(OptionsError, match=r"permission denied.*grant what is missing"):
        bench.undo(old)
    assert bench.values() == ["a", "a"]
    sql.execute(f"GRANT DELETE ON {bench.option.uri} TO {role}")

    assert (bench.undo(old), bench.values()) == (1, [])


def test_rows_that_a_policy_hides(bench: Bench, sql: psycopg.Connection[Any], role: str) -> None:
    """What an account publishes or undoes that does not see all rows is refused, until it sees them."""
    old = bench.publish("a")
    sql.execute(
        f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}; ALTER TABLE {bench.option.uri} ENABLE ROW LEVEL SECURITY"
    )
    bench.sink = _of(role, bench)
    with pytest.raises(OptionsError, match=r"hides rows from this account.*BYPASSRLS"):
        bench.sink.prepare(SCHEMA, "")
    with pytest.raises(OptionsError, match=r"row-level security.*grant what is missing"):
        bench.undo(old)
    assert bench.values() == ["a", "a"]
    sql.execute(f"ALTER ROLE {role} BYPASSRLS")
    bench.sink.prepare(SCHEMA, "")
    assert (bench.undo(old), bench.values()) == (1, [])


def test_an_account_with_limits(bench: Bench, sql: psycopg.Connection[Any], role: str) -> None:
    """The message says which one it met, and a retry works beyond it."""
    old = bench.publish("a")
    sql.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}; ALTER ROLE {role} CONNECTION LIMIT 0")
    bench.sink = _of(role, bench)
    with pytest.raises(TransientError, match=rf"not able to answer \(.*too many connections for role \"{role}\"\)"):
        bench.undo(old)
    sql.execute(f"ALTER ROLE {role} CONNECTION LIMIT -1 ; ALTER ROLE {role} SET statement_timeout TO '300ms'")
    with sql.transaction():
        sql.execute(f"LOCK TABLE {bench.option.uri}")
        with pytest.raises(
            TransientError, match=r"longer than this account may .*`ALTER ROLE ... SET statement_timeout"
        ):
            bench.undo(old)
    sql.execute(f"ALTER ROLE {role} SET statement_timeout TO '1min'")
    bench.sink = _of(role, bench)

    assert (bench.undo(old), bench.values()) == (1, [])
