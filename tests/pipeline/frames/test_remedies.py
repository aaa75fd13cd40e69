"""DataFrame functions and SQL that are refused: written as the message says, they are taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_blockread.cli.spark import InProcessSpark
from airflow_provider_blockread.errors import FunctionError, OptionsError, ProofError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.options import ArrowFunction, AsRead, Csv, DataFrameFunction, FrameFunction, Sql
from airflow_provider_blockread.spark.frames.records import read_file, records_frame
from airflow_provider_blockread.storage.stores import Stores
from tests.pipeline.make import Pipe, ReadHere

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_NUMBERS = count()  # of modules, which are imported once


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], DataFrameFunction]:
    """What writes a new module with the function, and names it."""
    folder = tmp_path / "code"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))

    def written(body: str) -> DataFrameFunction:
        name = f"frames_{next(_NUMBERS)}"
        (folder / f"{name}.py").write_text(f"def function(records):\n    {body}\n")
        return DataFrameFunction(f"{name}:function")

    return written


@pytest.fixture
def session(spark: InProcessSpark) -> Iterator[SparkSession]:
    """Spark's session."""
    with spark._started().session(title="test", report=lambda _: None) as opened:
        yield opened


@pytest.mark.parametrize(
    ("wrong", "says", "right"),
    [
        ("raise ValueError('no')", "correct it and clear the run", "return records"),
        ("return records.select('nope')", "correct it and clear the run", "return records.select('value')"),
        ("records.count()", "must return a DataFrame", "return records"),
        (
            "return records.selectExpr('array(parse_json(value)) AS value')",
            "column 'value' is of type array<variant>, which no output holds; cast it",
            "return records.selectExpr('to_json(parse_json(value)) AS value')",
        ),
        (
            "return records.selectExpr('array(st_geomfromwkb(unhex(value))) AS value')",
            "column 'value' is of type array<geometry.*>, which no output holds; cast it",
            "return records",
        ),
        (
            "return records.selectExpr(\"INTERVAL '1' YEAR AS value\")",
            "column 'value' is of type interval year, which no output holds .*YearMonth.*; cast it in the function",
            "return records.selectExpr('CAST(value AS string) AS value')",
        ),
        ("records.sparkSession.stop()", "leave out `spark.stop", "return records"),
    ],
)
def test_a_function_that_is_corrected(
    pipe: Pipe, write: Callable[[str], DataFrameFunction], wrong: str, says: str, right: str
) -> None:
    """The run that is cleared after the function was corrected publishes what that returns."""
    pipe.put({"a": b"1\n2\n"})
    pipe.function = write(wrong)
    with pytest.raises(FunctionError, match=says):
        pipe.run()
    pipe.function = write(right)

    assert pipe.run(clear_number=1).rows == 2
    assert pipe.values() == ["1", "2"]


@pytest.mark.parametrize(
    ("kind", "options", "query", "says", "right"),
    [
        ("delta", {}, "SELECT 1 AS a, 2 AS A", "do not distinguish columns.*rename", "SELECT 1 AS a, 2 AS b"),
        ("iceberg", {}, "SELECT INTERVAL '1' DAY AS a", "which tables do not hold; cast it", "SELECT 1 AS a"),
        ("parquet", {"partition_by": ["a"]}, "SELECT 1 AS b", "no column 'a' to partition by", "SELECT 1 AS a, 2 AS b"),
        ("parquet", {"sort_by": ["a"]}, "SELECT 1 AS b", "no column 'a' for sort_by", "SELECT 1 AS a"),
        ("parquet", {}, "SELECT 1 AS a, 2 AS A", "columns 'a' and 'A'.*rename one", "SELECT 1 AS a, 2 AS b"),
        (
            "parquet",
            {},
            "SELECT struct(1 AS a, 2 AS A) AS s",
            "columns 'a' and 'A'.*rename one",
            "SELECT struct(1 AS a, 2 AS b) AS s",
        ),
        ("parquet", {}, "SELECT NULL AS a", "column 'a' has type null, .*cast it", "SELECT CAST(NULL AS int) AS a"),
        ("parquet", {}, "SELECT array(NULL) AS a", "column 'a' has type list.*cast it", "SELECT array(1) AS a"),
        ("parquet", {"case_sensitive": False, "log": True}, "SELECT 1 AS a, 2 AS A", "rename one", "SELECT 1 AS a"),
    ],
)
def test_rows_that_a_sink_cannot_hold(
    pipe: Pipe, kind: str, options: dict[str, Any], query: str, says: str, right: str
) -> None:
    """What a query returns is checked as what an Arrow function returns; corrected, it is published."""
    pipe.kind, pipe.sink_options, pipe.function = kind, options, Sql(f"{query} FROM records")
    pipe.put({"a": b"1\n"})
    with pytest.raises(FunctionError, match=rf"^feed feed window \w+ group 0: a row of the SQL query: .*{says}"):
        pipe.run()
    pipe.function = Sql(f"{right} FROM records")

    assert pipe.run(clear_number=1).rows == 1


