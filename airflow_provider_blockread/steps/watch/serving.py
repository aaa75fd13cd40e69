"""Steps for a process that must not block: it starts this program, which answers one request after another.

A request is a line of JSON on standard input: what to `do`, with which arguments, and how to open ledger and stores,
with credentials, which are thus never in an argument list. The answer is lines of JSON on standard output: lines to
`log`, then the `answer` or an `error`. The program ends with its standard input, so it never outlives the process that
started it.
"""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Callable
from contextlib import closing
from typing import Any, TextIO

from airflow_provider_blockread.errors import BlockReadError, to_fields
from airflow_provider_blockread.ledger.opening import open_ledger
from airflow_provider_blockread.observer import LOG_S, LogObserver
from airflow_provider_blockread.steps.model import AsJson, Environment
from airflow_provider_blockread.steps.read.waiting import Waiting, poll, stop
from airflow_provider_blockread.steps.watch.new_files import NewFilesQuery, find_new_files
from airflow_provider_blockread.steps.watch.remote_work import Request, end_remotely, work_remotely
from airflow_provider_blockread.steps.watch.watching import found_since, record_hints, record_listing
from airflow_provider_blockread.storage.stores import Stores

#: Seconds without a request after which the program ends.
IDLE_S = 600.0


def _query(asked: Request) -> NewFilesQuery:
    return NewFilesQuery.from_json(asked["query"])


TASKS: dict[str, Callable[[Environment, Request], AsJson]] = {
    "find": lambda env, asked: find_new_files(env, _query(asked)),
    "list": lambda env, asked: record_listing(env, _query(asked)),
    "hint": lambda env, asked: record_hints(env, _query(asked), asked["bodies"]),
    "wait": lambda env, asked: poll(env, Waiting.from_json(asked["waiting"])),
    "stop": lambda env, asked: stop(env, Waiting.from_json(asked["waiting"]), asked["why"]),
    "work": work_remotely,
    "end": end_remotely,
    "since": lambda env, asked: found_since(
        env, asked["feed"], (int(asked["after"]), int(asked["until"])), only=asked["only"]
    ),
}


def answer(request: Request, log: Callable[[str], None]) -> dict[str, Any]:
    """Return the answer to a request, or the error of this package with which it ended."""
    try:
        with closing(open_ledger(request["ledger"])) as ledger:
            env = Environment(
                ledger=ledger,
                stores=Stores(request["stores"]),
                observer=LogObserver(log, every_s=LOG_S),
                access=request["access"],
            )
            return {"answer": TASKS[request["do"]](env, request).to_json()}
    except BlockReadError as error:
        return to_fields(error)


def serve(requests: TextIO, answers: TextIO, *, idle_s: float = IDLE_S) -> None:
    """Answer requests until their stream ends, or none arrives for `idle_s` seconds."""

    def send(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    while select.select([requests], [], [], idle_s)[0] and (line := requests.readline()):
        send(answer(json.loads(line), lambda text: send({"log": text})))


def main() -> None:
    """Serve on standard input and output; all other output goes to standard error."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin, answers)


if __name__ == "__main__":
    main()
