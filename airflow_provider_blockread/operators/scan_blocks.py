"""Find the entry states of blocks of files that span groups; most windows need none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_provider_blockread.operators.base import StepOperator, window_ref
from airflow_provider_blockread.options import SparkJob

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_blockread.hooks.spark import SparkSubmitter


class ScanBlocksOperator(StepOperator):
    """Scans what must be scanned before groups can be read apart; succeeds at once when the window needs no scan.

    :param window: the window that the plan handed over: `plan.output["window"]`.
    :param spark: where and how the Spark application runs.
    """

    template_fields = (*StepOperator.template_fields, "window", "spark")

    def __init__(
        self,
        *,
        window: Any,  # noqa: ANN401 - an XComArg until it is rendered
        spark: SparkJob = SparkJob(),
        **kwargs: Any,  # noqa: ANN401 - BaseOperator's
    ) -> None:
        super().__init__(**kwargs)
        self.window: Mapping[str, Any] = window
        self.spark = spark
        self._submitter: SparkSubmitter | None = None

    def run_step(self, context: Context) -> None:  # noqa: ARG002 - StepOperator's
        """Scan, if the window needs it."""
        from airflow_provider_blockread.hooks.spark import SparkSubmitter  # noqa: PLC0415 - not at every DAG parse
        from airflow_provider_blockread.steps import scan  # noqa: PLC0415

        self._submitter = SparkSubmitter(self.spark, self.credentials())
        if not scan(self.environment(), window_ref(self.window), submitter=self._submitter):
            self.log.info("nothing to scan: the entry states of the window's blocks are known, or need not be")

    def on_kill(self) -> None:
        """Stop the Spark application."""
        if self._submitter is not None:
            self._submitter.cancel()
