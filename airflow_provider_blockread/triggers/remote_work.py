"""A trigger for reads and scans on a Spark Connect server, which a helper process of the triggerer drives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any, cast

from airflow.triggers.base import TriggerEvent

from airflow_provider_blockread.errors import BlockReadError, to_fields
from airflow_provider_blockread.options import SparkJob
from airflow_provider_blockread.options.values import from_json
from airflow_provider_blockread.triggers.helpers import ON_KILL_S, ask, ask_alone, to_its_end
from airflow_provider_blockread.triggers.own import OwnTrigger, access, fired


class RemoteWorkTrigger(OwnTrigger):
    """Fires once, when its helper process has read a group or scanned a window, or has failed to.

    The helper claims the group for the deferred task, keeps the claim alive and completes it. Another triggerer that
    continues the trigger claims it again with a new epoch, and ends what the previous attempt runs on the server.

    :param work: the window (`ref`) and the `group`, or None for a scan; for a group also `owner` and `clear_number` of
        the task, and the `code` of a function in the DAG's file, or None.
    :param spark: the job's options, as `SparkJob.to_json` writes them.
    :param source: the source with its connections, as JSON.
    :param sink: the sink with its connection, as JSON.
    :param ledger_conn_id: the ledger's connection.
    :param run: the DAG run, for a ledger without a memory.
    """

    def __init__(
        self,
        *,
        work: Mapping[str, Any],
        spark: Mapping[str, Any],
        source: Mapping[str, Any] | None = None,
        sink: Mapping[str, Any] | None = None,
        ledger_conn_id: str | None = None,
        run: str = "",
    ) -> None:
        super().__init__(ledger_conn_id, run)
        self.work, self.spark = dict(work), dict(spark)
        self.source, self.sink = source, sink

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Let a helper work, and yield one event: empty, or with the error."""
        job = cast("SparkJob", from_json(self.spark))
        try:
            await ask_alone(partial(self._request, "work"), self.log.info, environment=job.environment)
        except BlockReadError as error:
            found = to_fields(error)
        else:
            found = {}
        yield fired(found)

    async def on_kill(self) -> None:
        """End what runs on the server when a person has cleared or marked the task, and fail its attempt."""
        await to_its_end(self._end(), within_s=ON_KILL_S)

    async def _end(self) -> None:
        await ask(await self._request("end") | {"why": "the task was cleared or marked"}, self.log.info)

    async def _request(self, task: str) -> dict[str, Any]:
        from airflow_provider_blockread.hooks.connect import connect_server  # noqa: PLC0415 - takes long to import

        way = await access(self.source, self.ledger_conn_id, run=self.run_name, sink=self.sink)
        server = await asyncio.to_thread(connect_server, cast("SparkJob", from_json(self.spark)))
        url = "" if server is None else server.url
        return {"do": task, "spark": self.spark, "server": url} | self.work | way
