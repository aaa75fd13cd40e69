"""Spark applications that die: the error says so, nothing is published, and the retry completes the window."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import ConflictError, RecordError, SparkJobError
from airflow_provider_blockread.options import ArrowFunction, CustomFormat, SparkJob
from tests.pipeline.cluster import spark_submitter
from tests.pipeline.make import Pipe

pytestmark = pytest.mark.spark


def test_python_worker_that_dies(pipe: Pipe) -> None:
    """A Python worker that is gone in each attempt fails the job; the error names the group, and what ends workers."""
    pipe.put({"a.txt": b"a1\n", "b.txt": b"b1\n"})
    pipe.function = ArrowFunction("user_functions:dies")
    ref = pipe.plan()
    said = rf"^feed feed window {ref.window} group 0: the Spark job failed: Job aborted.*; if it was killed for memory"
    with pytest.raises(SparkJobError, match=said):
        pipe.read(ref)
    assert pipe.published() == []
    (Path(os.environ["BLOCKREAD_TEST_MARKS"]) / "survives").touch()
    pipe.read(ref)
    pipe.commit(ref)

    assert pipe.values() == ["a1", "b1"]


def test_format_that_raises(pipe: Pipe) -> None:
    """What a format of one's own raises in a task is reported in the error, not only in Spark's log."""
    pipe.put({"a.txt": b"a1\n?\n"})
    pipe.record_format = CustomFormat(path="user_functions:Breaks")
    with pytest.raises(RecordError, match=r"/a\.txt: format \w+ fails at byte 0 \(KeyError: 'no idea what \? means'\)"):
        pipe.run()

    assert pipe.published() == []


@pytest.mark.filterwarnings("ignore", "error:::airflow_provider_blockread")  # Airflow's dependencies warn
def test_application_that_is_killed(here: Pipe) -> None:
    """A spark-submit that is killed fails its group alone, names the application, and is completed by a retry."""
    here.put({"a.txt": b"a1\n", "b.txt": b"kill here\n"})
    here.group_bytes = 3
    ref = here.plan()
    here.read(ref, groups=[0])
    here.function = ArrowFunction("user_functions:kills_spark")
    ref = here.plan()
    conf = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false"}
    quick, here.submitter = (
        here.submitter,
        spark_submitter(SparkJob(master="local[1]", conf=conf, environment=("BLOCKREAD_TEST_*",))),
    )
    with pytest.raises(SparkJobError, match=rf"blockread-{ref.window}-g2-1-e1: the Spark application failed"):
        here.read(ref, groups=[1])
    with pytest.raises(ConflictError, match=r"groups 0 \(waiting\), 1 \(failed\) are not done"):
        here.commit(ref)
    assert here.published() == []
    here.submitter = quick
    assert [outcome.epoch for outcome in here.read(ref)] == [1, 2]
    here.commit(ref)

    assert here.values() == ["a1", "kill here"]
