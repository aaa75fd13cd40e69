"""Prove a window and publish it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset
from airflow.sdk.exceptions import AirflowSkipException

from airflow_provider_blockread.links.addresses import window_page, with_host
from airflow_provider_blockread.links.pages import OutputLink, WindowLink
from airflow_provider_blockread.operators.base import StepOperator, owner_of, window_ref
from airflow_provider_blockread.operators.summaries import commit_summary, plan_summary
from airflow_provider_blockread.options import Sink, SparkJob

if TYPE_CHECKING:
    from airflow.sdk import Context


ASSET_GROUP = "blockread"
"""The group of the assets that this package makes."""

PUBLISHED = "blockread_published"
"""The key in a task's context of what it has published."""


class CommitWindowOperator(StepOperator):
    """Proves a window and publishes it; returns the publication's summary and emits it with an asset event.

    There is no event if the output does not change: the window was published before, was only verified, or publishes
    and removes no file. In the last case, and with nothing to read, the task is skipped (`on_empty`).

    Give it the trigger rule `none_failed_min_one_success`, downstream of the plan and the reads: the reads of a window
    with nothing to read are skipped, and the commit then decides about tasks downstream.

    :param window: the plan's window: `plan.output["window"]`.
    :param on_empty: `skip` this task, or let it `succeed`, with nothing to read or nothing to publish.
    :param spark: after `stale_after_s` without a heartbeat, another owner of the publication counts as dead.
    """

    template_fields = (*StepOperator.template_fields, "window")
    ui_color = "#cfe8d5"
    operator_extra_links = (WindowLink(), OutputLink())

    def __init__(
        self,
        *,
        window: Any,  # noqa: ANN401 - an XComArg until it is rendered
        on_empty: str = "skip",
        spark: SparkJob = SparkJob(),
        **kwargs: Any,  # noqa: ANN401 - BaseOperator's
    ) -> None:
        super().__init__(**kwargs)
        self.window: Mapping[str, Any] = window
        self.on_empty = on_empty
        self.spark = spark

    def run_step(self, context: Context) -> dict[str, Any]:
        """Prove and publish."""
        from airflow_provider_blockread.steps import commit  # noqa: PLC0415 - not at every DAG parse

        ref = window_ref(self.window)
        if ref.status == "skipped" or (ref.status == "empty" and self.on_empty == "skip"):
            self.sum_up(context, *plan_summary(ref))
            raise AirflowSkipException(ref.message)
        env = self.environment(ref.feed)
        published = commit(env, ref, owner=owner_of(context), stale_after_s=self.spark.stale_after_s)
        self.sum_up(context, *commit_summary(published))
        context[PUBLISHED] = published  # type: ignore[literal-required] # for notifiers
        page = window_page(self.ledger_conn_id, published.window)
        summary = published.to_json() | ({"page": with_host(page)} if page else {})
        if ref.status != "read" or not published.changes_output:
            if published.status == "published" and ref.status == "read" and self.on_empty == "skip":
                raise AirflowSkipException(published.message)
            self.outlets = []  # Airflow makes an event of each outlet of a task that succeeds
            return summary
        for outlet in self.outlets:
            if isinstance(outlet, Asset):
                context["outlet_events"][outlet].extra.update(summary)
        return summary


def output_asset(sink: Sink) -> Asset | None:
    """Return the asset of a sink's directory; None if the directory is only known at run time.

    Its name is its URI, as of an asset that a DAG names by its URI alone: with another name for the URI, Airflow would
    make one of the two inactive, and the commit would fail.
    """
    if "{{" in sink.place or "{%" in sink.place:
        return None
    uri = f"file://{sink.place}" if sink.place.startswith("/") else sink.place
    return Asset(uri=uri, group=ASSET_GROUP)
