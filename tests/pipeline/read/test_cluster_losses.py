"""A real standalone cluster that loses executors and what they hold, or whose Python is the wrong one."""

from __future__ import annotations

import json
import venv
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_blockread.errors import SparkJobError
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import ArrowFunction, DataFrameFunction, Splitting
from airflow_provider_blockread.steps import plan
from tests.pipeline.cluster import Cluster, spark_submitter
from tests.pipeline.make import Pipe

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore", "error:::airflow_provider_blockread"),  # Airflow's dependencies warn
]

_FILES = {f"{name}.txt": b"".join(b"%s %d\n" % (name.encode(), i) for i in range(5)) for name in "abcdef"}
_GOOD = sorted(f"{name} {i}" for name in "abcdef" for i in range(5))


@pytest.fixture
def logged(on_cluster: Pipe, cluster: Cluster) -> Callable[..., Pipe]:
    """The pipeline whose applications write their events, under further settings."""
    folder = on_cluster.folder / "events"
    folder.mkdir()

    def made(**settings: str) -> Pipe:
        conf = {key.replace("_", "."): value for key, value in settings.items()}
        where = {"spark.eventLog.dir": f"file://{folder}", "spark.eventLog.compress": "false"}
        events = {"spark.eventLog.enabled": "true"} | where
        on_cluster.submitter = spark_submitter(cluster.job(on_cluster.folder, events | conf))
        return on_cluster

    return made


def _events(pipe: Pipe, kind: str) -> Iterator[dict[str, Any]]:
    """Yield the events of a kind of all applications."""
    for file in sorted(path for path in (pipe.folder / "events").rglob("*") if path.is_file()):
        for line in file.read_text().splitlines():
            event = json.loads(line) if line.startswith("{") else {}
            if event.get("Event") == f"SparkListener{kind}":
                yield event


def _settings(pipe: Pipe) -> dict[str, str]:
    (event, *_) = _events(pipe, "EnvironmentUpdate")
    return dict(event["Spark Properties"])


def test_executors_come_and_go_by_dynamic_allocation(logged: Callable[..., Pipe]) -> None:
    """As many as the plan chose readers; one that is idle while the other reads goes, and nothing is lost with it."""
    pipe = logged(spark_executor_cores="1", spark_dynamicAllocation_executorIdleTimeout="1s")
    pipe.put(_FILES | {"z.txt": b"linger here\n"})
    pipe.function = ArrowFunction("user_functions:lingers")
    request = pipe.request("w")
    splitting = replace(request.splitting, target_minutes=1e-9, max_readers=2)
    ref = plan(pipe.env, replace(request, splitting=splitting))
    assert get_window(pipe.env.ledger, ref.window).readers == 2
    pipe.read(ref)
    pipe.commit(ref)

    assert pipe.values() == sorted([*_GOOD, "linger here"])
    found = {name.removeprefix("spark.dynamicAllocation."): value for name, value in _settings(pipe).items()}
    assert (found["enabled"], found["initialExecutors"], found["maxExecutors"]) == ("true", "2", "2")
    assert len(list(_events(pipe, "ExecutorAdded"))) == 2
    assert len(list(_events(pipe, "ExecutorRemoved"))) >= 1


def test_an_application_gets_no_more_cores_than_readers(logged: Callable[..., Pipe]) -> None:
    """Where an executor has all cores of its worker, these are limited: one of two workers serves one reader."""
    pipe = logged()
    pipe.put(_FILES)
    ref = plan(pipe.env, replace(pipe.request("w"), splitting=Splitting(max_readers=1)))
    pipe.read(ref)
    pipe.commit(ref)

    assert pipe.values() == _GOOD
    assert _settings(pipe)["spark.cores.max"] == "1"
    assert len(list(_events(pipe, "ExecutorAdded"))) == 1


@pytest.mark.parametrize(
    "function", [ArrowFunction("user_functions:kills_spark"), DataFrameFunction("user_frames:kills_after_a_shuffle")]
)
def test_an_executor_is_killed_in_mid_read(logged: Callable[..., Pipe], function: Any) -> None:
    """With SIGKILL, when it has finished tasks and is in the middle of another; a shuffle's output is made again."""
    pipe = logged(spark_sql_adaptive_enabled="false")
    pipe.put(_FILES | {"z.txt": b"kill here\n"})
    pipe.function = function
    done = pipe.run()

    assert (pipe.folder / "killed").exists()
    assert pipe.values() == sorted([*_GOOD, "kill here"])
    assert (done.records, done.rows, len(pipe.published())) == (31, 31, done.outputs)
    assert len(list(_events(pipe, "ExecutorRemoved"))) >= 1
    again = Counter(event["Stage Info"]["Stage ID"] for event in _events(pipe, "StageCompleted"))
    if isinstance(function, DataFrameFunction):
        assert max(again.values()) > 1, "no stage was run again for what it lost"


def test_a_result_that_is_lost(logged: Callable[..., Pipe]) -> None:
    """What a task reports is lost with its executor, before the driver has it: the task is run again, counted once."""
    pipe = logged(spark_task_maxDirectResultSize="64", spark_resultGetter_threads="1")
    pipe.put(_FILES | {"z.txt": b"kill here\n"})
    pipe.function = ArrowFunction("user_functions:kills_spark_later")
    done = pipe.run()

    assert pipe.values() == sorted([*_GOOD, "kill here"])
    assert (done.records, done.rows, len(pipe.published())) == (31, 31, done.outputs)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A Python of this version, without any package."""
    venv.create(tmp_path / "bare", symlinks=True)
    return tmp_path / "bare" / "bin" / "python"


def _other_version(python: Path) -> Path:
    """Make a Python say that it is of another version, as Spark asks it."""
    site = next((python.parents[1] / "lib").glob("python*")) / "site-packages"
    (site / "sitecustomize.py").write_text(
        "import collections, sys\n"
        "kind = collections.namedtuple('version_info', 'major minor micro releaselevel serial')\n"
        "sys.version_info = kind(3, 13 - (sys.version_info[1] == 13), 0, 'final', 0)\n"
    )
    return python


@pytest.mark.parametrize(
    ("spoilt", "says"),
    [
        (lambda python: python, "ModuleNotFoundError: No module named 'pyarrow'; install it on all workers"),
        (_other_version, "different version.*; let spark.pyspark.python name the driver's version of Python"),
    ],
    ids=["without pyarrow", "of another version"],
)
def test_executors_of_another_python(
    on_cluster: Pipe, cluster: Cluster, bare: Path, spoilt: Callable[[Path], Path], says: str
) -> None:
    """The error says what is to be done where; nothing is published, and a retry under the right Python works."""
    on_cluster.put(_FILES)
    right, on_cluster.submitter = (
        on_cluster.submitter,
        spark_submitter(
            cluster.job(on_cluster.folder, {"spark.pyspark.python": str(spoilt(bare)), "spark.task.maxFailures": "1"})
        ),
    )
    ref = on_cluster.plan()
    with pytest.raises(SparkJobError, match=says) as raised:
        on_cluster.read(ref)
    assert "\n" not in str(raised.value)
    assert on_cluster.published() == []
    on_cluster.submitter = right
    on_cluster.read(ref)
    on_cluster.commit(ref)

    assert on_cluster.values() == _GOOD
