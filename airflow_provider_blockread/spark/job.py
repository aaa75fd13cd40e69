"""The Spark application: reads one block group and leaves a result file. Run by spark-submit, or in process.

    spark-submit --py-files blockread.zip job.py --spec URI --spec-hash SHA256

It does not connect to any database. It reads its job specification, which must have the given hash, and the manifest,
lets an engine run tasks over the blocks, and writes receipts and, last, the result of the accepted task attempts.
Environment: BLOCKREAD_CREDENTIALS_FILE names a private JSON file, removed as soon as it is read, with storage options
by URI prefix (`stores`), the secrets that seal what this application writes (`secret`, `window_secret`), and the code
of a function without an import path (`code`). BLOCKREAD_PARENT is `host:pid` of the process whose end also ends this
one, and BLOCKREAD_FOLDER that process's folder, which is then removed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.exchange.failures import write_failure
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.heap import end_without_collecting
from airflow_provider_blockread.observer import LOG_S, LogObserver
from airflow_provider_blockread.options import FunctionCode
from airflow_provider_blockread.spark.detached import end_when_stopped
from airflow_provider_blockread.spark.driver import Driver
from airflow_provider_blockread.spark.engines.context import submitted_context
from airflow_provider_blockread.spark.engines.rdd import RddEngine
from airflow_provider_blockread.spark.engines.reporting import job_failed
from airflow_provider_blockread.spark.parent import ERROR_LINE, OWN_LINE, end_with_parent
from airflow_provider_blockread.storage.stores import Stores

#: Storage options by URI prefix; they are sent to tasks only in their closures.
Credentials = Mapping[str, Mapping[str, object]] | None


def main(arguments: list[str] | None = None) -> int:
    """Run as a Spark application and return the exit code. A failure writes `error.json` beside the specification."""
    submission, credentials = what_was_submitted(arguments)
    make_stores = partial(Stores, credentials)
    is_watched = end_with_parent()
    if not is_watched:
        end_when_stopped(make_stores, submission)
    with ExitStack() as opened:
        try:
            engine = RddEngine(submitted_context(has_secrets=bool(credentials), readers=submission.readers))
            opened.callback(engine.stop)
            observer = LogObserver(_print, every_s=LOG_S)
            Driver(submission=submission, engine=engine, make_stores=make_stores, observer=observer).run()
        except Exception as error:
            if isinstance(error, BlockReadError):
                failure = error
            elif is_watched:  # the watching process reads this one's log
                raise
            else:
                traceback.print_exc()
                failure = job_failed(error)
            write_failure(make_stores(), submission, failure)
            print(f"{ERROR_LINE}{type(failure).__name__}: {failure}", file=sys.stderr)  # noqa: T201
            return 1
    return 0


def what_was_submitted(arguments: list[str] | None = None) -> tuple[Submission, Credentials]:
    """Return the application's submission and credentials from its arguments and, if any, its private file."""
    parser = argparse.ArgumentParser(prog="blockread job", description="Read one block group.")
    parser.add_argument("--spec", required=True, help="URI of the job specification")
    parser.add_argument("--spec-hash", required=True, help="SHA-256 of the specification, as hex")
    parser.add_argument("--readers", type=int, help="tasks that may run at once; executors are asked for them")
    given = parser.parse_args(arguments)
    private = _private()
    stores, code = private.pop("stores", None), private.pop("code", None)
    own_code = FunctionCode(**code) if code else None
    submission = Submission(
        spec_uri=given.spec, spec_hash=given.spec_hash, readers=given.readers, code=own_code, **private
    )
    return submission, stores


def _private() -> dict[str, Any]:
    path = os.environ.pop("BLOCKREAD_CREDENTIALS_FILE", None)
    if not path:
        return {}
    file = Path(path)
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    file.unlink()
    return found


def _print(line: str) -> None:
    print(f"{OWN_LINE}{line}", file=sys.stderr, flush=True)  # noqa: T201 - Airflow's side reads it there


if __name__ == "__main__":
    end_without_collecting()
    sys.exit(main())
