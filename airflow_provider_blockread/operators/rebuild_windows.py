"""Read published windows again, or some of their files, and replace their output, one window after another."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_blockread.operators.base import SparkOperator, owner_of, require_choice, require_valid
from airflow_provider_blockread.options import parse_time
from airflow_provider_blockread.options.upkeep import FILE_STATUSES

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_blockread.steps.upkeep.rebuilding import RebuildRequest

_SHOWN = 500  # ids of windows in the return value, which stays below 64 KB


class RebuildWindowsOperator(SparkOperator):
    """Rebuilds one window, or a feed's windows between two times or two keys, in the order in which they were planned.

    Each is read with the options that it was published with, and replaced when its new generation is proven. The first
    failure stops the task; a retry continues there, and windows that were rebuilt are not rebuilt again. Another DAG
    run rebuilds all of the windows again.

    :param feed: the feed, a template; required for a range.
    :param window: the id or key of a single window to rebuild, a template.
    :param since: windows planned at or after this time: a datetime, or ISO 8601 text, a template; UTC without a zone.
    :param until: windows planned before this time.
    :param first_key: windows whose key is at or after this one in text order, a template.
    :param last_key: windows whose key is at or before this one.
    """

    template_fields = (*SparkOperator.template_fields, *("feed", "window", "since", "until", "first_key", "last_key"))
    ui_color = "#f7e3c4"

    def __init__(
        self,
        *,
        feed: str | None = None,
        window: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        first_key: str | None = None,
        last_key: str | None = None,
        **kwargs: Any,  # noqa: ANN401 - BaseOperator's
    ) -> None:
        super().__init__(**kwargs)
        require_valid(self.task_id, "since", since, parse_time)
        require_valid(self.task_id, "until", until, parse_time)
        self.feed = feed
        self.window = window
        self.since = since
        self.until = until
        self.first_key = first_key
        self.last_key = last_key

    def run_step(self, context: Context) -> dict[str, Any]:
        """Log what will be done, do it, and return the totals of what was rebuilt."""
        from airflow_provider_blockread.steps.running import WindowRunner  # noqa: PLC0415 - not at every DAG parse
        from airflow_provider_blockread.steps.upkeep.rebuilding import propose_rebuild, rebuild  # noqa: PLC0415

        env, asked = self.environment(), replace(self.request(), task=owner_of(context))
        propose_rebuild(env, asked).report(env.observer)
        runner = WindowRunner(env=env, owner=owner_of(context), job=self.spark, submitter=self.submitter())
        done = rebuild(env, asked, runner)
        return {
            "windows": len(done),
            "records": sum(window.records for window in done),
            "bad_records": sum(window.bad_records for window in done),
            "rebuilt": [window.window for window in done[:_SHOWN]],
        }

    def request(self) -> RebuildRequest:
        """Return what to read again."""
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
    """Reads some files of published windows again, and only the groups that contain them.

    If a file has changed since, its newer version is read instead of the old one, and the log lists it before anything
    is read. A window's other groups keep their published files, and the whole window is proven before anything is
    replaced.

    :param path: a glob on the files' URIs, a template; without a scheme or a leading slash it matches at any depth.
    :param status: `bad` for files with bad records, `quarantined` for files with quarantined ones, `done` for any file;
        a template.
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
        require_choice(self.task_id, "status", status, FILE_STATUSES)
        self.path = path
        self.status = status

    def request(self) -> RebuildRequest:
        """Return what to read again."""
        from airflow_provider_blockread.steps.plan.choosing import FileChoice  # noqa: PLC0415 - as above

        return replace(super().request(), files=FileChoice(path=self.path, status=self.status))


def time_of(given: datetime | str | None) -> datetime | None:
    """Return an aware time from a time or its ISO 8601 text, or None for None; UTC without a zone.

    Raises:
        OptionsError: when the text is not a time.
    """
    if isinstance(given, datetime):  # of any year, such as 9999 for "no end"
        return given if given.tzinfo else given.replace(tzinfo=UTC)
    return None if given is None else parse_time(given)
