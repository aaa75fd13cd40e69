"""Find the entry states of blocks in files that span groups; most windows need none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_provider_blockread.operators.base import SparkOperator, window_ref

if TYPE_CHECKING:
    from airflow.sdk import Context


class ScanBlocksOperator(SparkOperator):
    """Scans the files that must be scanned before their groups can be read; succeeds at once if there are none.

    :param window: the plan's window: `plan.output["window"]`.
    """

    template_fields = (*SparkOperator.template_fields, "window")

    def __init__(
        self,
        *,
        window: Any,  # noqa: ANN401 - an XComArg until it is rendered
        **kwargs: Any,  # noqa: ANN401 - BaseOperator's
    ) -> None:
        super().__init__(**kwargs)
        self.window: Mapping[str, Any] = window

    def run_step(self, context: Context) -> None:  # noqa: ARG002 - StepOperator's
        """Scan, if the window needs it."""
        from airflow_provider_blockread.steps import scan  # noqa: PLC0415 - not at every DAG parse

        if not scan(self.environment(), window_ref(self.window), submitter=self.submitter()):
            self.log.info("nothing to scan: the entry states of the window's blocks are known, or need not be")
