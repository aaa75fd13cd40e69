"""Read published windows again, or some of their files, and replace their output, one window after another."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_blockread.operators.base import StepOperator, owner_of
from airflow_provider_blockread.options import SparkJob, parse_time

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_blockread.hooks.spark import SparkSubmitter
    from airflow_provider_blockread.steps.upkeep.rebuilding import RebuildRequest

_SHOWN = 500  # ids of windows that are returned, below 64 KB in all


class RebuildWindowsOperator(StepOperator):
    """Rebuilds one window, or those of a feed between two times or two keys, in the order of their planning.

    Each is read under the options that it was published with, and replaced when its new generation is proven. The
    first failure stops the task; a retry goes on from there, and windows that were rebuilt stay as they are.
    Another DAG run goes over all of its windows.

    :param feed: the feed, a template; a range needs one.
    :param window: the id or key of the only window to rebuild, a template.
    :param since: windows planned at this time or later: a time, or its ISO text, a template. Without a zone it is UTC.
    :param until: windows planned before this time.
    :param first_key: windows from this key on, in the order of text, a template.
    :param last_key: windows up to this key.
    :param spark: where and how Spark applications run.
    """

    template_fields = (
        *StepOperator.template_fields,
        *("feed", "window", "since", "until", "first_key", "last_key", "spark"),
    )
    ui_color = "#f7e3c4"

    def __init__(  # noqa: PLR0913 - keyword-only options
        self,
        *,
        feed: str | None = None,
        window: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        first_key: str | None = None,
        last_key: str | None = None,
        spark: SparkJob = SparkJob(),
        **kwargs: Any,  # noqa: ANN401 - BaseOperator's
    ) -> None:
        super().__init__(**kwargs)
        self.feed = feed
        self.window = window
        self.since = since
        self.until = until
        self.first_key = first_key
        self.last_key = last_key
        self.spark = spark
        self._submitter: SparkSubmitter | None = None

    def run_step(self, context: Context) -> dict[str, Any]:
        """Say what will be done, do it, and return what was rebuilt, in sums."""
        from airflow_provider_blockread.hooks.spark import SparkSubmitter  # noqa: PLC0415 - not at every DAG parse
        from airflow_provider_blockread.steps.running import WindowRunner  # noqa: PLC0415
        from airflow_provider_blockread.steps.upkeep.rebuilding import propose_rebuild, rebuild  # noqa: PLC0415

        env, asked = self.environment(), replace(self.request(), task=owner_of(context))
        propose_rebuild(env, asked).report(env.observer)
        self._submitter = SparkSubmitter(self.spark, self.credentials())
        runner = WindowRunner(env=env, owner=owner_of(context), job=self.spark, submitter=self._submitter)
        done = rebuild(env, asked, runner)
        return {
            "windows": len(done),
            "records": sum(window.records for window in done),
            "bad_records": sum(window.bad_records for window in done),
            "rebuilt": [window.window for window in done[:_SHOWN]],
        }

    def on_kill(self) -> None:
        """Stop the Spark application."""
        if self._submitter is not None:
            self._submitter.cancel()

    def request(self) -> RebuildRequest:
        """Return what is to be read again."""
        from airflow_provider_blockread.steps.upkeep.rebuilding import RebuildRequest, WindowRange  # noqa: PLC0415 - as above

        return RebuildRequest(
            range=WindowRange(
                window=self.window,
                feed=self.feed,
                since=time_of(self.since),
                until=time_of(self.until),
                first_key=self.first_key,
                last_key=self.last_key,
            )
        )


class ReprocessFilesOperator(RebuildWindowsOperator):
    """Reads some files of published windows again, and no more than the groups that hold them.

    Where a file has changed since, its newer version is read in the place of the old one, and named first in the log.
    A window's other groups keep their published files, and it is proven as a whole before anything is replaced.

    :param path: a glob on the files' URIs, a template; without a scheme or a leading slash it holds at any depth.
    :param status: what was found in a file: `bad` records, `quarantined` ones, or `done` for any file, a template.
    """

    template_fields = (*RebuildWindowsOperator.template_fields, "path", "status")

    def __init__(
        self,
        *,
        path: str | None = None,
        status: str = "done",
        **kwargs: Any,  # noqa: ANN401 - the base class's
    ) -> None:
        super().__init__(**kwargs)
        self.path = path
        self.status = status

    def request(self) -> RebuildRequest:
        """Return what is to be read again."""
        from airflow_provider_blockread.steps.plan.choosing import FileChoice  # noqa: PLC0415 - as above

        return replace(super().request(), files=FileChoice(path=self.path, status=self.status))


def time_of(given: datetime | str | None) -> datetime | None:
    """Return a time as a template gave it, aware; one without a zone is UTC.

    Raises:
        OptionsError: when the text is no time.
    """
    if given is None:
        return None
    if isinstance(given, datetime):
        return given if given.tzinfo else given.replace(tzinfo=UTC)
    return parse_time(given)
