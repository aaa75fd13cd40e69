"""Reads and scans on a Spark Connect server, driven by a helper process, which ends with its parent."""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, cast

from airflow_provider_blockread.errors import ConflictError, SparkJobError
from airflow_provider_blockread.exchange.layout import application_name, scan_name
from airflow_provider_blockread.ledger.model import Claim, GroupRef
from airflow_provider_blockread.ledger.windows.groups import fail_group, get_group
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import FunctionCode, SparkJob
from airflow_provider_blockread.options.values import from_json
from airflow_provider_blockread.spark.engines.session import Server
from airflow_provider_blockread.spark.remote import ConnectSubmitter, end_session
from airflow_provider_blockread.steps.model import AsJson, Caller, Environment, WindowRef
from airflow_provider_blockread.steps.read.groups import read
from airflow_provider_blockread.steps.read.scanning import scan

Request = Mapping[str, Any]

_GRACE_S = 20.0  # for stopped work to end by itself


@dataclass(frozen=True, kw_only=True)
class Done(AsJson):
    """The work has ended; the ledger holds its outcome."""


def work_remotely(env: Environment, asked: Request) -> Done:
    """Read a group, or scan a window, to its end.

    The claim has a new epoch, even if another triggerer continues the same trigger: the previous attempt is fenced, and
    what it still runs on the server is ended.

    Raises:
        BlockReadError: as `read` and `scan` do.
    """
    ref, job = WindowRef.from_json(asked["ref"]), cast("SparkJob", from_json(asked["spark"]))
    submitter = ConnectSubmitter(Server(asked["server"]), job, credentials=asked["stores"], observer=env.observer)
    with ending_with_input(submitter.cancel):
        if asked["group"] is None:
            scan(env, ref, submitter=submitter)
        else:
            code = asked["code"]
            own = replace(env, code=None if code is None else FunctionCode(**code))
            caller = Caller(owner=asked["owner"], clear_number=asked["clear_number"])
            read(own, ref, asked["group"], caller=caller, job=job, submitter=submitter)
    return Done()


def end_remotely(env: Environment, asked: Request) -> Done:
    """End what a task runs on the server, and fail its attempt, if that is still the newest one."""
    ref = WindowRef.from_json(asked["ref"])
    if asked["group"] is None:
        name = scan_name(ref.window, get_window(env.ledger, ref.window).scan_epoch)
    else:
        row = get_group(env.ledger, GroupRef(window=ref.window, generation=ref.generation, group=asked["group"]))
        if row.state != "running" or row.owner != asked["owner"] or row.clear_number > asked["clear_number"]:
            return Done()
        name = application_name(ref.window, ref.generation, row.ref.group, row.epoch)
        with suppress(ConflictError):
            claim = Claim(ref=row.ref, epoch=row.epoch, owner=asked["owner"], holder=row.holder)
            fail_group(env.ledger, claim, asked["why"])
    with suppress(SparkJobError):  # the server ends the session later
        end_session(Server(asked["server"]), name, secret=env.window_secret(ref.window))
    return Done()


@contextmanager
def ending_with_input(stop: Callable[[], None]) -> Iterator[None]:
    """Stop the work of the body when standard input ends, and end this process if the work then does not end soon."""
    ours, theirs = os.pipe()

    def watch() -> None:
        if ours in select.select([sys.stdin, ours], [], [])[0]:
            return
        stop()
        if not select.select([ours], [], [], _GRACE_S)[0]:
            os._exit(1)

    thread = threading.Thread(target=watch, name="blockread-input-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        os.close(theirs)
        thread.join()
        os.close(ours)
