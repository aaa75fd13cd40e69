"""A real standalone cluster: Spark repeats and duplicates tasks, and what is published does not show it."""

from __future__ import annotations

import pyarrow.dataset as ds
import pytest

from airflow_provider_blockread.options import (
    ArrowFunction,
    CustomFormat,
    DataFrameFunction,
    FunctionOption,
    Policies,
)
from tests.pipeline.cluster import Cluster, spark_submitter
from tests.pipeline.make import Pipe

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore", "error:::airflow_provider_blockread"),  # Airflow's dependencies warn
]


@pytest.fixture
def pipe(on_cluster: Pipe) -> Pipe:
    """A pipeline whose jobs go to the cluster by Airflow's Spark hook."""
    return on_cluster


def test_executors_need_only_the_bundle(pipe: Pipe) -> None:
    """On two executors a file is scanned and read, by code that comes from the job's zip and no installation."""
    pipe.put({"a.txt": b"".join(b'"%d\n%d"\nplain %d\n' % (i, i, i) for i in range(30))})
    pipe.record_format, pipe.block_size = CustomFormat(path="quoted_lines:QuotedLines"), 11
    pipe.function = ArrowFunction("user_functions:where_am_i")
    pipe.run()

    assert pipe.values() == sorted([f'"{i}\n{i}"' for i in range(30)] + [f"plain {i}" for i in range(30)])
    [place] = {row["place"] for row in pipe.rows()}
    assert ".zip/airflow_provider_blockread/__init__.py" in place


_NAMES = ["a", "b", "c", "d"]
_FILES = {f"{name}.txt": b"".join(b"%s %d\n" % (name.encode(), i) for i in range(3)) + b"\xff bad\n" for name in _NAMES}
_GOOD = [f"{name} {i}" for name in _NAMES for i in range(3)]


def test_tasks_and_executors_that_fail(pipe: Pipe) -> None:
    """A task that raises and an executor that is killed are made good; output, quarantine and counts are exact."""
    pipe.kind, pipe.sink_options = "text", {"compression": "gzip", "per": "block"}
    pipe.put(_FILES | {"e.txt": b"fail here\n\xfe\n", "f.txt": b"kill here\n\xfd\n"})
    pipe.function = ArrowFunction("user_functions:fails_and_kills")
    pipe.policies = Policies(on_bad_record="quarantine")
    done = pipe.run()

    assert all((pipe.folder / mark).exists() for mark in ("failed", "killed"))
    assert pipe.values() == sorted([*_GOOD, "fail here", "kill here"])
    assert (done.records, done.bad_records, done.rows) == (20, 6, 14)
    kept = ds.dataset(done.quarantine_uri.removeprefix("file://"), format="parquet").to_table()
    assert sorted(kept["bytes"].to_pylist()) == [b"\xfd", b"\xfe", *[b"\xff bad"] * 4]


def test_tasks_and_executors_that_fail_under_a_dataframe(pipe: Pipe) -> None:
    """The same while a function's rows are written; its records are staged where both executors find them."""
    pipe.put(_FILES | {"e.txt": b"fail here\n\xfe\n", "f.txt": b"kill here\n\xfd\n"})
    pipe.function = DataFrameFunction("user_frames:fails_and_kills")
    pipe.policies = Policies(on_bad_record="drop")
    done = pipe.run()

    assert all((pipe.folder / mark).exists() for mark in ("failed", "killed"))
    assert pipe.values() == sorted([*_GOOD, "fail here", "kill here"])
    assert (done.records, done.bad_records, done.rows, len(pipe.published())) == (20, 6, 14, done.outputs)
    assert list(pipe.work.rglob("records/*")) == []


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "function",
    [ArrowFunction("user_functions:sleeps_once"), DataFrameFunction("user_frames:sleeps_once")],
    ids=["arrow", "dataframe"],
)
def test_speculative_duplicate(pipe: Pipe, cluster: Cluster, function: FunctionOption) -> None:
    """Two attempts at one task at the same time: the output holds the accepted one's rows, once."""
    pipe.put(_FILES | {"e.txt": b"sleep here\n\xfe\n"})
    speculation = {
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.quantile": "0.1",
        "spark.speculation.minTaskRuntime": "100ms",
    }
    pipe.submitter = spark_submitter(cluster.job(pipe.folder, speculation))
    pipe.function = function
    pipe.policies = Policies(on_bad_record="drop")
    done = pipe.run()

    assert (pipe.folder / "overtaken").exists()
    assert pipe.values() == sorted([*_GOOD, "sleep here"])
    assert (done.records, done.bad_records, done.rows) == (18, 5, 13)
    assert len(pipe.published()) == done.outputs
