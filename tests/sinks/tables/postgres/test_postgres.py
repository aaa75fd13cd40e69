"""A PostgreSQL table: what it holds, what it refuses, and other sessions beside a commit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import psycopg
import pyarrow as pa
import pytest

from airflow_provider_blockread.errors import FunctionError, OptionsError, ProofError, RowError, TransientError
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import Change
from airflow_provider_blockread.sinks.registry import make_sink
from airflow_provider_blockread.sinks.tables.postgres import connections
from airflow_provider_blockread.sinks.tables.rows import RowTable
from tests.postgres import own_postgres
from tests.sinks.kinds import STORES, Bench, racing

_NAME = AttemptName(window="ab12", generation=1, group=0, epoch=1, attempt=0)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A table that is not made yet."""
    return Bench("postgres", str(tmp_path / "out"))


def publish(bench: Bench, columns: dict[str, Any]) -> None:
    """Publish rows of some columns."""
    writer = bench.sink.writer(bench.target, _NAME, None)
    writer.write(pa.RecordBatch.from_pydict(columns))
    bench.apply(bench.steps(writer.close()))


_TYPES = {
    "flag": pa.array([True, None]),
    "tiny": pa.array([-5, 7], pa.int8()),
    "short": pa.array([-5, 2**15 - 1], pa.int16()),
    "middle": pa.array([-5, 2**31 - 1], pa.int32()),
    "number": pa.array([-(2**63), 2**63 - 1]),
    "part": pa.array([0.5, None], pa.float32()),
    "double": pa.array([float("inf"), 1e300]),
    "text": pa.array(["a\u1234\n\\N", ""]),
    "large": pa.array(["a", None], pa.large_string()),
    "raw": pa.array([b"x\0", b""]),
    "day": pa.array(["2026-01-02", "0001-01-01"]).cast(pa.date32()),
    "at": pa.array(["2026-01-02T03:04:05.678901", None]).cast(pa.timestamp("us")),
    "utc": pa.array(["2026-01-02T03:04:05.678901", None]).cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC")),
    "price": pa.array(["1.25", "-99999999.99"]).cast(pa.decimal128(10, 2)),
    "cents": pa.array(["0.05", None]).cast(pa.decimal128(12, 2)),
    "fine": pa.array(["5000000000.000001", "-1000000000.5"]).cast(pa.decimal128(18, 6)),
    "many": pa.array([[1, None], []], pa.list_(pa.int64())),
    'odd "name': pa.array(["x", "y"]),
}


def test_every_type_comes_back(bench: Bench, sql: psycopg.Connection[Any]) -> None:
    """By another client, through other code than what wrote them; a second window fits the table that was made."""
    publish(bench, _TYPES)
    expected = pa.table(_TYPES).to_pylist()
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in _TYPES)
    with sql.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        found = cursor.execute(f"SELECT {names} FROM {bench.option.uri} ORDER BY tiny").fetchall()  # noqa: S608
    assert found == expected

    bench.sink.prepare(pa.table(_TYPES).schema, "")
    indexed = sql.execute("SELECT indexdef FROM pg_indexes WHERE tablename = %s", (bench.option.uri.split(".")[1],))
    assert "USING brin (_window text_bloom_ops)" in indexed.fetchall()[0][0]


@pytest.mark.parametrize(
    "kind",
    [pa.uint64(), pa.time64("us"), pa.float16(), pa.list_(pa.list_(pa.int8())), pa.struct([("x", pa.int8())])],
    ids=str,
)
def test_a_type_that_it_does_not_hold(bench: Bench, kind: pa.DataType) -> None:
    """Refused where the columns are declared, and by the writer: an unsigned number would wrap around."""
    with pytest.raises(OptionsError, match="which PostgreSQL does not hold; cast it"):
        bench.sink.prepare(pa.schema([("x", kind)]), "")
    with pytest.raises(FunctionError, match="which PostgreSQL does not hold; cast it"):
        publish(bench, {"x": pa.nulls(1, kind)})
    publish(bench, {"x": pa.array(["1"])})


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("_window", "is reserved.*rename it"),
        ("ctid", "that PostgreSQL gives each table; rename it"),
        ("x" * 64, "more than 63 bytes; rename it"),
    ],
)
def test_a_name_that_it_does_not_take(bench: Bench, name: str, problem: str) -> None:
    """The server would cut a long one, and two might become one."""
    with pytest.raises(OptionsError, match=problem):
        bench.sink.prepare(pa.schema([(name, pa.int64())]), "")
    publish(bench, {"renamed": [1]})


