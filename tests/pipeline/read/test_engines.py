"""What a job may expect of every engine."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path

import pytest

from airflow_provider_blockread.cli.spark import InProcessSpark
from airflow_provider_blockread.errors import FileMissingError, SparkJobError
from airflow_provider_blockread.spark.engines.in_process import InProcessEngine
from airflow_provider_blockread.spark.engines.protocol import Engine, Progress
from tests.pipeline.read.engine_tasks import divides, doubled, misses_a_file, waits


@pytest.fixture(params=["in process", pytest.param("rdd", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine."""
    if request.param == "in process":
        return InProcessEngine(cores=2)
    spark: InProcessSpark = request.getfixturevalue("spark")
    return spark._started()


def _ignore(_: Progress) -> None:
    """Report to nobody."""


def test_answers_are_in_the_order_of_the_items(engine: Engine) -> None:
    """Each item is answered once, and each attempt has a number of its own."""
    answers = engine.run(doubled, range(9), title="doubling", report=_ignore)

    assert [answer for answer, _ in answers] == list(range(0, 18, 2))
    assert len({attempt for _, attempt in answers}) == 9
    assert engine.run(doubled, [], title="nothing", report=_ignore) == []
    assert (engine.cores, engine.may_grow) == (2, False)


def test_an_error_of_the_package_is_raised_as_itself(engine: Engine) -> None:
    """With the path that it names."""
    with pytest.raises(FileMissingError, match=r"^it is gone$") as caught:
        engine.run(misses_a_file, range(5), title="reading", report=_ignore)

    assert caught.value.path == "/in/a.csv"


def test_any_other_error_fails_the_job(engine: Engine) -> None:
    """With its own words in one line."""
    with pytest.raises(SparkJobError, match="division by zero") as caught:
        engine.run(divides, [1, 0], title="dividing", report=_ignore)

    assert "\n" not in str(caught.value)


def test_a_run_that_is_cancelled(engine: Engine, tmp_path: Path) -> None:
    """It ends with an error, from another thread; the next run is not touched."""
    folder = tmp_path / "working"
    folder.mkdir()

    def cancel() -> None:
        deadline = time.monotonic() + 60
        while not list(folder.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.02)
        engine.cancel()
        shutil.rmtree(folder)

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(SparkJobError, match="cancelled"):
        engine.run(waits, [(str(folder), number) for number in range(3)], title="waiting", report=_ignore)
    thread.join()

    assert len(engine.run(doubled, range(3), title="doubling", report=_ignore)) == 3
