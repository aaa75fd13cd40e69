"""Operators that release their worker while Spark works: a trigger waits, and a worker completes the step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn

from airflow.sdk import timezone
from airflow.sdk.bases.operator import TRIGGER_FAIL_REPR
from airflow.sdk.configuration import conf

from airflow_provider_blockread.errors import BlockReadError, OptionsError, from_fields, printable
from airflow_provider_blockread.operators.base import SparkOperator
from airflow_provider_blockread.options.checks import true_or_false

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_blockread.spark.engines.session import Server
    from airflow_provider_blockread.steps import DeferredRead, DeferredScan, Waiting

_LEAST = timedelta(seconds=1)


class DeferrableOperator(SparkOperator):
    """An operator whose step can be deferred if its driver runs on a cluster, or its work on a Spark Connect server.

    :param deferrable: release the worker while Spark works. With a connection whose driver runs in the task, True is an
        error, while the default from `[operators] default_deferrable` waits on the worker. `execution_timeout` limits
        the wait.
    """

    def __init__(self, *, deferrable: bool | None = None, **kwargs: Any) -> None:  # noqa: ANN401 - the base class's
        super().__init__(**kwargs)
        if deferrable is not None:
            true_or_false(self.task_id, "deferrable", deferrable)
        self.deferrable = deferrable

    @property
    def defers(self) -> bool:
        """Whether to defer the step.

        Raises:
            OptionsError: when it must be deferred, but cannot be.
        """
        wanted = self.deferrable
        if wanted is None:
            wanted = conf.getboolean("operators", "default_deferrable", fallback=False)
        if not wanted:
            return False
        try:
            self._check_driver()
        except OptionsError as error:
            if self.deferrable:
                raise
            self.log.info("waiting on the worker, though [operators] default_deferrable is set: %s", error)
            return False
        return True

    def _check_driver(self) -> None:
        from airflow_provider_blockread.hooks.spark import SparkSubmitter  # noqa: PLC0415 - not at every DAG parse

        if self.server() is None:
            SparkSubmitter(self.spark, self.credentials()).require_cluster()
        elif self.spark.secrets:
            msg = (
                f"spark: conf has {', '.join(self.spark.secrets)}, which Airflow's database would hold while the task"
                " is deferred; set it on the Spark Connect server, or leave deferrable out"
            )
            raise OptionsError(msg)

    def server(self) -> Server | None:
        """Return the Spark Connect server of the step's applications, or None if they do not use one."""
        from airflow_provider_blockread.hooks.connect import connect_server  # noqa: PLC0415 - not at every DAG parse

        return connect_server(self.spark)

    def work_in_triggerer(self, context: Context) -> NoReturn:
        """Defer the task until the triggerer's helper process has done its work on a Spark Connect server."""
        from airflow_provider_blockread.triggers.remote_work import RemoteWorkTrigger  # noqa: PLC0415 - needs more

        self.log.info("deferred: a helper of the triggerer works on the Spark Connect server %s", self.server())
        trigger = RemoteWorkTrigger(
            work=self.work(context),
            spark=self.spark.to_json(),
            source=None if self.source is None else self.source.to_json(),
            sink=None if self.sink is None else self.sink.to_json(),
            ledger_conn_id=self._ledger_in_use(),
            run=self._run,
        )
        self.defer(trigger=trigger, method_name="resume", timeout=self._time_left(context))

    def wait_for(self, waiting: Waiting, context: Context) -> NoReturn:
        """Defer the task until an application has ended."""
        from airflow_provider_blockread.triggers.applications import ApplicationTrigger  # noqa: PLC0415 - needs more

        self.log.info("deferred: %s", waiting)
        trigger = ApplicationTrigger(
            waiting=waiting.to_json(),
            spark=self.spark.without_secrets().to_json(),
            ledger_conn_id=self._ledger_in_use(),
            run=self._run,
        )
        self.defer(trigger=trigger, method_name="resume", timeout=self._time_left(context))

    def _ledger_in_use(self) -> str | None:
        from airflow_provider_blockread.hooks.ledger import LedgerHook  # noqa: PLC0415 - not at every DAG parse

        return LedgerHook(self.ledger_conn_id).conn_id_in_use()

    def _time_left(self, context: Context) -> timedelta | None:
        started = context["ti"].start_date
        if self.execution_timeout is None or started is None:
            return self.execution_timeout
        return max(self.execution_timeout - (timezone.utcnow() - started), _LEAST)

    def resume(self, context: Context, event: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as `execute`
        """Complete the step after the wait, and return its result.

        Raises:
            AirflowException: as `execute` does.
        """
        from airflow_provider_blockread.steps import Waiting  # noqa: PLC0415 - not at every DAG parse

        problem = from_fields(event) if "error" in event else None
        awaited = Waiting.from_json(event["waiting"]) if "waiting" in event else None
        return self.guarded(lambda context: self.complete_step(context, awaited, problem), context)

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:  # noqa: ANN401
        """Resume by the given method; an application whose trigger failed or timed out is stopped first."""
        if next_method == TRIGGER_FAIL_REPR:
            why = str((next_kwargs or {}).get("error", "the trigger failed"))
            try:
                self.closed_behind(lambda context: self._stop_step(context, why), context)
            except Exception as error:  # noqa: BLE001 - the next try fences it in any case
                self.log.warning("the application could not be stopped: %s", printable(str(error)))
        return super().resume_execution(next_method, next_kwargs, context)

    @abstractmethod
    def complete_step(self, context: Context, waiting: Waiting | None, problem: BlockReadError | None) -> Any:  # noqa: ANN401
        """Return the result of the step after a wait, or raise the problem, which says why there will be none.

        `waiting` is None if a helper process has done the work.
        """

    @abstractmethod
    def deferred(self, context: Context) -> DeferredRead | DeferredScan:
        """Return the step in its two phases, with an application on a cluster."""

    @abstractmethod
    def work(self, context: Context) -> Mapping[str, Any]:
        """Return the work of a helper process, as `RemoteWorkTrigger` takes it."""

    def _stop_step(self, context: Context, why: str) -> None:
        """Stop the application that the task waits for, also on a server whose helper is no longer alive."""
        from airflow_provider_blockread.steps.watch.remote_work import end_remotely  # noqa: PLC0415 - takes long

        server = self.server()
        if server is None:
            self.deferred(context).stop(why)
        else:
            end_remotely(self.environment(), {**self.work(context), "server": server.url, "why": why})
