"""Prove a window and publish it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from airflow_provider_blockread.links.pages import OutputLink, WindowLink
from airflow_provider_blockread.operators.base import owner_of, require_kind, window_ref
from airflow_provider_blockread.operators.publishing import PublishingOperator
from airflow_provider_blockread.options import Policies, SparkJob

if TYPE_CHECKING:
    from airflow.sdk import Context


class CommitWindowOperator(PublishingOperator):
    """Proves a window and publishes it; returns the publication's summary, which the asset event also carries.

    There is no event if the output does not change: the window was published before and has had its event, was only
    verified, or neither publishes nor removes a file. In the last case, and with nothing to read, the task is skipped
    (`on_empty`).

    Give it the trigger rule `none_failed_min_one_success`, downstream of the plan and the reads: the reads of a window
    with nothing to read are skipped, and the commit then decides about tasks downstream.

    :param window: the plan's window: `plan.output["window"]`.
    :param on_empty: if there is nothing to read or publish: `skip` this task, or let it `succeed`; or the
        `Policies` that a task returns, which say so.
    :param spark: after `stale_after_s` without a heartbeat, another owner of the publication counts as dead.
    """

    template_fields = (*PublishingOperator.template_fields, "window", "on_empty", "spark")
    ui_color = "#cfe8d5"
    operator_extra_links = (WindowLink(), OutputLink())

    def __init__(
        self,
        *,
        window: Any,  # noqa: ANN401 - an XComArg until it is rendered
        on_empty: Literal["skip", "succeed"] | Policies = "skip",
        spark: SparkJob = SparkJob(),
        **kwargs: Any,  # noqa: ANN401 - BaseOperator's
    ) -> None:
        super().__init__(**kwargs)
        if isinstance(on_empty, str):
            Policies(on_empty=on_empty)  # validates the word
        require_kind(self.task_id, "spark", spark)
        self.window: Mapping[str, Any] = window
        self.on_empty = on_empty
        self.spark = spark

    def run_step(self, context: Context) -> dict[str, Any]:
        """Prove and publish the window, and return the publication's summary."""
        from airflow_provider_blockread.operators.upstream import require_plan  # noqa: PLC0415 - not at every DAG parse
        from airflow_provider_blockread.steps import commit  # noqa: PLC0415

        require_plan(self)
        ref = window_ref(self.window)
        env = self.environment(ref.feed)
        step = partial(commit, env, ref, owner=owner_of(context), stale_after_s=self.spark.stale_after_s)
        on_empty = self.on_empty.on_empty if isinstance(self.on_empty, Policies) else self.on_empty
        return self.publish(context, env, ref, step, on_empty)
