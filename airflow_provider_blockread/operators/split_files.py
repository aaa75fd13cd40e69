"""Plan a window: which files, cut into which blocks, packed into which groups."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.operators.base import require_kind
from airflow_provider_blockread.operators.planning import PlanOperator
from airflow_provider_blockread.operators.reports.summaries import plan_summary
from airflow_provider_blockread.operators.run_identity import run_identity
from airflow_provider_blockread.options import (
    AsRead,
    FormatOption,
    FunctionOption,
    GenerationOptions,
    Lines,
    Sink,
    Splitting,
)
from airflow_provider_blockread.options.parsing.sizes import plural

if TYPE_CHECKING:
    from airflow.sdk import Context

WINDOW_KEY = "window"
"""The XCom key of the window; the return value is the list of its group numbers, since only that can be mapped over."""

TITLES_KEY = "titles"
"""The XCom key of a description of each group, the title of its mapped read until the read is done."""

_SHOWN = 100  # groups that the log describes


class SplitFilesOperator(PlanOperator):
    """Plans a window of a feed and returns the numbers of the groups to read: `[0, 1, ...]`, or `[]` for none.

    The window itself (a small JSON object) is the XCom `window`: `plan.output["window"]`. The XCom `titles` describes
    each group, for `title_template`.

    With `select="interval"`, parsing fails for a DAG whose runs have no data interval.

    The other options are those of `PlanOperator`.

    :param record_format: how bytes become records.
    :param splitting: how files are cut and packed; there are never more groups than `[core] max_map_length`.
    :param function: what is done with the records on their way to the sink.
    """

    template_fields = (*PlanOperator.template_fields, "record_format", "splitting", "function")
    ui_color = "#cfe8d5"

    def __init__(
        self,
        *,
        record_format: FormatOption = Lines(),
        splitting: Splitting = Splitting(),
        function: FunctionOption = AsRead(),
        **kwargs: Any,  # noqa: ANN401 - the base class's
    ) -> None:
        super().__init__(**kwargs)
        require_kind(self.task_id, "record_format", record_format)
        require_kind(self.task_id, "splitting", splitting)
        require_kind(self.task_id, "function", function)
        self.record_format = record_format
        self.splitting = splitting
        self.function = function

    def run_step(self, context: Context) -> list[int]:
        """Plan the window, push it as an XCom, and return the numbers of the groups to read."""
        from airflow_provider_blockread.ledger.windows.generations import list_groups  # noqa: PLC0415 - not at every DAG parse
        from airflow_provider_blockread.steps.describe import describe_group, group_titles  # noqa: PLC0415

        if run_identity(context).is_temporary:
            msg = (
                f"{self.task_id}: `airflow tasks test` runs no other task, so that the planned window would hold its"
                f" files unread; run all tasks with `airflow dags test {self.dag_id}`, or see by `blockread plan` what"
                " would be planned"
            )
            raise OptionsError(msg)
        env, ref = self.plan(context, self._generation, self.splitting)
        context["ti"].xcom_push(key=WINDOW_KEY, value=ref.to_json())
        if ref.status == "read":
            planned = [group.planned for group in list_groups(env.ledger, ref.window, ref.generation)]
            context["ti"].xcom_push(key=TITLES_KEY, value=group_titles(planned))
            env.observer.details(f"The {plural(len(planned), 'group')}", map(describe_group, islice(planned, _SHOWN)))
        self.sum_up(context, *plan_summary(ref))
        if ref.status == "read":
            return list(range(ref.groups))
        self.log.info("Nothing is to be read: Airflow skips the reads, which are mapped over no group")
        return []

    def _generation(self, sink: Sink) -> GenerationOptions:
        return GenerationOptions(
            sink=sink, record_format=self.record_format, function=self.function, policies=self.policies
        )
