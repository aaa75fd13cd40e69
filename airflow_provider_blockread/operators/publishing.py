"""What a task does with a window that it has published: it informs notifiers, assets and lineage."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow.sdk import Asset, AssetAlias
from airflow.sdk.exceptions import AirflowSkipException

from airflow_provider_blockread.errors import BlockReadError, OptionsError
from airflow_provider_blockread.links.addresses import window_page, with_host
from airflow_provider_blockread.operators.base import StepOperator
from airflow_provider_blockread.operators.reports.summaries import commit_summary, plan_summary
from airflow_provider_blockread.operators.run_identity import run_identity
from airflow_provider_blockread.options import PostgresSink, Sink
from airflow_provider_blockread.options.checks import is_template

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk import Context

    from airflow_provider_blockread.steps import Environment, Published, WindowRef
    from airflow_provider_blockread.steps.commit.lineage import Lineage

ASSET_GROUP = "blockread"
"""The group of the assets that this package creates."""

PUBLISHED = "blockread_published"
"""The key in a task's context of its publication."""


class PublishingOperator(StepOperator):
    """An operator whose step ends with the publication of a window."""

    def __init__(self, **kwargs: Any) -> None:  # noqa: ANN401 - the base class's
        super().__init__(**kwargs)
        self._lineage: tuple[Published, Lineage, Sink, str] | None = None  # with the URI of the output's asset

    def publish(
        self, context: Context, env: Environment, ref: WindowRef, commit: Callable[[], Published], on_empty: str
    ) -> dict[str, Any]:
        """Publish a window, inform notifiers, assets and lineage, and return the publication's summary.

        Assets get an event only if the output has changed and no task has announced that. The task is skipped if its
        window was skipped, or if there is nothing to read or publish and `on_empty` is `skip`.
        """
        from airflow_provider_blockread.ledger.windows.publishing import mark_announced  # noqa: PLC0415 - not at every DAG parse
        from airflow_provider_blockread.steps.commit.announcing import news_of, sink_of  # noqa: PLC0415

        # Airflow makes events for the outlets of a task that succeeds, and OpenLineage names those of a skipped one.
        outlets, self.outlets = self.outlets, []
        if ref.status == "skipped" or (ref.status == "empty" and on_empty == "skip"):
            self.sum_up(context, *plan_summary(ref))
            raise AirflowSkipException(ref.message)
        published = commit()
        self.sum_up(context, *commit_summary(published))
        context[PUBLISHED] = published  # type: ignore[literal-required] # for notifiers
        publishes_nothing = ref.status == "read" and published.status == "published" and not published.changes_output
        if publishes_nothing and on_empty == "skip":
            raise AirflowSkipException(published.message)
        run = run_identity(context)
        news = news_of(env, ref, published, run=str(run), clear_number=run.clear_number)
        if news is not None:
            self.outlets = outlets
            sink = sink_of(env, news)
            self._leave_out_moved(env, sink)
            self._lineage = self._lineage_of(env, news, sink)
            self._emit(context, env, news)
            mark_announced(env.ledger, news.window, news.generation)  # last: what follows may not happen
        return self._summary(published)

    def _summary(self, published: Published) -> dict[str, Any]:
        page = window_page(self.ledger_conn_id, published.window)
        return published.to_json() | ({"page": with_host(page)} if page else {})

    def _leave_out_moved(self, env: Environment, planned: Sink) -> None:
        """Make no event for an output that the DAG got after the plan, since nothing is published there."""
        if self.sink is None or self.sink.anywhere(env.stores.canonical).place == planned.place:
            return
        self.log.warning(
            "published in %s, as planned, and not in %s, the DAG's output since then, whose asset gets no event; clear"
            " the run from its plan on to move the records there",
            planned.place,
            self.sink.place,
        )
        moved = output_asset(self.sink)
        self.outlets = [outlet for outlet in self.outlets if outlet != moved]

    def _emit(self, context: Context, env: Environment, published: Published) -> None:
        """Add the summary to the event of each asset, and the key if the DAG is partitioned at run time."""
        summary = self._summary(published)
        names_partition = getattr(self.dag.timetable, "partitioned_at_runtime", False)
        for outlet in self.outlets:
            if isinstance(outlet, Asset):
                event = context["outlet_events"][outlet]
                event.extra.update(summary)
                if names_partition:
                    event.add_partitions(published.key)
            elif isinstance(self.sink, PostgresSink) and outlet == output_asset(self.sink):
                context["outlet_events"][outlet].add(Asset(uri=_asset_uri(self.sink, env)), extra=summary)

    def _lineage_of(
        self, env: Environment, published: Published, sink: Sink
    ) -> tuple[Published, Lineage, Sink, str] | None:
        """Return the publication and its facts for lineage, or None without a provider that asks for them."""
        if find_spec("airflow.providers.openlineage") is None:
            return None
        from airflow_provider_blockread.steps.commit.lineage import lineage_of  # noqa: PLC0415 - not at every DAG parse

        try:
            lineage = lineage_of(env, published, self.source.roots if self.source else ())
            return published, lineage, sink, _asset_uri(sink, env)
        except BlockReadError as error:  # lineage must not fail a published window
            self.log.warning("OpenLineage gets no facts of this window: %s", error)
            return None

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> OperatorLineage[Any, Any]:  # noqa: ANN401 - Airflow's
        """Return the datasets that the window was read from and written to; none if nothing was published."""
        del task_instance
        from airflow.providers.openlineage.extractors import OperatorLineage  # noqa: PLC0415 - an extra

        from airflow_provider_blockread.operators.reports.lineage import facets_of  # noqa: PLC0415 - as above

        return OperatorLineage() if self._lineage is None else facets_of(*self._lineage)


def output_asset(sink: Sink) -> Asset | AssetAlias | None:
    """Return the asset of an output, or None if its place is known only at run time.

    Its name is its URI, like that of an asset that a DAG names by its URI alone: with two names for one URI, Airflow
    would deactivate one of the assets, and the commit would fail. A table in the database of a connection has an alias,
    which becomes the table's asset at run time, since connections are not read while a DAG is parsed.

    Raises:
        OptionsError: when Airflow has no asset for such a place.
    """
    if is_template(sink.place):
        return None
    if isinstance(sink, PostgresSink) and sink.url is None:
        return AssetAlias(sink.place, group=ASSET_GROUP)
    return Asset(uri=_uri_of(sink.place), group=ASSET_GROUP)


def _asset_uri(sink: Sink, env: Environment) -> str:
    """Return the URI of an output's asset, with the database that its connection names."""
    if isinstance(sink, PostgresSink) and sink.url is None:
        return sink.place_at(env.access.get(sink.postgres_conn_id or "", {}).get("uri", ""))
    return _uri_of(sink.place)


def _uri_of(place: str) -> str:
    """Return the URI of a place in Airflow's spelling, so that the asset's name equals its URI."""
    literal = place.replace("?", "%3F").replace("#", "%23")  # which Airflow takes for a query and a fragment
    try:
        uri = Asset(uri=f"file://{literal}" if place.startswith("/") else literal).uri
    except ValueError as error:
        msg = f"{place}: Airflow cannot make an asset of this output ({error}); choose another place"
        raise OptionsError(msg) from error
    return uri.rstrip("/") if urlsplit(uri).path.strip("/") else uri
