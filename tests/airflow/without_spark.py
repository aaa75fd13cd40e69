"""A program in the place of spark-submit that does an application's work without Spark, and so in a second."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.exchange.failures import write_failure
from airflow_provider_blockread.spark.job import what_was_submitted
from airflow_provider_blockread.spark.parent import ERROR_LINE, end_with_parent
from airflow_provider_blockread.storage.stores import Stores
from tests.pipeline.here import ReadHere

OUTLIVES = "--outlives-its-task"


def install(folder: Path, name: str = "spark-submit", *options: str) -> None:
    """Make the program in a folder, for use by a PATH that begins with it; a driver that `OUTLIVES` its task if so."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).resolve()} {" ".join(options)} "$@"\n')
    program.chmod(0o755)


def main(arguments: list[str]) -> int:
    """Do what the job's specification says; return the exit code of an application."""
    submission, credentials = what_was_submitted(arguments[arguments.index("--spec") :])
    if "--py-files" in arguments:
        files = arguments[arguments.index("--py-files") + 1].split(",")
        sys.path[:0] = [str(Path(file).parent) for file in files if file.endswith(".py")]
    if OUTLIVES not in arguments:
        end_with_parent()
    try:
        ReadHere(Stores(credentials)).submit(submission, name="")
    except BlockReadError as error:
        write_failure(Stores(credentials), submission, error)
        print(f"{ERROR_LINE}{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
