"""Read one group of a window on Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, cast

from airflow_provider_blockread.links.pages import SparkLink, WindowLink
from airflow_provider_blockread.operators.base import owner_of, window_ref
from airflow_provider_blockread.operators.deferring import DeferrableOperator
from airflow_provider_blockread.operators.reports.summaries import read_summary
from airflow_provider_blockread.operators.run_identity import run_identity
from airflow_provider_blockread.options import AsRead, FunctionCode, FunctionOption
from airflow_provider_blockread.options.functions import text_of

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_blockread.errors import BlockReadError
    from airflow_provider_blockread.steps import Caller, DeferredRead, Environment, ReadOutcome, Waiting
    from airflow_provider_blockread.steps.model import DetachedSubmitter


def title_template(plan: str) -> str:
    """Return the `map_index_template` of mapped reads: first what the task's group contains, later what was read.

    Args:
        plan: the id of the task that planned the window; its XCom `titles` describes the groups.
    """
    planned = f"(ti.xcom_pull(task_ids='{plan}', key='titles', map_indexes=-1) or {{}})[task.group]"
    return f"{{{{ blockread_title if blockread_title is defined else {planned} | default('group ' ~ task.group) }}}}"


class ReadBlocksOperator(DeferrableOperator):
    """Reads one group of blocks and returns the totals of what was read; map it over the plan's return value.

    A retry after a success reads nothing again; a retry after a failure or a kill takes the group over. A retry after
    the loss of the worker waits for an application that is still running on its cluster.

    :param window: the plan's window: `plan.output["window"]`.
    :param group: the group's number.
    :param function: the plan's function, if it is defined in the DAG's file; one with an import path is not needed.
    """

    template_fields = (*DeferrableOperator.template_fields, "window", "group")
    ui_color = "#f7e3c4"
    operator_extra_links = (WindowLink(), SparkLink())

    def __init__(
        self,
        *,
        window: Any,  # noqa: ANN401 - an XComArg until it is rendered
        group: int,
        function: FunctionOption = AsRead(),
        **kwargs: Any,  # noqa: ANN401 - BaseOperator's
    ) -> None:
        super().__init__(**kwargs)
        self.window: Mapping[str, Any] = window
        self.group = group
        self.function = function

    def run_step(self, context: Context) -> dict[str, Any]:
        """Read the group and return the totals, or defer the task once its application is submitted."""
        from airflow_provider_blockread.operators.upstream import require_plan  # noqa: PLC0415 - not at every DAG parse

        require_plan(self)
        # Airflow rendered the title before, and renders it again at the end, even after a failure.
        set_title(context, context["ti"].rendered_map_index or f"group {self.group}")
        if not self.defers:
            return self._read(context)
        if self.server() is not None:
            self.work_in_triggerer(context)
        return self._outcome(self.deferred(context).start(), context)

    def _read(self, context: Context, *, by_helper: bool = False) -> dict[str, Any]:
        from airflow_provider_blockread.steps import read  # noqa: PLC0415 - not at every DAG parse

        env = self._environment()
        outcome = read(
            env,
            window_ref(self.window),
            int(self.group),
            caller=caller_of(context),
            job=self.spark,
            submitter=self.submitter(),
        )
        if by_helper and outcome.done_before:  # a helper process has no metrics
            env.observer.count("read.retries", outcome.epoch > 1)
            for name in ("records", "bad_records", "bytes"):
                env.observer.count(f"read.{name}", getattr(outcome, name))
            env.observer.took("read.time", outcome.seconds)
        return self._outcome(outcome, context)

    def complete_step(
        self, context: Context, waiting: Waiting | None, problem: BlockReadError | None
    ) -> dict[str, Any]:
        """Complete the group and return the totals, or defer the task again if another try is needed."""
        set_title(context, context["ti"].rendered_map_index or f"group {self.group}")
        if waiting is not None:
            return self._outcome(self.deferred(context).resume(problem), context)
        if problem is not None:
            raise problem
        return self._read(context, by_helper=True)  # finds the group read

    def work(self, context: Context) -> Mapping[str, Any]:
        """Return the work of a helper process: the read of the group."""
        code, caller = self._code(), caller_of(context)
        return {
            "ref": dict(self.window),
            "group": int(self.group),
            "owner": caller.owner,
            "clear_number": caller.clear_number,
            "code": None if code is None else asdict(code),
        }

    def _code(self) -> FunctionCode | None:
        text = text_of(self.function)
        return text.code if text else None

    def _environment(self) -> Environment:
        return replace(self.environment(self.window["feed"]), code=self._code())

    def deferred(self, context: Context) -> DeferredRead:
        """Return the read in its two phases."""
        from airflow_provider_blockread.steps import DeferredRead  # noqa: PLC0415 - not at every DAG parse

        return DeferredRead(
            env=self._environment(),
            ref=window_ref(self.window),
            group=int(self.group),
            caller=caller_of(context),
            job=self.spark,
            submitter=cast("DetachedSubmitter", self.submitter()),  # as `defers` has made sure
        )

    def _outcome(self, found: ReadOutcome | Waiting, context: Context) -> dict[str, Any]:
        from airflow_provider_blockread.steps import Waiting  # noqa: PLC0415 - not at every DAG parse

        if isinstance(found, Waiting):
            self.wait_for(found, context)
        set_title(context, found.title)
        self.sum_up(context, *read_summary(found))
        # A thousand of these stay below 64 KB; the ledger holds the rest.
        return {"records": found.records, "bad_records": found.bad_records}


def caller_of(context: Context) -> Caller:
    """Return the identity of the task that runs a step."""
    from airflow_provider_blockread.steps import Caller  # noqa: PLC0415 - not at every DAG parse

    return Caller(owner=owner_of(context), clear_number=run_identity(context).clear_number)


def set_title(context: Context, title: str) -> None:
    """Set the title of a mapped task, for `title_template`."""
    context["blockread_title"] = title  # type: ignore[typeddict-unknown-key]
