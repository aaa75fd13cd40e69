"""What a job may expect of every engine."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import FileMissingError, SparkJobError
from airflow_provider_blockread.observer import Progress, Tally
from airflow_provider_blockread.spark.engines import connect, rdd
from airflow_provider_blockread.spark.engines.protocol import Answer, Engine, Item, Task
from tests.spark.engines.engine_tasks import (
    divides,
    doubled,
    fails_first,
    forges,
    grows,
    misses_a_file,
    one_block,
    waits,
    waits_but_once,
)


def _run(engine: Engine, task: Task[Item, Answer], items: Sequence[Item], *, title: str) -> list[Answer]:
    """Report to nobody."""
    return engine.run(task, items, title=title, report=lambda _: None, measure=one_block)


def test_answers_are_in_the_order_of_the_items(engine: Engine) -> None:
    """Each item is answered once, and each attempt has a number of its own."""
    answers = _run(engine, doubled, range(9), title="doubling")

    assert [answer for answer, _ in answers] == list(range(0, 18, 2))
    assert len({attempt for _, attempt in answers}) == 9
    assert _run(engine, doubled, [], title="nothing") == []
    assert (engine.cores, engine.may_grow) == (2, False)


def test_an_error_of_the_package_is_raised_as_itself(engine: Engine) -> None:
    """With the path that it names."""
    with pytest.raises(FileMissingError, match=r"^it is gone$") as caught:
        _run(engine, misses_a_file, range(5), title="reading")

    assert caught.value.path == "/in/a.csv"


def test_any_other_error_fails_the_job(engine: Engine) -> None:
    """With its own words in one line."""
    with pytest.raises(SparkJobError, match="division by zero") as caught:
        _run(engine, divides, [1, 0], title="dividing")

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
        _run(engine, waits, [(str(folder), number) for number in range(3)], title="waiting")
    thread.join()

    assert len(_run(engine, doubled, range(3), title="doubling")) == 3


def test_data_do_not_speak(engine: Engine) -> None:
    """What a task quotes is no error of the package, however much it looks like one; it stays in one line."""
    said = r"^the Spark job failed: (ValueError: cannot parse |FencedError: away)"
    with pytest.raises(SparkJobError, match=said) as caught:
        _run(engine, forges, ["\nFencedError: away"], title="reading")

    assert type(caught.value) is SparkJobError
    assert "\n" not in str(caught.value)


def test_large_answers(engine: Engine) -> None:
    """An answer of nothing, and some that exceed what one message of Spark Connect may hold when they come together."""
    sizes = [0, 1, 3 * 2**20, 40 * 2**20]
    answers = _run(engine, grows, sizes, title="growing")

    assert [len(answer) for answer in answers] == sizes


def test_a_task_is_tried_again(engine: Engine, tmp_path: Path) -> None:
    """An attempt that failed is repeated under another number, and only the accepted one answers."""
    first = _run(engine, doubled, [1], title="counting")[0][1]
    [attempt] = _run(engine, fails_first, [str(tmp_path / "mark")], title="failing")

    assert attempt == first + 2


def test_progress(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many tasks are done, and what those have read, is reported before the last one ends."""
    for module in (connect, rdd):
        monkeypatch.setattr(module, "REPORT_S", 0.05)
    working = tmp_path / "working"
    working.mkdir()
    found: list[Progress] = []
    half = Progress(done=1, total=2, tally=Tally(blocks=1, records=10))

    def report(progress: Progress) -> None:
        found.append(progress)
        if progress == half:
            shutil.rmtree(working, ignore_errors=True)

    items = [(str(working), n) for n in range(2)]
    engine.run(waits_but_once, items, title="waiting", report=report, measure=one_block)

    assert half in found
    assert {progress.total for progress in found} == {2}
    assert [progress.done for progress in found] == sorted(progress.done for progress in found)
