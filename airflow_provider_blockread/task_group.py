"""The whole pipeline as one task group: plan, read mapped over the groups, commit."""

from __future__ import annotations

from typing import Any

from airflow.sdk import TaskGroup, TriggerRule, XComArg

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.operators.commit_window import CommitWindowOperator
from airflow_provider_blockread.operators.publishing import output_asset
from airflow_provider_blockread.operators.read_blocks import ReadBlocksOperator, title_template
from airflow_provider_blockread.operators.scan_blocks import ScanBlocksOperator
from airflow_provider_blockread.operators.split_files import WINDOW_KEY, SplitFilesOperator
from airflow_provider_blockread.options import (
    AsRead,
    Csv,
    CustomFormat,
    FileSource,
    FormatOption,
    FunctionOption,
    JsonArray,
    Lines,
    Policies,
    Selection,
    Sink,
    SparkJob,
    Splitting,
)
from airflow_provider_blockread.options.upstream import NO_LIST


class BlockReadTaskGroup(TaskGroup):
    """Reads the new files of a source into a sink, each record exactly once: `plan`, (`scan`), `read`, `commit`.

    All strings in options are templates, and a task may return an option, as in `selection=choose()`. `commit` returns
    the publication's summary. If there is nothing to read, `commit` and all tasks downstream are skipped (with
    `Policies(on_empty="succeed")` they run instead).

    :param group_id: the group's name in the DAG, and in the default names of feed and window.
    :param source: where files land, and which to take.
    :param sink: where records go.
    :param record_format: how bytes become records.
    :param selection: which of the discovered files a window takes.
    :param splitting: how files are cut into blocks, and blocks packed into groups.
    :param function: what is done with the records on their way to the sink.
    :param policies: what happens when something is not as planned.
    :param spark: where and how Spark applications run.
    :param feed: the feed's name; default `{dag_id}.{group_id}`.
    :param window: the window's key; the default follows from the run.
    :param files: paths from upstream, instead of listing the source; see `SplitFilesOperator`.
    :param deferrable: release the workers while Spark works, as `ReadBlocksOperator` does.
    :param ledger_conn_id: the ledger's connection; default `blockread_default`, or the embedded ledger.
    """

    def __init__(  # noqa: PLR0913 - keyword-only options
        self,
        group_id: str,
        *,
        source: FileSource,
        sink: Sink,
        record_format: FormatOption = Lines(),
        selection: Selection = Selection(),
        splitting: Splitting = Splitting(),
        function: FunctionOption = AsRead(),
        policies: Policies = Policies(),
        spark: SparkJob = SparkJob(),
        feed: str | None = None,
        window: str | None = None,
        files: Any = NO_LIST,  # noqa: ANN401 - paths in one of several forms, or an XComArg of them
        deferrable: bool | None = None,
        ledger_conn_id: str | None = None,
        **kwargs: Any,  # noqa: ANN401 - TaskGroup's
    ) -> None:
        super().__init__(group_id=group_id, **kwargs)
        _refuse_mapped(self)
        _refuse_fail_fast(self)
        # Arguments that are not given are left to the `default_args` of the DAG or group.
        shared: dict[str, Any] = {"source": source, "sink": sink} | _given({"ledger_conn_id": ledger_conn_id})
        waiting = _given({"deferrable": deferrable})
        with self:
            plan = SplitFilesOperator(
                task_id="plan",
                record_format=record_format,
                selection=selection,
                splitting=splitting,
                function=function,
                policies=policies,
                group=self.group_id,
                files=files,
                do_xcom_push=True,  # also where `default_args` say False: reads are mapped over what it returns
                **_given({"feed": feed, "window": window}),
                **shared,
            )
            planned = shared | {"window": XComArg(plan, WINDOW_KEY)} | ({} if spark == SparkJob() else {"spark": spark})
            # Whatever rule `default_args` have for the plan: nothing can be read before it, and before a scan.
            working = waiting | planned | {"trigger_rule": TriggerRule.ALL_SUCCESS}
            read = ReadBlocksOperator.partial(
                task_id="read", map_index_template=title_template(plan.task_id), function=function, **working
            ).expand(group=plan.output)
            commit = CommitWindowOperator(
                task_id="commit",
                on_empty=policies.on_empty if isinstance(policies, Policies) else policies,
                outlets=[asset] if isinstance(sink, Sink) and (asset := output_asset(sink)) else [],
                # The reads of an empty window are skipped: the success of the plan must then suffice.
                trigger_rule=TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS,
                **planned,
            )
            _let_plan_wait(plan, commit)
            read >> commit
            if may_need_scan(record_format):
                plan >> ScanBlocksOperator(task_id="scan", **working) >> read


def _refuse_mapped(group: TaskGroup) -> None:
    if next(iter(group.iter_mapped_task_groups()), None) is not None:
        msg = (
            f"{group.group_id}: Airflow cannot map the reads of a group inside of a mapped task group; make a"
            " BlockReadTaskGroup for each source in a loop, or one with several roots"
        )
        raise OptionsError(msg)


def _refuse_fail_fast(group: TaskGroup) -> None:
    if group.dag.fail_fast:
        msg = (
            f"{group.group_id}: Airflow allows no commit in a DAG with fail_fast=True, since it also runs after reads"
            " that were skipped, as those of a window with nothing to read; leave fail_fast out"
        )
        raise OptionsError(msg)


def _let_plan_wait(plan: SplitFilesOperator, commit: CommitWindowOperator) -> None:
    """Let the plan wait for the tasks that return options, and the commit for the plan alone.

    Otherwise their success would let the commit of a group run that is skipped, as by a branch, and fail.
    """
    for task in commit.upstream_list:
        if task.task_id != plan.task_id:
            task >> plan
            task.downstream_task_ids.discard(commit.task_id)
            commit.upstream_task_ids.discard(task.task_id)


def _given(options: dict[str, object]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def may_need_scan(record_format: FormatOption) -> bool:
    """Return whether, by the format's options, its blocks may depend on what comes before them.

    Whether a scan is needed is decided by the plan: without a file that spans groups the scan task has nothing to do.
    A format that a task returns is not known yet.
    """
    if isinstance(record_format, Csv):
        return any(mark is not None for mark in (record_format.quote, record_format.escape, record_format.comment))
    return isinstance(record_format, JsonArray | CustomFormat) or not isinstance(record_format, FormatOption)