def test_a_schema_that_is_declared(pipe: Pipe) -> None:
    """Declared as it is, the schema is taken."""
    pipe.put({"a": b"1\n2\n"})
    pipe.function = DataFrameFunction("user_frames:identity", schema="value binary")
    with pytest.raises(FunctionError, match="return these columns and types, or declare others"):
        pipe.run()
    pipe.function = DataFrameFunction("user_frames:identity", schema="value string")

    assert pipe.run(clear_number=1).rows == 2


def test_nulls_where_the_declared_schema_has_none(pipe: Pipe) -> None:
    """They are refused; where they may be, they are published."""
    pipe.put({"a.csv": b"1,\n"})
    pipe.record_format = Csv(schema="id long, word string")
    pipe.function = DataFrameFunction("user_frames:identity", schema="id long, word string not null")
    with pytest.raises(FunctionError, match="column 'word' holds nulls, which it must not"):
        pipe.run()
    pipe.function = DataFrameFunction("user_frames:identity", schema="id long, word string")

    assert pipe.run(clear_number=1).rows == 1


@pytest.mark.parametrize(
    ("refused", "message", "schema"),
    [
        ("n uint8, m long", r"column 'n' is of type uint8, .*declare another type in the schema", "n short, m long"),
        ("n long, N long", r"distinguish columns 'n' and 'N'; rename one in the schema", "n long, m long"),
    ],
    ids=["type", "name"],
)
def test_a_column_that_no_dataframe_has(pipe: Pipe, refused: str, message: str, schema: str) -> None:
    """A column of another type or name is read, and nothing was planned before."""
    pipe.put({"a": b"1,2\n"})
    pipe.record_format, pipe.function = Csv(schema=refused), Sql("SELECT n + m AS s FROM records")
    with pytest.raises(OptionsError, match=message):
        pipe.plan()
    pipe.record_format = Csv(schema=schema)
    pipe.run()

    assert pipe.rows() == [{"s": 3}]


@pytest.mark.parametrize("function", [Sql("SELECT count(*) AS n FROM records"), DataFrameFunction("user_frames:rows")])
def test_a_window_in_several_groups(pipe: Pipe, function: FrameFunction) -> None:
    """By group the function is taken; so is one that the window was planned for."""
    pipe.put({"a": b"1\n2\n", "b": b"3\n"})
    pipe.group_bytes = 1
    assert pipe.plan().groups == 2
    pipe.function = function
    with pytest.raises(OptionsError, match="set scope='group' if each row depends on one record alone, or publish"):
        pipe.plan()
    if isinstance(function, Sql):
        pipe.function = Sql(function.query, scope="group")
        assert pipe.run().rows == 2
    else:
        pipe.function = AsRead()
        assert pipe.run().rows == 3


def test_without_spark(pipe: Pipe) -> None:
    """In a process without Spark, a function of batches is taken."""
    pipe.put({"a": b"1\n2\n"})
    pipe.submitter, pipe.function = ReadHere(), Sql("SELECT value FROM records WHERE value = 2")
    with pytest.raises(OptionsError, match="need Spark, and this process runs without it; use an ArrowFunction"):
        pipe.run()
    pipe.function = ArrowFunction("user_functions:keep_even")

    assert pipe.run(clear_number=1).rows == 1


def test_staged_files_that_were_harmed(session: SparkSession, tmp_path: Path) -> None:
    """A file with other rows than its writer reported is refused in both ways of reading; the right one is taken."""
    path, schema = tmp_path / "part.parquet", pa.schema([("n", pa.int64())])
    pq.write_table(pa.table({"n": [1, 2]}, schema), path)
    size = path.stat().st_size
    harmed, whole = (OutputFile(uri=f"file://{path}", size=size, rows=rows) for rows in (3, 2))

    with pytest.raises(ProofError, match="Spark finds 2 records in the staged files, 3 were written; clear the"):
        records_frame(session, schema, [harmed], Stores, "")
    with pytest.raises(ProofError, match="holds 2 rows, 3 were written; clear the group's task"):
        list(read_file(Stores(), harmed, schema))
    assert records_frame(session, schema, [whole], Stores, "").count() == 2
    assert [batch.num_rows for batch in read_file(Stores(), whole, schema)] == [2]
    path.write_bytes(path.read_bytes()[:4] + b"\xff" * 9 + path.read_bytes()[13:])
    with pytest.raises(ProofError, match=r"part.parquet is truncated or not a Parquet file; clear the group"):
        list(read_file(Stores(), whole, schema))
