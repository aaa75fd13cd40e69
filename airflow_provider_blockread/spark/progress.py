"""Lines of progress that a driver logs while its tasks run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from airflow_provider_blockread.options.sizes import format_bytes

#: Takes a line for people.
Log = Callable[[str], None]

#: How a driver begins a line of its own among those of Spark.
OWN_LINE = "blockread: "
#: How it begins the line that says why it failed.
ERROR_LINE = f"{OWN_LINE}Error: "

INTERVAL_S = 15.0


@contextmanager
def logging_progress(log: Log, tracker: Any, what: str, size: int) -> Iterator[None]:  # noqa: ANN401 - pyspark's StatusTracker
    """Log every `INTERVAL_S` seconds how far the job has come that the body runs.

    Args:
        log: takes the lines.
        tracker: of a Spark context that runs no other job.
        what: what is done, as `read`.
        size: bytes that the job's tasks share about evenly.
    """
    done = threading.Event()

    def run() -> None:
        from py4j.protocol import Py4JError  # noqa: PLC0415 - comes with pyspark

        with suppress(Py4JError, OSError):  # Spark has died, which the job's own error says
            while not done.wait(INTERVAL_S):
                for line in _lines(tracker, what, size):
                    log(line)

    thread = threading.Thread(target=run, name="blockread-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _lines(tracker: Any, what: str, size: int) -> Iterator[str]:  # noqa: ANN401
    for number in tracker.getActiveStageIds():
        stage = tracker.getStageInfo(number)
        if stage is not None and stage.numTasks:
            share = stage.numCompletedTasks / stage.numTasks
            failed = f", {stage.numFailedTasks:,} attempts failed" if stage.numFailedTasks else ""
            yield (
                f"{what} {stage.numCompletedTasks:,} of {stage.numTasks:,} tasks,"
                f" about {format_bytes(share * size)} of {format_bytes(size)}{failed}"
            )
