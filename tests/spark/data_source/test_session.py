"""`spark.read.format("blockread")` in a session with a JVM."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from airflow_provider_blockread.spark import register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """Yield a session that knows the data source."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("test")
    conf = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    conf["spark.python.unix.domain.socket.enabled"] = "true"
    session = builder.config(map=conf).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    register(session)
    yield session
    session.stop()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder whose files have names that globs would take apart, and one of which is compressed."""
    import gzip

    (tmp_path / "a [x{ y.csv").write_bytes(b'id,msg\n1,"a\nb"\n2,c\n')
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b'id,msg\n3,"d,\n"\n4,\n', mtime=0))
    return tmp_path


def test_lines_csv_and_json(spark: SparkSession, folder: Path) -> None:
    """Raw records need no schema, csv may infer its own, and JSON takes that of `.schema(...)`."""
    read = spark.read.format("blockread").option("block_size", "4")
    lines, csv = read.load(str(folder)), read.option("format", "csv").option("header", "true").load(str(folder))
    (folder / "c.jsonl").write_text('{"id": 5, "at": "2026-01-02T03:04:05Z"}\n\n{"id": 6}\n', encoding="utf-8")
    json = spark.read.format("blockread").option("format", "json_lines").schema("id long, at timestamp, _block long")
    events = json.load(str(folder / "c.jsonl"))

    assert [row.value for row in lines.limit(4).collect()] == ["id,msg", '1,"a', 'b"', "2,c"]
    assert csv.schema.simpleString() == "struct<id:bigint,msg:string>"
    assert sorted(map(tuple, csv.collect())) == [(1, "a\nb"), (2, "c"), (3, "d,\n"), (4, None)]
    assert [(row.id, row._block) for row in events.collect()] == [(5, 0), (6, 0)]
    assert events.selectExpr("unix_seconds(at)").first() == (1767323045,)


def test_an_empty_source(spark: SparkSession, tmp_path: Path) -> None:
    """A folder without files has no rows, and the columns that were declared."""
    found = spark.read.format("blockread").option("format", "csv").schema("id long").load(str(tmp_path))

    assert (found.columns, found.count()) == (["id"], 0)
    assert spark.read.format("blockread").load(str(tmp_path)).collect() == []


def test_an_error_is_one_line(spark: SparkSession, folder: Path) -> None:
    """At `load` and in a task the message is all that is added to Spark's words."""
    from pyspark.errors import AnalysisException, PythonException

    with pytest.raises(AnalysisException) as raised:
        spark.read.format("blockread").option("header", "true").load(str(folder))
    said = str(raised.value).splitlines()
    assert said[0].endswith("blockread has no option 'header' for format 'lines'; it is an option of csv")
    assert "Traceback" not in str(raised.value)

    found = spark.read.format("blockread").option("format", "csv").schema("id long, msg string").load(str(folder))
    with pytest.raises(PythonException) as failed:
        found.collect()
    said = str(failed.value).strip().splitlines()
    assert len(said) == 2
    assert "errors.RecordError: csv record at byte 0 of file://" in said[1]
    assert said[1].endswith("or set on_bad_record to 'drop'")


def test_queries_agree(spark: SparkSession, folder: Path) -> None:
    """A file that arrives after `load` is in no query of it, so that a join sees one set of files."""
    found = spark.read.format("blockread").option("columns", "_file,_offset").load(str(folder))
    before = found.count()
    (folder / "new").write_bytes(b"1\n2\n")

    assert found.join(found, ["_file", "_offset"]).count() == before == found.count()
    assert spark.read.format("blockread").load(str(folder)).count() == before + 2