@pytest.mark.parametrize("kind", [pa.string(), pa.list_(pa.string()), pa.large_list(pa.large_string())], ids=str)
def test_a_nul_in_a_text(bench: Bench, kind: pa.DataType) -> None:
    """The writer says which row it is, so that the error names the record."""
    rows = ["a", None, "b\0"] if kind == pa.string() else [["a", None], None, ["x"], [], ["y", "b\0"]]
    values = pa.array(rows, kind)
    with pytest.raises(RowError, match="holds a NUL, which PostgreSQL does not take") as found:
        publish(bench, {"value": values[1:]})
    assert found.value.row == len(rows) - 2
    publish(bench, {"value": values[:-1]})

    assert [row["value"] for row in bench.case.rows(bench.place)] == rows[:-1]


@pytest.mark.parametrize(
    ("columns", "problem", "corrected"),
    [
        ("value text", "needs an indexed column _window.*run ALTER TABLE", ""),
        ("other text, _window text", "needs an indexed column _window", "value text, _window text"),
        ("other text, _window text, {i}", "has no column 'value'", "value text, _window text, {i}"),
        ("value int, _window text, {i}", "as integer, not string; cast", "value varchar(9), _window text, {i}"),
        ("value text, x int NOT NULL, _window text, {i}", "needs column 'x'", "value text, x int, _window text, {i}"),
    ],
)  # fmt: skip
def test_a_table_of_another_schema(
    bench: Bench, sql: psycopg.Connection[Any], columns: str, problem: str, corrected: str
) -> None:
    """Refused before anything is read where the columns are known, else at the commit; a corrected table takes it."""
    table = bench.option.uri

    def make(columns: str) -> None:
        sql.execute(f"DROP TABLE IF EXISTS {table}")
        sql.execute(f"CREATE TABLE {table} ({columns.removesuffix(', {i}')})")
        if columns.endswith("{i}"):
            sql.execute(f"CREATE INDEX ON {table} (_window)")

    make(columns)
    with pytest.raises(OptionsError, match=problem) as found:
        bench.sink.prepare(pa.schema([("value", pa.string())]), "")
    steps = bench.steps(bench.stage("a"))
    with pytest.raises(ProofError, match=problem):
        bench.apply(steps)
    if corrected.endswith("{i}"):
        make(corrected)
    else:
        sql.execute(str(found.value).partition("; run ")[2])
        if corrected:
            sql.execute(f"ALTER TABLE {table} RENAME COLUMN other TO value")
    bench.apply(steps)

    assert bench.values() == ["a", "a"]


@pytest.mark.parametrize(
    ("held", "kind", "is_taken"),
    [("bigint", pa.int8(), True), ("smallint", pa.int8(), True), ("integer", pa.int64(), False),
     ("numeric", pa.decimal128(38, 5), True), ("numeric(5,1)", pa.decimal128(5, 2), False),
     ("double precision", pa.float32(), True), ("date", pa.timestamp("us"), False),
     ("bigint[]", pa.list_(pa.int64()), True), ("character varying(9)[]", pa.list_(pa.int8()), False)],
)  # fmt: skip
def test_a_value_is_never_rounded_or_cut(
    bench: Bench, sql: psycopg.Connection[Any], held: str, kind: pa.DataType, *, is_taken: bool
) -> None:
    """A column must hold all values of the type."""
    sql.execute(f"CREATE TABLE {bench.option.uri} (x {held}, _window text)")
    sql.execute(f"CREATE INDEX ON {bench.option.uri} (_window)")
    if is_taken:
        value = [[7]] if pa.types.is_list(kind) else [7]
        publish(bench, {"x": pa.array(value).cast(kind)})
        return
    with pytest.raises(OptionsError, match="cast it to the table's type"):
        bench.sink.prepare(pa.schema([("x", kind)]), "")


def test_rows_of_others_stay(bench: Bench, sql: psycopg.Connection[Any]) -> None:
    """Rows without a window are nobody's, through publish, rebuild and undo."""
    old = bench.publish("a")
    sql.execute(f"ALTER TABLE {bench.option.uri} ALTER COLUMN _window DROP NOT NULL")
    sql.execute(f"INSERT INTO {bench.option.uri} (value) VALUES ('foreign')")  # noqa: S608
    new = bench.stage("b", generation=2)
    bench.apply(bench.steps(new, old))
    assert bench.values() == ["b", "b", "foreign"]

    assert (bench.undo(new), bench.values()) == (1, ["foreign"])


@pytest.mark.parametrize("generation", [1, 2])
def test_two_publishers_at_once(bench: Bench, monkeypatch: pytest.MonkeyPatch, generation: int) -> None:
    """The second commit of one change finds the first one's marker, also when both make the table."""
    if generation > 1:
        bench.publish("old")
    steps = bench.steps(bench.stage("a", generation=generation))
    racing(monkeypatch, lambda: bench.apply(steps), RowTable)
    bench.apply(steps)

    assert bench.values() == ["a", "a"]


