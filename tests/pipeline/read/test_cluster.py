"""A real standalone cluster: Spark repeats and duplicates tasks, and what is published does not show it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from airflow_provider_blockread.options import (
    ArrowFunction,
    CustomFormat,
    DataFrameFunction,
    FunctionOption,
    Policies,
)
from airflow_provider_blockread.spark.bundle import write_bundle
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


def test_bundle_is_complete(tmp_path: Path) -> None:
    """All that a task imports is in the zip: an interpreter without this repository, Airflow or SQL imports it."""
    folder = tmp_path / "bundle"
    folder.mkdir()
    bundle = write_bundle(str(folder))
    site = Path(ds.__file__).parent.parent
    code = f"""
import sys
sys.path[:] = [p for p in sys.path if "site-packages" not in p]
sys.path.insert(0, {bundle!r})
class Wall:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("airflow", "sqlalchemy", "alembic", "click", "rich"):
            raise ImportError(name)
sys.meta_path.insert(0, Wall())
sys.path.append({str(site)!r})
import airflow_provider_blockread.spark.job as job, airflow_provider_blockread.spark.tasks.partition
import airflow_provider_blockread
assert airflow_provider_blockread.__file__.startswith({bundle!r}), airflow_provider_blockread.__file__
assert job.__file__.startswith({bundle!r})
assert not any(name.startswith(("pyspark", "fsspec")) for name in sys.modules)  # they take long to load
"""
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True, cwd=tmp_path, env={"PATH": os.defpath})


def test_bundle_is_the_same_every_time(tmp_path: Path) -> None:
    """The same version makes the same bytes, and no process leaves a half-written zip behind."""
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    first, second = (Path(write_bundle(str(folder))) for folder in folders)

    assert first.read_bytes() == second.read_bytes()
    assert [path.name for path in folders[0].iterdir()] == [first.name]
