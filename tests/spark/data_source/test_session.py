"""`spark.read.format("blockread")` in a session with a JVM."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from airflow_provider_blockread.spark import register
from tests.servers.store import Store
from tests.spark.data_source.counting import count_for_one_load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder whose files have names that globs would take apart, and one of which is compressed."""
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


def test_a_table_of_a_catalog(spark: SparkSession, folder: Path) -> None:
    """It is refused where it is made, and a temporary view has the rows."""
    from pyspark.errors import AnalysisException

    options = f"OPTIONS (format 'csv', header 'true', path '{folder}')"
    with pytest.raises(AnalysisException, match=r"write CREATE TEMPORARY VIEW .* USING blockread OPTIONS"):
        spark.sql(f"CREATE TABLE landed_rows USING blockread {options}")
    spark.sql(f"CREATE TEMPORARY VIEW landed_rows USING blockread {options}")
    try:
        assert spark.sql("SELECT id FROM landed_rows").count() == 4
    finally:
        spark.catalog.dropTempView("landed_rows")


def test_writing_and_streaming(spark: SparkSession, folder: Path) -> None:
    """They are refused in one line that says what to do instead, whatever the path and the options."""
    from pyspark.errors import AnalysisException, StreamingQueryException

    rows = spark.createDataFrame([("a",)], "value string")
    for target in (folder, folder / "new"):
        with pytest.raises(AnalysisException) as refused:
            rows.write.format("blockread").mode("append").save(str(target))
        assert str(refused.value).splitlines()[0].endswith("as they arrive, run windows with `blockread run`")

    rate = spark.readStream.format("rate").load().selectExpr("CAST(value AS string) AS value")
    into = rate.writeStream.format("blockread").option("checkpointLocation", str(folder / "offsets"))
    stream = spark.readStream.format("blockread").load(str(folder)).writeStream.format("noop")
    for writer in (into, stream):
        with pytest.raises(StreamingQueryException, match=r"blockread neither writes nor streams") as failed:
            writer.start().awaitTermination(30)
        assert "Traceback" not in str(failed.value)


def test_an_empty_source(spark: SparkSession, tmp_path: Path) -> None:
    """A folder without files has no rows, and the columns that were declared."""
    found = spark.read.format("blockread").option("format", "csv").schema("id long").load(str(tmp_path))

    assert (found.columns, found.count()) == (["id"], 0)
    assert spark.read.format("blockread").load(str(tmp_path)).collect() == []


def test_one_listing_and_one_scan(spark: SparkSession, tmp_path: Path) -> None:
    """All queries of one `load` share them; with Spark 4.0, whose queries plan each for itself, only the listing."""
    counts, listed, scanned = count_for_one_load(spark, tmp_path)

    assert counts == [9, 6, 0, 9]
    assert len(listed) == 1
    assert sorted(set(scanned) if spark.version.startswith("4.0.") else scanned) == ["0-12", "12-24", "24-36", "36-48"]


def test_an_error_is_one_line(spark: SparkSession, folder: Path) -> None:
    """At `load` and in a task the message is all that is added to Spark's words."""
    from pyspark.errors import AnalysisException, PythonException

    with pytest.raises(AnalysisException) as raised:
        spark.read.format("blockread").option("header", "true").load(str(folder))
    said = str(raised.value).splitlines()
    assert said[0].endswith("blockread has no option 'header' for format 'lines'; did you mean 'header' of csv?")
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


def test_filters_lose_no_rows(spark: SparkSession, folder: Path) -> None:
    """Where Spark offers filters, queries of one DataFrame have their rows, whatever filters others have.

    Spark 4.3 would keep the partitions that filters left for a later query that has none to offer.
    """
    (folder / "many").write_bytes(b"1\n" * 20)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        options = {"block_size": "2", "columns": "*,_file,_block", "pattern": "many"}
        found = spark.read.format("blockread").options(**options).load(str(folder))
        rows = [found.where(w).count() for w in ("_block = 3", "_file = 'x'", "value = '2' OR _block < 5", "true")]
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")

    assert rows == [1, 0, 5, 20]


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
def test_a_task_that_is_tried_again(spark: SparkSession, folder: Path) -> None:
    """A partition that is read again has the same rows, once."""

    def fail_first(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        for number, batch in enumerate(batches):
            if TaskContext.get().attemptNumber() == 0 and number == 0:  # type: ignore[union-attr]
                yield batch
                raise RuntimeError
            yield batch

    (folder / "many").write_bytes(b"".join(b"%d\n" % number for number in range(1000)))
    found = spark.read.format("blockread").option("block_size", "500").load(str(folder / "many"))

    assert found.rdd.getNumPartitions() == 8
    assert sorted(int(row.value) for row in found.mapInArrow(fail_first, "value string").collect()) == list(range(1000))


def test_storage_options_open_a_store_and_stay_secret(spark: SparkSession, moto: Store) -> None:
    """They reach the processes of driver and tasks, and are in no plan and no option."""
    root = moto.new_root()
    with moto.stores(root).open_write(f"{root}/in/a [1].csv.gz") as file:
        file.write(gzip.compress(b'id,msg\n1,"a\nb"\n2,c\n', mtime=0))
    register(spark, storage_options={root: moto.options})
    try:
        found = spark.read.format("blockread").options(format="csv", header=True).load(f"{root}/in")
        assert sorted(map(tuple, found.collect())) == [(1, "a\nb"), (2, "c")]
        shown = found._jdf.queryExecution().toString() + str(found._jdf.queryExecution().logical().toJSON())
    finally:
        register(spark)

    assert "blockread" in shown
    assert not [secret for secret in moto.secrets if secret in shown]
