"""A trigger that waits for a Spark application whose driver runs on a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from typing import Any, cast

from airflow.triggers.base import TriggerEvent

from airflow_provider_blockread.errors import BlockReadError, TransientError, to_fields
from airflow_provider_blockread.exchange.signs import Watchdog
from airflow_provider_blockread.hooks.spark import SparkSubmitter
from airflow_provider_blockread.options import SparkJob
from airflow_provider_blockread.options.values import from_json
from airflow_provider_blockread.triggers.helpers import ON_KILL_S, ask, kept, to_its_end
from airflow_provider_blockread.triggers.own import OwnTrigger, access, fired

_STATUS_S = 20.0


class ApplicationTrigger(OwnTrigger):
    """Fires once an application has written a result or an error, or never will; until then it keeps the claim alive.

    Its work is done by short requests to helper processes. Another triggerer that takes it over continues with the same
    epoch, since nothing is lost with a helper. Its event contains no result: the resumed task reads the result itself.

    :param waiting: what to wait for, as `Waiting.to_json` writes it, without credentials.
    :param spark: the job's options, as `SparkJob.to_json` writes them.
    :param ledger_conn_id: the ledger's connection.
    :param run: the DAG run that waits, for a ledger without a memory.
    """

    def __init__(
        self, *, waiting: Mapping[str, Any], spark: Mapping[str, Any], ledger_conn_id: str | None = None, run: str = ""
    ) -> None:
        super().__init__(ledger_conn_id, run)
        self.waiting = dict(waiting)
        self.spark = dict(spark)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll, and yield one event."""
        async with kept():
            found = await self._end()
        yield fired({"waiting": self.waiting} | found)

    async def on_kill(self) -> None:
        """Stop the application by a stop file and through its cluster, when a person has cleared or marked the task.

        Without this call, for example without a triggerer, the application's results are fenced in any case.
        """
        await to_its_end(self._stop(), within_s=ON_KILL_S)

    async def _stop(self) -> None:
        application = self.waiting["application"]
        ways: list[Awaitable[object]] = [self._ask("stop", "the task was cleared or marked")]
        if application:
            ways.append(asyncio.to_thread(self._submitter().kill, application))
        for found in await asyncio.gather(*ways, return_exceptions=True):
            if isinstance(found, BaseException):
                self.log.warning("%s", found)

    async def _end(self) -> dict[str, Any]:
        """Return how the wait ended: empty if the application has answered, otherwise with the `error`."""
        job, application = self._job(), self.waiting["application"]
        watchdog = Watchdog(application or self.waiting["name"], stale_after_s=job.stale_after_s)
        progress = ""
        while True:
            # Also before the first poll: Airflow fails a task whose trigger fires before its scheduler knows that the
            # task is deferred.
            await asyncio.sleep(job.heartbeat_s)
            try:
                found = await self._ask("wait")
                if found["ended"]:
                    return {}
                if found["progress"] != progress:
                    progress = found["progress"]
                    self.log.info("%s", progress)
                problem = watchdog.problem(found["sign"], await self._status(application))
                if problem:
                    return {"error": "SparkJobError", "message": problem}
            except TransientError as error:  # of store, ledger or helper
                self.log.warning("%s", error)
            except BlockReadError as error:
                return to_fields(error)

    async def _status(self, application: str | None) -> str:
        """Return how the application has ended, in its cluster's words; empty while it runs or if this is not known."""
        if not application:
            return ""
        try:
            async with asyncio.timeout(_STATUS_S):  # Python 3.11's `wait_for` may lose a cancellation
                return await asyncio.to_thread(self._submitter().status, application)
        except TimeoutError:
            self.log.warning("%s: its cluster does not answer within %.0f s", application, _STATUS_S)
            return ""

    async def _ask(self, task: str, why: str = "") -> dict[str, Any]:
        way = await access(None, self.ledger_conn_id, run=self.run_name)
        return await ask({"do": task, "waiting": self.waiting, "why": why} | way, self.log.info)

    def _job(self) -> SparkJob:
        return cast("SparkJob", from_json(self.spark))

    def _submitter(self) -> SparkSubmitter:
        return SparkSubmitter(self._job())
