"""Folders of staged records with names that Spark hides, takes for patterns or partitions, or decodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_blockread.cli.spark import InProcessSpark
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.options import Csv, DataFrameFunction
from airflow_provider_blockread.spark.frames.records import ROWS_A_BATCH, records_frame
from airflow_provider_blockread.storage.stores import Stores
from tests.pipeline.make import Pipe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("x", pa.int64()), ("word", pa.string())])
#: All but the last ones are opened by Spark itself.
NAMES = (
    *("_out/x=1/.y", ".hidden", "_temporary/0", "x=2/word=%5F", "x=__HIVE_DEFAULT_PARTITION__", "a b", "a+b&c"),
    *("%41%2F%25", "#1", "c:d,e;f", "café", "'q\"", "~$", "a [b]", "{a,b}", "st*r", "what?", "back\\slash"),
)


@pytest.fixture(scope="module")
def session(spark: InProcessSpark) -> Iterator[SparkSession]:
    """Spark's session."""
    with spark._started().session(title="test", report=lambda _: None) as opened:
        yield opened


@pytest.mark.parametrize("name", NAMES)
def test_staged_files_below_any_folder(session: SparkSession, tmp_path: Path, name: str) -> None:
    """The DataFrame has the rows and columns of the files, and nothing that a path seems to say."""
    folder = tmp_path / name / "records"
    folder.mkdir(parents=True)
    files = []
    for number in range(2):
        path = folder / f"part-{number}.parquet"
        pq.write_table(pa.table({"x": [number, 7], "word": ["a", None]}, SCHEMA), path)
        files.append(OutputFile(uri=f"file://{path}", size=path.stat().st_size, rows=2))
    frame = records_frame(session, SCHEMA, files, Stores, "")

    assert frame.columns == ["x", "word"]
    assert sorted(map(tuple, frame.collect()), key=repr) == [(0, "a"), (1, "a"), (7, None), (7, None)]


@pytest.mark.parametrize("name", ["_out/x=1/.y", "a b/%41#/[c]"])
def test_a_window_into_such_a_folder(pipe: Pipe, name: str) -> None:
    """It is staged in the work area beside the output, read again as the function likes, and published."""
    pipe.out_name = name
    pipe.put({"a.csv": b"1,a\n2,b\n"})
    pipe.record_format, pipe.function = Csv(schema="x long, word string"), DataFrameFunction("user_frames:identity")
    done = pipe.run()

    assert (done.records, done.rows) == (2, 2)
    assert sorted((found["x"], found["word"]) for found in pipe.rows()) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("limit", ["0", "-1"])
def test_a_session_without_a_limit_for_batches(session: SparkSession, pipe: Pipe, limit: str) -> None:
    """Where Spark's JVM cannot open the staged files, the function sees their records all the same."""
    pipe.out_name = "out [1]"
    pipe.put({"a.csv": b"1,a\n2,b\n"})
    pipe.record_format, pipe.function = Csv(schema="x long, word string"), DataFrameFunction("user_frames:identity")
    session.conf.set(ROWS_A_BATCH, limit)
    try:
        done = pipe.run()
    finally:
        session.conf.unset(ROWS_A_BATCH)

    assert (done.records, done.rows) == (2, 2)
