"""What all operators that plan a window share: which files, in which feed, under which key."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperatorLink
from airflow.sdk.configuration import conf

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.links.pages import WindowLink
from airflow_provider_blockread.operators.base import StepOperator, owner_of, require_kind
from airflow_provider_blockread.operators.run_identity import (
    feed_name,
    interval_ns,
    is_replay,
    run_identity,
    window_key,
)
from airflow_provider_blockread.operators.timetables import require_intervals
from airflow_provider_blockread.options import (
    FileList,
    FileSource,
    GenerationOptions,
    Policies,
    Selection,
    Sink,
    Splitting,
)
from airflow_provider_blockread.options.upstream import NO_LIST

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_blockread.hooks.stores import Credentials
    from airflow_provider_blockread.steps import Environment, WindowRef


class PlanOperator(StepOperator):
    """An operator that plans a window of a feed.

    :param source: where files land, and which to take.
    :param sink: where records go.
    :param selection: which of the discovered files the window takes.
    :param policies: what happens when something is not as planned.
    :param feed: the feed's name, a template; default `{dag_id}.{group}`.
    :param window: the window's key, a template; the default follows from the run (see `run_identity.window_key`).
    :param group: the pipeline's name within the DAG; default: the task's id.
    :param files: paths from upstream, instead of listing the source: a list of texts or of objects with a `path`, the
        same as JSON text, a sensor's result, `FileList` (a file that lists them) or `EventFiles` (of asset events).
        None, as from a task that returns nothing, fails the plan.
    """

    template_fields: Collection[str] = (
        *StepOperator.template_fields,
        "selection",
        "policies",
        "feed",
        "window",
        "files",
    )
    operator_extra_links: Collection[BaseOperatorLink] = (WindowLink(),)

    def __init__(  # noqa: PLR0913 - keyword-only options
        self,
        *,
        source: FileSource,
        sink: Sink,
        selection: Selection = Selection(),
        policies: Policies = Policies(),
        feed: str | None = None,
        window: str | None = None,
        group: str | None = None,
        files: Any = NO_LIST,  # noqa: ANN401 - paths in one of several forms, or an XComArg of them
        **kwargs: Any,  # noqa: ANN401 - BaseOperator's
    ) -> None:
        super().__init__(source=source, sink=sink, **kwargs)
        require_kind(self.task_id, "selection", selection)
        require_kind(self.task_id, "policies", policies)
        self.selection = selection
        self.policies = policies
        self.feed = feed
        self.window = window
        self.names_feed, self.names_window = feed is not None, window is not None  # whatever they are rendered to
        self.group = group or self.task_id
        self.lists_source = files is NO_LIST
        self.files = None if self.lists_source else files
        self.planned: dict[str, Any] = {}  # the window, once it has run, for its link
        is_known = isinstance(selection, Selection)  # otherwise a task returns it
        if is_known and selection.select == "interval" and self.has_dag():  # type: ignore[no-untyped-call]
            require_intervals(self.dag, self.task_id)

    def credentials(self) -> Credentials:
        """Return the storage options from the connections of source, sink and list of files."""
        from airflow_provider_blockread.hooks.stores import credentials_for  # noqa: PLC0415 - not at every DAG parse

        return credentials_for(self.source, self.sink, self.files if isinstance(self.files, FileList) else None)

    def plan(
        self, context: Context, generation: Callable[[Sink], GenerationOptions], splitting: Splitting
    ) -> tuple[Environment, WindowRef]:
        """Plan the window, and return it with the environment of the step.

        Args:
            context: of the task.
            generation: makes the options of a generation from the sink.
            splitting: how files are cut and packed.

        Raises:
            OptionsError: when source or sink is missing.
        """
        from airflow_provider_blockread.ledger.noop import key_of_run  # noqa: PLC0415 - not at every DAG parse
        from airflow_provider_blockread.operators.upstream import files_of  # noqa: PLC0415
        from airflow_provider_blockread.steps import PlanRequest, plan  # noqa: PLC0415

        if self.source is None or self.sink is None:
            msg = f"{self.task_id}: source and sink are needed to plan a window; give both"
            raise OptionsError(msg)
        run, select = run_identity(context), self.selection.select
        feed = feed_name(run, group=self.group, explicit=str(self.feed) if self.names_feed else None)
        env = self.environment(feed)
        key = window_key(run, group=self.group, select=select, explicit=str(self.window) if self.names_window else None)
        longest = conf.getint("core", "max_map_length")
        request = PlanRequest(
            feed=feed,
            key=key_of_run(env.ledger, key, run.run_id),
            source=self.source,
            selection=self.selection,
            splitting=replace(splitting, max_groups=min(splitting.max_groups, longest)),
            generation=generation(self.sink),
            owner=owner_of(context),
            clear_number=run.clear_number,
            run=str(run),
            reprocesses=run.reprocesses,
            interval_ns=interval_ns(run, select=select),
            replay_only=is_replay(run, select=select),
            files=None if self.lists_source else files_of(self.files, context, self.log.info),
            mapped=run.map_index >= 0 and not self.names_window,
            names_feed=self.names_feed,
        )
        ref = plan(env, request)
        self.planned = ref.to_json()
        return env, ref