@pytest.mark.parametrize("change", ["DROP TABLE {}", "ALTER TABLE {} ADD COLUMN extra int"])
def test_a_table_that_changes_before_the_commit(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, sql: psycopg.Connection[Any], change: str
) -> None:
    """It is looked at again, and made again where it is gone."""
    bench.publish("other", window="cd34")
    steps = bench.steps(bench.stage("a"))
    racing(monkeypatch, lambda: sql.execute(change.format(bench.option.uri)), RowTable)
    bench.apply(steps)

    assert bench.values() == (["a", "a"] if "DROP" in change else ["a", "a", "other", "other"])


def test_a_table_that_was_made_again(bench: Bench, sql: psycopg.Connection[Any]) -> None:
    """What the ledger knows as published is not there: it is not taken for published, and a rebuild brings it back."""
    bench.publish("a")
    sql.execute(f"DROP TABLE {bench.option.uri}")
    bench.publish("other", window="cd34")
    assert [bench.states(bench.steps(bench.stage("a")))[0].value, bench.values()] == ["not applied", ["other", "other"]]
    bench.publish("a", generation=2)

    assert bench.values() == ["a", "a", "other", "other"]


def test_taking_back_what_never_came(bench: Bench) -> None:
    """The rows of the published generation stay, and a late publisher of the lost one adds nothing."""
    old = bench.publish("a")
    lost = bench.stage("b", generation=2)
    steps, late = bench.steps(lost, old), bench.marker
    assert bench.sink.undo(bench.placed(lost, 2), bench.marker_of(generation=2, change=Change.TAKE_BACK)) == 0
    with pytest.raises(ProofError, match="a later change"):
        bench.sink.apply(steps, late, lambda: None)

    assert bench.values() == ["a", "a"]


def test_a_window_of_another_ledger(bench: Bench) -> None:
    """Its rows are not replaced."""
    bench.publish("a")
    steps = bench.steps(bench.stage("b"))
    with pytest.raises(ProofError, match=r"that ledger 'l' published.*use that ledger, or another table"):
        bench.sink.apply(steps, replace(bench.marker, ledger="m"), lambda: None)

    assert bench.values() == ["a", "a"]


def test_a_connection_that_the_server_closes_between_two_steps(bench: Bench, sql: psycopg.Connection[Any]) -> None:
    """Servers and firewalls end idle ones, and a proof takes its time; the commit then opens another one."""
    asked = make_sink(STORES, replace(bench.option, url=f"{own_postgres()}&application_name=idle"))
    steps = bench.steps(bench.stage("a"))
    asked.prepare(None, "")
    sql.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'idle'")
    asked.apply(steps, bench.marker, lambda: None)

    assert bench.values() == ["a", "a"]


def test_a_database_that_is_down(bench: Bench, tmp_path: Path) -> None:
    """A retry succeeds once the server is there; the URL of the connection, with its password, is not shown."""
    server, _, socket = own_postgres().replace("postgres:@", "postgres:secret-word@").partition("?host=")
    access = {"c": {"uri": f"{server}?host={tmp_path}/run"}}
    asked = make_sink(STORES, replace(bench.option, url=None, postgres_conn_id="c"), access=access)
    steps = bench.steps(bench.stage("a"))
    with pytest.raises(TransientError, match=r"cannot be reached.*; retry when it is") as found:
        asked.apply(steps, bench.marker, lambda: None)
    assert "secret-word" not in str(found.value)
    (tmp_path / "run").symlink_to(socket)
    asked.apply(steps, bench.marker, lambda: None)
    assert bench.values() == ["a", "a"]


@pytest.mark.parametrize(
    ("url", "base", "own"),
    [
        ("postgresql://me:a?b@host/db", "postgresql://me:a?b@host/db?", []),
        (
            "postgres://host/db?user=me@org&connect_timeout=7",
            "postgres://host/db?",
            ["user=me@org", "connect_timeout=7"],
        ),
        ("", "", []),
    ],
)
def test_a_server_that_is_gone_without_a_word(
    url: str, base: str, own: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its silence ends a connection after two minutes, not after two hours; parameters of the URL take precedence."""
    opened: list[str] = []

    def refuse(address: str) -> NoReturn:
        opened.append(address)
        raise ConnectionError

    monkeypatch.setattr(connections.dbapi, "connect", refuse)
    with pytest.raises(ConnectionError), connections.Connections(url).transaction():
        pass
    ours = {"tcp_user_timeout=120000", "keepalives_idle=30", "keepalives_interval=15", "keepalives_count=6"}
    ours.add("client_encoding=UTF8")
    timeout = [] if own else ["connect_timeout=10"]
    expected = {*own, *timeout, *ours} if url else {""}
    assert (opened[0].startswith(base), set(opened[0].removeprefix(base).split("&"))) == (True, expected)
