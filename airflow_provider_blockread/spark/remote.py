"""Jobs on a Spark Connect server: the driver is this process, the tasks run in a session of the server."""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

from airflow_provider_blockread.errors import BlockReadError, SparkJobError
from airflow_provider_blockread.exchange.layout import name_before
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.observer import Observer
from airflow_provider_blockread.options import SparkJob
from airflow_provider_blockread.spark.engines.protocol import STOP_S, SparkLostError
from airflow_provider_blockread.spark.engines.reporting import job_failed
from airflow_provider_blockread.spark.engines.session import (
    Call,
    Server,
    abandon,
    client_of,
    connect,
    equip,
    is_lost,
    reason_of,
    release,
    session_id,
    within,
)
from airflow_provider_blockread.spark.private_folder import private_folder

if TYPE_CHECKING:
    from airflow_provider_blockread.spark.engines.connect import ConnectEngine

_DEFAULTS = {"spark.sql.session.timeZone": "UTC"}
_RELEASE_S = 10.0  # for the regular end of a session
_AGAIN_S = 0.5  # between two interrupts: one that precedes the operation has no effect
_POLL_S = 0.5


class RemoteSpark:
    """A `Submitter` whose jobs share a session of a Spark Connect server, opened at the first job.

    The session's id is derived from the job that opened it, so that `end_session` can end it from any process. Each job
    runs in its own thread, so that a kill ends within seconds even if a call to the server hangs.
    """

    def __init__(
        self,
        server: Server,
        job: SparkJob,
        *,
        credentials: Mapping[str, Mapping[str, object]] | None = None,
        observer: Observer | None = None,
    ) -> None:
        """Prepare a session of the server with the job's `conf` and `py_files`.

        `credentials` are storage options by root URI, which are sent to the tasks in their closures.
        """
        self._server, self._job = server, job
        self._credentials, self._observer = credentials, observer or Observer()
        self._engine: ConnectEngine | None = None
        self._thread: Call | None = None
        self._gives_up = math.inf  # the time, by the monotonic clock, when a kill stops waiting
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        """Return this submitter; leaving stops its job and releases its session."""
        self._folder = self._opened.enter_context(private_folder())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None and self._thread.is_alive():
            self.cancel()
        else:
            self._stop()
        self._opened.close()

    @property
    def _cancelled(self) -> bool:
        return self._gives_up < math.inf

    @property
    def keeps_secrets(self) -> bool:
        """True, because secrets stay in this process and in the tasks' closures."""
        return True

    def submit(self, submission: Submission, *, name: str) -> None:
        """Run the job and return when it has ended.

        Raises:
            BlockReadError: the error that the job raised.
            SparkJobError: when it was stopped, or its server is gone.
        """
        self._thread = thread = Call(partial(self._run, submission, name), name="blockread-connect")
        while thread.is_alive() and time.monotonic() < self._gives_up:
            thread.join(_POLL_S)
        if self._cancelled:
            msg = f"{name}: the job on the Spark Connect server was stopped; clear the task to read the group again"
            raise SparkJobError(msg)
        if thread.failed is not None:
            raise self._explained(thread.failed, name)

    def _explained(self, error: Exception, name: str) -> Exception:
        if isinstance(error, BlockReadError):
            return error
        if not isinstance(error, SparkLostError) and not is_lost(error):
            return job_failed(error)
        return SparkJobError(
            f"{name}: the Spark Connect server at {self._server} was lost ({reason_of(error)}); check that it runs,"
            " then retry"
        )

    def _run(self, submission: Submission, name: str) -> None:
        from airflow_provider_blockread.spark.driver import Driver  # noqa: PLC0415 - takes long to import
        from airflow_provider_blockread.storage.stores import Stores  # noqa: PLC0415

        try:
            engine = None if self._cancelled else self._opened_before() or self._open(submission, name)
            if engine is None or self._cancelled:
                return
            engine.tag = name
            make_stores = partial(Stores, self._credentials)
            Driver(submission=submission, engine=engine, make_stores=make_stores, observer=self._observer).run()
        finally:
            if self._cancelled:
                self._release()  # a kill came before the session was opened

    def _opened_before(self) -> ConnectEngine | None:
        """Return the engine of the previous job, unless its session has ended, as a server ends those that are idle."""
        if self._engine is not None:
            try:
                self._engine.connected.conf.get("spark.app.id", "")
            except Exception as error:
                if not is_lost(error):
                    raise
                self._release()
        return self._engine

    def _open(self, submission: Submission, name: str) -> ConnectEngine:
        from airflow_provider_blockread.spark.bundle import write_bundle  # noqa: PLC0415 - takes long to import
        from airflow_provider_blockread.spark.engines.connect import ConnectEngine  # noqa: PLC0415

        self.warn_of_clear_text()
        self._end_attempt_before(submission, name)
        session = connect(self._server, session_id(name, submission.window_secret))
        session.addTag(name)  # for this thread's operations; the first one checks the server's Python
        self._engine = engine = ConnectEngine(session, name)
        conf, files = _DEFAULTS | dict(self._job.conf), [write_bundle(str(self._folder)), *self._job.py_files]
        if not self._cancelled:
            equip(session, self._server, conf, files)
            self._make_importable()
        return engine

    def _end_attempt_before(self, submission: Submission, name: str) -> None:
        """End the session of the previous attempt, whose driving process may have been killed, or may hang."""
        before = name_before(name)
        if before is not None:
            with suppress(SparkJobError):  # the attempt is fenced, and the server ends the session later
                end_session(self._server, before, secret=submission.window_secret)

    def _make_importable(self) -> None:
        """Make the job's modules importable in this process, which is the driver, as spark-submit does for drivers."""
        modules = self._folder / "modules"
        modules.mkdir(exist_ok=True)
        for file in self._job.py_files:
            if file.endswith(".py"):
                shutil.copy(file, modules)
        added = [str(modules), *(file for file in self._job.py_files if not file.endswith(".py"))]
        before, sys.path = sys.path, [*added, *sys.path]
        self._opened.callback(setattr, sys, "path", before)

    def warn_of_clear_text(self) -> None:
        """Warn if credentials of stores are sent over an unencrypted connection."""
        if self._credentials and not self._server.is_encrypted:
            self._observer.warn(
                f"the connection to the Spark Connect server at {self._server} is not encrypted, and carries"
                " credentials of stores; set use_ssl"
            )

    def cancel(self) -> None:
        """Interrupt the job and release the session within `STOP_S` seconds; callable from threads and signal handlers.

        `submit` and the end of this submitter do not wait longer than that, either.
        """
        self._gives_up = min(self._gives_up, time.monotonic() + STOP_S)
        self._stop()

    def _stop(self) -> None:
        engine, left = self._engine, max(self._gives_up - time.monotonic(), 0)
        if self._thread is not None and not within(min(left, _RELEASE_S), self._kill) and engine is not None:
            abandon(engine.connected)

    def _kill(self) -> None:
        deadline = time.monotonic() + STOP_S / 2
        while self._thread is not None and self._thread.is_alive() and time.monotonic() < deadline:
            if self._engine is not None:
                self._engine.cancel()
            self._thread.join(_AGAIN_S)
        self._release()

    def _release(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            release(engine.connected)


class ConnectSubmitter(RemoteSpark):
    """A `Submitter` that runs each application in a separate session of a Spark Connect server."""

    def submit(self, submission: Submission, *, name: str) -> None:
        """Run the application for a job specification to its end, and release its session.

        Raises:
            BlockReadError: the error that the application raised.
        """
        with self:
            super().submit(submission, name=name)


def end_session(server: Server, name: str, *, secret: str) -> None:
    """End the session of a job, and what runs in it, from another process, within seconds.

    `name` is the one with which the job was submitted, `secret` that of its window.

    Raises:
        OptionsError: when this Python lacks what a client needs.
        SparkJobError: when the server did not answer in time.
    """
    session = client_of(server, session_id(name, secret))
    if not within(_RELEASE_S, partial(release, session)):
        abandon(session)
        msg = f"{name}: the Spark Connect server at {server} did not end its session in time; it ends when it is idle"
        raise SparkJobError(msg)
