"""Read one group of a window on Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_provider_blockread.operators.base import SparkOperator, owner_of, run_identity, window_ref
from airflow_provider_blockread.options import AsRead, FunctionOption
from airflow_provider_blockread.options.functions import text_of

if TYPE_CHECKING:
    from airflow.sdk import Context


def title_template(plan: str) -> str:
    """Return the `map_index_template` of mapped reads: the content of a task's group, and after the read what was read.

    Args:
        plan: the id of the task that planned the window; its XCom `titles` describes the groups.
    """
    planned = f"(ti.xcom_pull(task_ids='{plan}', key='titles', map_indexes=-1) or {{}})[task.group]"
    return f"{{{{ blockread_title if blockread_title is defined else {planned} | default('group ' ~ task.group) }}}}"


class ReadBlocksOperator(SparkOperator):
    """Reads one group of blocks and returns sums of what was read; map it over the plan's return value.

    A retry after a success reads nothing again; a retry after a failure or a kill takes the group over.

    :param window: the plan's window: `plan.output["window"]`.
    :param group: the group's number.
    :param function: the plan's function, where it is one of the DAG's file; an import path travels with the window.
    """

    template_fields = (*SparkOperator.template_fields, "window", "group")
    ui_color = "#f7e3c4"

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
        """Read the group and return its number of records."""
        from airflow_provider_blockread.steps import Caller, read  # noqa: PLC0415 - not at every DAG parse

        # Airflow rendered the title before, and renders it again at the end, also after a failure.
        set_title(context, context["ti"].rendered_map_index or f"group {self.group}")
        text = text_of(self.function)
        outcome = read(
            replace(self.environment(), code=text.code if text else None),
            window_ref(self.window),
            int(self.group),
            caller=Caller(owner=owner_of(context), clear_number=run_identity(context).clear_number),
            job=self.spark,
            submitter=self.submitter(),
        )
        set_title(context, outcome.title)
        # A thousand of these stay below 64 KB; the ledger holds the rest.
        return {"records": outcome.records, "bad_records": outcome.bad_records}


def set_title(context: Context, title: str) -> None:
    """Set the title of a mapped task, for `title_template`."""
    context["blockread_title"] = title  # type: ignore[typeddict-unknown-key]
