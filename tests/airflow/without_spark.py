"""A program in the place of spark-submit that does an application's work without Spark, and so in a second.

In deploy mode cluster its driver is a process of its own, which lives on when the program is killed. The program waits
for its end, unless it is to return at once, as a cluster's does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.exchange.failures import write_failure
from airflow_provider_blockread.spark.detached import end_when_stopped
from airflow_provider_blockread.spark.job import what_was_submitted
from airflow_provider_blockread.spark.parent import ERROR_LINE, end_with_parent
from airflow_provider_blockread.storage.stores import Stores
from tests.pipeline.here import ReadHere

OUTLIVES = "--outlives-its-task"
ON_CLUSTER = "--on-cluster"
APPLICATION = "application_1700000000000_0001"
NO_WAIT = "spark.yarn.submit.waitAppCompletion=false"
SLOW = "spark.submit.seconds="
CLUSTER = {"conn_type": "spark", "host": "yarn", "extra": json.dumps({"deploy-mode": "cluster"})}
"""A connection of this mode."""


def install(folder: Path, name: str = "spark-submit", *options: str) -> None:
    """Make the program in a folder, for use by a PATH that begins with it; a driver that `OUTLIVES` its task if so."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).resolve()} {" ".join(options)} "$@"\n')
    program.chmod(0o755)


def main(arguments: list[str]) -> int:
    """Do what the job's specification says; return the exit code of an application."""
    if "cluster" in arguments and ON_CLUSTER not in arguments:
        return submit(arguments)
    submission, credentials = what_was_submitted(arguments[arguments.index("--spec") :])
    if "--py-files" in arguments:
        files = arguments[arguments.index("--py-files") + 1].split(",")
        sys.path[:0] = [str(Path(file).parent) for file in files if file.endswith(".py")]
    if OUTLIVES not in arguments and not end_with_parent():
        end_when_stopped(Stores, submission)
    try:
        ReadHere(Stores(credentials)).submit(submission, name="")
    except BlockReadError as error:
        write_failure(Stores(credentials), submission, error)
        print(f"{ERROR_LINE}{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def submit(arguments: list[str]) -> int:
    """Start a driver as YARN does, and say what YARN's client says; it inherits no variable of the task's own."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("BLOCKREAD")}
    program = [sys.executable, __file__, ON_CLUSTER, *arguments]
    log = os.open(os.environ.get("CLUSTER_LOG", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    driver = subprocess.Popen(
        program, env=own, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
    )
    print(f"INFO YarnClientImpl: Submitted application {APPLICATION}", flush=True)
    for argument in arguments:
        if argument.startswith(SLOW):
            time.sleep(float(argument.removeprefix(SLOW)))
    return 0 if NO_WAIT in arguments else driver.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
