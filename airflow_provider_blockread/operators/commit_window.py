"""Prove a window and publish it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, AssetAlias
from airflow.sdk.exceptions import AirflowSkipException

from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.links.addresses import window_page, with_host
from airflow_provider_blockread.links.pages import OutputLink, WindowLink
from airflow_provider_blockread.operators.base import StepOperator, owner_of, window_ref
from airflow_provider_blockread.operators.reports.summaries import commit_summary, plan_summary
from airflow_provider_blockread.options import PostgresSink, Sink, SparkJob

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk import Context

    from airflow_provider_blockread.steps import Environment, Published
    from airflow_provider_blockread.steps.commit.lineage import Lineage

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
        self._place = ""  # URI of the output's asset, as it is known when the task runs
        self._lineage: tuple[Published, Lineage] | None = None

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
        if self.sink is not None:
            self._place = _asset_uri(self.sink, env)
        self._lineage = self._lineage_of(env, published)
        self._emit(context, published, summary)
        return summary

    def _emit(self, context: Context, published: Published, summary: dict[str, Any]) -> None:
        """Add the summary to the event of each asset; in a DAG that names its partitions when it runs, the key, too."""
        names_partition = getattr(self.dag.timetable, "partitioned_at_runtime", False)
        for outlet in self.outlets:
            if isinstance(outlet, Asset):
                event = context["outlet_events"][outlet]
                event.extra.update(summary)
                if names_partition:
                    event.add_partitions(published.key)
            elif isinstance(outlet, AssetAlias) and self.sink is not None and outlet == output_asset(self.sink):
                context["outlet_events"][outlet].add(Asset(uri=self._place), extra=summary)

    def _lineage_of(self, env: Environment, published: Published) -> tuple[Published, Lineage] | None:
        """Return the numbers that lineage is made of, if Airflow has a provider that asks for them."""
        if find_spec("airflow.providers.openlineage") is None or self.sink is None:
            return None
        from airflow_provider_blockread.steps.commit.lineage import lineage_of  # noqa: PLC0415 - not at every DAG parse

        try:
            return published, lineage_of(env, published, self.source.roots if self.source else ())
        except BlockReadError as error:  # what is published stays published
            self.log.warning("OpenLineage gets no facts of this window: %s", error)
            return None

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> OperatorLineage[Any, Any] | None:  # noqa: ANN401 - Airflow's
        """Return the datasets that the window was read from and written to; None if nothing was published."""
        del task_instance
        if self._lineage is None or self.sink is None:
            return None
        from airflow_provider_blockread.operators.reports.lineage import facets_of  # noqa: PLC0415 - its provider is an extra

        return facets_of(*self._lineage, self.sink, self._place)


def output_asset(sink: Sink) -> Asset | AssetAlias | None:
    """Return the asset of an output; None if its place is only known at run time.

    Its name is its URI, as of an asset that a DAG names by its URI alone: with another name for the URI, Airflow would
    make one of the two inactive, and the commit would fail. A table in the database of a connection has an alias, which
    becomes the table's asset at run time, since connections are not read while a DAG is parsed.
    """
    if "{{" in sink.place or "{%" in sink.place:
        return None
    if isinstance(sink, PostgresSink) and sink.url is None:
        return AssetAlias(sink.place, group=ASSET_GROUP)
    return Asset(uri=_local_as_uri(sink.place), group=ASSET_GROUP)


def _asset_uri(sink: Sink, env: Environment) -> str:
    """Return the URI of an output's asset, with what a connection says of its database."""
    if isinstance(sink, PostgresSink) and sink.url is None:
        return sink.place_at(env.access.get(sink.postgres_conn_id or "", {}).get("uri", ""))
    return _local_as_uri(sink.place)


def _local_as_uri(place: str) -> str:
    return f"file://{place}" if place.startswith("/") else place
