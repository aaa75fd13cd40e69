"""Read one group of a window on Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_provider_blockread.operators.base import StepOperator, owner_of, run_identity, window_ref
from airflow_provider_blockread.options import SparkJob

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_blockread.hooks.spark import SparkSubmitter


def title_template(plan: str) -> str:
    """Return the `map_index_template` of mapped reads: what the group of a task holds, and once read, what was read.

    Args:
        plan: the id of the task that planned the window, whose XCom `titles` says what the groups hold.
    """
    planned = f"(ti.xcom_pull(task_ids='{plan}', key='titles', map_indexes=-1) or {{}})[task.group]"
    return f"{{{{ blockread_title if blockread_title is defined else {planned} | default('group ' ~ task.group) }}}}"


class ReadBlocksOperator(StepOperator):
    """Reads one group of blocks and returns what was read, in sums; map it over what the plan returned.

    A retry after a success reads nothing again; a retry after a failure or a kill takes the group over.

    :param window: the window that the plan handed over: `plan.output["window"]`.
    :param group: the group's number.
    :param spark: where and how the Spark application runs.
    """

    template_fields = (*StepOperator.template_fields, "window", "group", "spark")
    ui_color = "#f7e3c4"

    def __init__(
        self,
        *,
        window: Any,  # noqa: ANN401 - an XComArg until it is rendered
        group: int,
        spark: SparkJob = SparkJob(),
        **kwargs: Any,  # noqa: ANN401 - BaseOperator's
    ) -> None:
        super().__init__(**kwargs)
        self.window: Mapping[str, Any] = window
        self.group = group
        self.spark = spark
        self._submitter: SparkSubmitter | None = None

    def run_step(self, context: Context) -> dict[str, Any]:
        """Read the group and return how many records it held."""
        from airflow_provider_blockread.hooks.spark import SparkSubmitter  # noqa: PLC0415 - not at every DAG parse
        from airflow_provider_blockread.steps import Caller, read  # noqa: PLC0415

        # Airflow renders the title before this, and again at the end, also of a failure that it must not hide.
        set_title(context, context["ti"].rendered_map_index or f"group {self.group}")
        self._submitter = SparkSubmitter(self.spark, self.credentials())
        outcome = read(
            self.environment(),
            window_ref(self.window),
            int(self.group),
            caller=Caller(owner=owner_of(context), clear_number=run_identity(context).clear_number),
            job=self.spark,
            submitter=self._submitter,
        )
        set_title(context, outcome.title)
        # A thousand of these stay below 64 KB; the ledger holds the rest.
        return {"records": outcome.records, "bad_records": outcome.bad_records}

    def on_kill(self) -> None:
        """Stop the Spark application."""
        if self._submitter is not None:
            self._submitter.cancel()


def set_title(context: Context, title: str) -> None:
    """Say what a mapped task is called, for `title_template`."""
    context["blockread_title"] = title  # type: ignore[typeddict-unknown-key]
