"""Merge many small files into few large ones, in one task."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_provider_blockread.links.pages import OutputLink, WindowLink
from airflow_provider_blockread.operators.base import SparkOperator, owner_of, require_kind
from airflow_provider_blockread.operators.planning import PlanOperator
from airflow_provider_blockread.operators.publishing import PublishingOperator
from airflow_provider_blockread.options import Policies, Sink, Splitting, merging

if TYPE_CHECKING:
    from airflow.sdk import Context


class MergeFilesOperator(SparkOperator, PlanOperator, PublishingOperator):
    """Merges the new files of a source into few large ones, each file exactly once; returns what is published.

    It plans, reads and publishes a window in one task. Each file is a member of an archive, or a row: its bytes in the
    column `value`, its name in `_file`, its time in `_modified`. A retry continues where the last try stopped.

    The other options are those of `PlanOperator`.

    :param sink: an archive, or a sink with columns; a merged file holds about its `file_bytes`.
    :param spark: where and how Spark applications run.
    :param max_readers: the most Spark tasks that read a window at once.
    """

    template_fields = (*PlanOperator.template_fields, "spark")
    ui_color = "#d9d4ee"
    operator_extra_links = (WindowLink(), OutputLink())

    def __init__(self, *, sink: Sink, max_readers: int | None = None, **kwargs: Any) -> None:  # noqa: ANN401 - the base classes'
        super().__init__(sink=sink, **kwargs)
        require_kind(self.task_id, "sink", sink)
        if isinstance(sink, Sink) and isinstance(self.policies, Policies):  # else a task's result: checked when it runs
            merging(sink, self.policies)
        self.splitting = Splitting(max_readers=max_readers)

    def run_step(self, context: Context) -> dict[str, Any]:
        """Plan the files, read and publish them, and return the publication's summary."""
        from airflow_provider_blockread.steps.running import WindowRunner  # noqa: PLC0415 - not at every DAG parse

        env, ref = self.plan(context, partial(merging, policies=self.policies), self.splitting)
        runner = WindowRunner(env=env, owner=owner_of(context), job=self.spark, submitter=self.submitter())
        return self.publish(context, env, ref, partial(runner.run, ref), self.policies.on_empty)
