"""A sensor that waits until a feed has new files to read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Never

from airflow.sdk import BaseSensorOperator, PokeReturnValue, timezone
from airflow.sdk.configuration import conf
from airflow.sdk.exceptions import AirflowFailException, AirflowSensorTimeout, AirflowSkipException, AirflowTaskTimeout

from airflow_provider_blockread.errors import BlockReadError, OptionsError, PermanentError, error_class
from airflow_provider_blockread.observer import LogObserver
from airflow_provider_blockread.operators.base import OptionTemplates, require_kind, require_valid
from airflow_provider_blockread.operators.run_identity import (
    feed_name,
    interval_ns,
    is_replay,
    run_identity,
    window_key,
)
from airflow_provider_blockread.options import FileSource, Selection, parse_duration, parse_size
from airflow_provider_blockread.options.checks import above_zero, true_or_false

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_blockread.steps.watch.new_files import NewFilesQuery


class NewFilesSensor(OptionTemplates, BaseSensorOperator):
    """Waits until a feed has new files that a plan would take now; the sensor itself takes no files.

    Returns small JSON, the same in every mode: `feed`, `files`, `bytes`, `oldest` (ISO 8601, UTC), `paths` (the first
    20) and `why` (`enough`, `delay` or `planned`). A run whose plan takes no new files does not wait: its window is
    already planned, as when it is cleared, or it is a backfill of a feed that selects by arrival. A source that does
    not exist yet has no files.

    :param source: where files land, and which to take, as in the pipeline; a file younger than its `min_age` does not
        count.
    :param group: the pipeline in this DAG: its `group_id`, or the task id of its `SplitFilesOperator`.
    :param feed: the feed's name, a template; needed if the pipeline sets its own, or is in another DAG.
    :param window: the window's key, a template; needed if the pipeline sets one.
    :param selection: as in the pipeline; its limits and `late` are not used.
    :param min_files: wait for at least this many new files.
    :param min_bytes: wait until the new files have at least this many bytes: a number, or text such as `1GiB`; a
        template.
    :param max_delay: succeed with fewer files or bytes if the oldest file was modified this long ago: seconds, or text
        such as `15min`; a template.
    :param ledger_conn_id: the ledger's connection, as in the pipeline.
    :param deferrable: wait in the triggerer instead of on a worker.
    """

    template_fields: Collection[str] = (
        "source",
        "selection",
        "feed",
        "window",
        "min_bytes",
        "max_delay",
        "ledger_conn_id",
    )
    ui_color = "#e8f0d8"

    def __init__(  # noqa: PLR0913 - keyword-only options
        self,
        *,
        source: FileSource,
        group: str | None = None,
        feed: str | None = None,
        window: str | None = None,
        selection: Selection = Selection(),
        min_files: int = 1,
        min_bytes: int | str = 0,
        max_delay: float | str | None = None,
        ledger_conn_id: str | None = None,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,  # noqa: ANN401 - BaseSensorOperator's
    ) -> None:
        super().__init__(**kwargs)
        if group is None and feed is None:
            msg = f"{self.task_id}: give group (the pipeline's group_id in this DAG) or feed"
            raise OptionsError(msg)
        above_zero(self.task_id, "min_files", min_files)
        true_or_false(self.task_id, "deferrable", deferrable)
        require_kind(self.task_id, "source", source)
        require_kind(self.task_id, "selection", selection)
        if min_bytes:
            require_valid(self.task_id, "min_bytes", min_bytes, parse_size)
        require_valid(self.task_id, "max_delay", max_delay, parse_duration)
        self.source = source
        self.group = group
        self.feed = feed
        self.window = window
        self.names_feed, self.names_window = feed is not None, window is not None  # whatever they are rendered to
        self.selection = selection
        self.min_files = min_files
        self.min_bytes = min_bytes
        self.max_delay = max_delay
        self.ledger_conn_id = ledger_conn_id
        self.deferrable = deferrable

    def execute(self, context: Context) -> Any:  # noqa: ANN401 - what was found, or whatever a subclass makes of it
        """Return what was found; wait on the worker, or in the triggerer if the sensor is deferrable.

        Raises:
            AirflowFailException: when a retry cannot succeed.
            BlockReadError: when a retry may succeed.
        """
        if not self.deferrable:
            return super().execute(context)
        first = self._first_poke(context)
        return self._wait_in_triggerer(context) if first is None else first

    def _wait_in_triggerer(self, context: Context) -> Never:
        from airflow_provider_blockread.hooks.ledger import LedgerHook  # noqa: PLC0415 - not at every DAG parse
        from airflow_provider_blockread.triggers.new_files import NewFilesTrigger  # noqa: PLC0415 - where it is needed

        longest = self.max_wait.total_seconds() if self.max_wait else self.timeout
        timeout = min(timedelta(seconds=self.timeout), self.execution_timeout or timedelta.max)
        ends = timezone.utcnow() + timeout
        self.defer(
            trigger=NewFilesTrigger(
                query=self.query(context).to_json(),
                ledger_conn_id=LedgerHook(self.ledger_conn_id).conn_id_in_use(),
                run=str(run_identity(context)),
                poke_interval=self.poke_interval,
                backoff={"longest": longest, "until": ends.timestamp()} if self.exponential_backoff else None,
                silent_fail=self.silent_fail,
            ),
            method_name="execute_complete",
            timeout=timeout,
        )

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:  # noqa: ANN401 - as execute
        """Return what was found; a wait ended by `execution_timeout` may be retried, as on a worker.

        Raises:
            AirflowTaskTimeout: when `execution_timeout` has passed.
            AirflowSensorTimeout: when the sensor's own `timeout` has passed.
        """
        try:
            return super().resume_execution(next_method, next_kwargs, context)
        except AirflowSensorTimeout as error:
            if self.execution_timeout is None or self.execution_timeout >= timedelta(seconds=self.timeout):
                raise
            msg = f"{self.task_id}: no new files within the execution_timeout of {self.execution_timeout}"
            raise AirflowTaskTimeout(msg) from error

    def poke(self, context: Context) -> PokeReturnValue:
        """Look once, and return whether to stop waiting, with what was found.

        Raises:
            AirflowFailException: when a retry cannot succeed.
            BlockReadError: when a retry may succeed.
        """
        from airflow_provider_blockread.hooks.ledger import LedgerHook  # noqa: PLC0415 - not at every DAG parse
        from airflow_provider_blockread.hooks.stores import credentials_for  # noqa: PLC0415
        from airflow_provider_blockread.steps import Environment  # noqa: PLC0415
        from airflow_provider_blockread.steps.watch.new_files import find_new_files  # noqa: PLC0415
        from airflow_provider_blockread.storage.stores import Stores  # noqa: PLC0415

        try:
            query, stores = self.query(context), Stores(credentials_for(self.source, None))
            with closing(LedgerHook(self.ledger_conn_id, run=str(run_identity(context))).get_conn()) as ledger:
                env = Environment(ledger=ledger, stores=stores, observer=LogObserver(self.log.info, self.log.warning))
                found = find_new_files(env, query)
        except PermanentError as error:
            raise AirflowFailException(str(error)) from error
        return PokeReturnValue(is_done=bool(found.why), xcom_value=found.to_json())

    def execute_complete(self, context: Context, event: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002 - Airflow's
        """Return what the trigger found.

        Raises:
            AirflowFailException: when the trigger failed with a permanent error.
            BlockReadError: when the trigger failed with a transient error.
        """
        if "error" not in event:
            return event
        kind, message = error_class(event["error"]), str(event["message"])
        if issubclass(kind, PermanentError):
            raise AirflowFailException(message)
        if self.never_fail:
            raise AirflowSkipException(message)
        raise kind(message)

    def query(self, context: Context) -> NewFilesQuery:
        """Return what this run looks for."""
        from airflow_provider_blockread.steps.watch.new_files import NewFilesQuery  # noqa: PLC0415 - not at every parse

        require_kind(self.task_id, "source", self.source)  # a task may have returned something else
        require_kind(self.task_id, "selection", self.selection)
        run, select = run_identity(context), self.selection.select
        if self.get_closest_mapped_task_group() is None:
            run = replace(run, map_index=-1)  # the index is the sensor's own: its pipeline is not mapped
        feed = str(self.feed) if self.names_feed else None
        window = str(self.window) if self.names_window else None
        keyed = self.group is not None or self.names_window
        key = window_key(run, group=self.group or "", select=select, explicit=window) if keyed else None
        if feed is None:
            self._require_pipeline(context)
        return NewFilesQuery(
            feed=feed_name(run, group=self.group, explicit=feed),
            source=self.source,
            selection=self.selection,
            key=key,
            interval_ns=interval_ns(run, select=select),
            min_files=self.min_files,
            min_bytes=parse_size(self.min_bytes) if self.min_bytes else 0,
            max_delay=None if self.max_delay is None else parse_duration(self.max_delay),
            replay_only=keyed and is_replay(run, select=select),
        )

    def _require_pipeline(self, context: Context) -> None:
        """Refuse a group that the DAG lacks: its feed would not know any file, so the sensor would never wait.

        Raises:
            OptionsError: naming the groups and tasks that exist.
        """
        dag = context["dag"]
        groups = {name for name in dag.task_group.get_task_group_dict() if name is not None}
        # Other operators may have a `group` of their own, which may be no text.
        kinds = {task: getattr(task, "operator_class", type(task)) for task in dag.tasks}  # that of a mapped task
        others = [task for task, kind in kinds.items() if not issubclass(kind, NewFilesSensor)]
        named = [getattr(task, "partial_kwargs", vars(task)).get("group") for task in others]
        if self.group not in [*groups, *named, *(task.task_id for task in others)]:
            known = ", ".join(sorted(groups)) or "none"
            msg = (
                f"{self.task_id}: the DAG has no task group or task {self.group!r}; its groups: {known}. Correct group"
            )
            raise OptionsError(msg)

    def _first_poke(self, context: Context) -> Any:  # noqa: ANN401 - what was found
        """Return what is there already, or None if the sensor must wait."""
        try:
            found = self.poke(context)
        except AirflowFailException as error:  # treated as the base class treats its own errors
            if self.soft_fail or self.never_fail:
                raise AirflowSkipException(str(error)) from error
            raise
        except BlockReadError as error:
            if not self.silent_fail:
                if self.never_fail:
                    raise AirflowSkipException(str(error)) from error
                raise
            self.log.warning("%s", error)
            return None
        return found.xcom_value if found else None
