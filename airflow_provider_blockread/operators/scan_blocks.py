"""Find the entry states of blocks in files that span groups; most windows do not need this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from airflow_provider_blockread.operators.base import window_ref
from airflow_provider_blockread.operators.deferring import DeferrableOperator

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_blockread.errors import BlockReadError
    from airflow_provider_blockread.steps import DeferredScan, Waiting
    from airflow_provider_blockread.steps.model import DetachedSubmitter


class ScanBlocksOperator(DeferrableOperator):
    """Scans the files that must be scanned before their groups can be read; succeeds at once if there are none.

    :param window: the plan's window: `plan.output["window"]`.
    """

    template_fields = (*DeferrableOperator.template_fields, "window")

    def __init__(
        self,
        *,
        window: Any,  # noqa: ANN401 - an XComArg until it is rendered
        **kwargs: Any,  # noqa: ANN401 - BaseOperator's
    ) -> None:
        super().__init__(**kwargs)
        self.window: Mapping[str, Any] = window

    def run_step(self, context: Context) -> None:
        """Scan if the window needs it, or defer the task once the application is submitted."""
        from airflow_provider_blockread.operators.upstream import require_plan  # noqa: PLC0415 - not at every DAG parse
        from airflow_provider_blockread.steps import scan  # noqa: PLC0415

        require_plan(self)
        if window_ref(self.window).needs_scan and self.defers:
            if self.server() is not None:
                self.work_in_triggerer(context)
            self._wait_for(self.deferred(context).start(), context)
        elif scan(self.environment(self.window["feed"]), window_ref(self.window), submitter=self.submitter()):
            return
        self.log.info("nothing to scan: the entry states of the window's blocks are known, or need not be")

    def complete_step(self, context: Context, waiting: Waiting | None, problem: BlockReadError | None) -> None:
        """Accept the application's results, or defer the task again if another application is needed."""
        if waiting is not None:
            self._wait_for(self.deferred(context).resume(waiting, problem), context)
        elif problem is not None:
            raise problem

    def _wait_for(self, waiting: Waiting | None, context: Context) -> None:
        if waiting is not None:
            self.wait_for(waiting, context)

    def work(self, context: Context) -> Mapping[str, Any]:  # noqa: ARG002 - DeferrableOperator's
        """Return the work of a helper process: the scan of the window."""
        return {"ref": dict(self.window), "group": None}

    def deferred(self, context: Context) -> DeferredScan:  # noqa: ARG002 - as above
        """Return the scan in its two phases."""
        from airflow_provider_blockread.steps import DeferredScan  # noqa: PLC0415 - not at every DAG parse

        submitter = cast("DetachedSubmitter", self.submitter())  # as `defers` has made sure
        return DeferredScan(env=self.environment(self.window["feed"]), ref=window_ref(self.window), submitter=submitter)
