"""`blockread windows rebuild` and `blockread reprocess`: read published windows again, one after another."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

import click

from airflow_provider_blockread.cli.options.shared import (
    ledger_text,
    open_environment,
    option_group,
    owner,
    range_feed_option,
)
from airflow_provider_blockread.cli.options.spark import OnSpark, spark_options
from airflow_provider_blockread.cli.run import JOB
from airflow_provider_blockread.cli.terminal.aside import printing_aside
from airflow_provider_blockread.cli.terminal.printing import print_json
from airflow_provider_blockread.cli.upkeep import Confirmed, confirmed_options
from airflow_provider_blockread.errors import StateError, shell_word
from airflow_provider_blockread.options import parse_time
from airflow_provider_blockread.options.upkeep import FILE_STATUSES
from airflow_provider_blockread.steps import Environment
from airflow_provider_blockread.steps.intent import Intent
from airflow_provider_blockread.steps.plan.choosing import FileChoice
from airflow_provider_blockread.steps.running import WindowRunner
from airflow_provider_blockread.steps.upkeep.rebuilding import (
    RebuildRequest,
    WindowRange,
    give_up_rebuild,
    propose_rebuild,
    rebuild,
)


def _time(_context: click.Context, _parameter: click.Parameter, value: str | None) -> datetime | None:
    return None if value is None else parse_time(value)


@dataclass(frozen=True, kw_only=True)
class RebuildOptions(Confirmed, OnSpark):
    """The options of both commands; times without a zone are UTC."""

    window: str | None
    feed: str | None
    since: datetime | None
    until: datetime | None
    first_key: str | None
    last_key: str | None
    restart: bool

    def run(self, files: FileChoice | None) -> None:
        """Show what will be done, ask for confirmation, and do it."""
        given = WindowRange(**{field.name: getattr(self, field.name) for field in fields(WindowRange)})
        env, request = open_environment(self.state), RebuildRequest(range=given, files=files)
        with printing_aside():
            intent = propose_rebuild(env, request, restarts=self.restart)
        goes_on = self.confirm(intent)
        self._require_work(env, intent, request)
        if not goes_on:
            return
        if not intent.is_empty:
            self.check_spark()
        if self.restart:
            give_up_rebuild(env, request)
        with printing_aside(), self.open_spark() as spark:
            done = rebuild(env, request, WindowRunner(env=env, owner=owner(), job=JOB, submitter=spark))
        if self.as_json:
            print_json([window.to_json() for window in done])

    def _require_work(self, env: Environment, intent: Intent, asked: RebuildRequest) -> None:
        """Refuse a request that names a window or files, and would do nothing; a repeated one may be complete.

        Raises:
            StateError: with the reason.
        """
        if not intent.is_empty or intent.notes:
            return
        if self.window is not None and intent.windows:
            [window] = intent.windows
            msg = f"window {window.window} is {window.what}; choose another one with `blockread windows list`"
            raise StateError(msg)
        files = asked.files
        if intent.windows or files is None or files.path is None:
            return
        if not propose_rebuild(env, replace(asked, files=FileChoice(path=files.path))).windows:  # of any status
            feed = self.feed or asked.range.windows(env)[0].feed
            msg = (
                f"no file of these windows matches --path {files.path!r}; `blockread files list {shell_word(feed)}`"
                " names the files of their feed"
            )
            raise StateError(msg)


@dataclass(frozen=True, kw_only=True)
class ReprocessOptions(RebuildOptions):
    """The options of `reprocess`."""

    path: str | None
    status: str


#: The options that select windows, and those for confirmation.
range_options = option_group(
    spark_options,
    click.option("--restart", is_flag=True, help="Start over instead of resuming an unfinished identical command."),
    click.option("--to", "last_key", metavar="KEY", help="Windows up to this key."),
    click.option("--from", "first_key", metavar="KEY", help="Windows from this key on, in lexical order."),
    click.option("--until", metavar="TIME", callback=_time, help="Windows planned before this time (UTC)."),
    click.option("--since", metavar="TIME", callback=_time, help="Windows planned at this time (UTC) or later."),
    range_feed_option,
    confirmed_options,
)


@click.command("rebuild")
@click.argument("window", required=False, callback=ledger_text)
@range_options
def rebuild_windows(**options: Any) -> None:  # noqa: ANN401 - click passes every option by name
    """Read published WINDOW (an id or a key) again, or those of a feed in a range, and replace their output.

    Each is replaced only after its new generation is proven. The first failure stops the command; repeating the
    same command resumes there.
    """
    RebuildOptions(**options).run(files=None)


@click.command("reprocess")
@click.option("--window", metavar="WINDOW", callback=ledger_text, help="Only this window, an id or a key.")
@click.option("--path", metavar="GLOB", help="Only files whose URI matches; without a leading slash, at any depth.")
@click.option(
    "--status",
    default="done",
    show_default=True,
    type=click.Choice(FILE_STATUSES),
    help="done: any file; bad: files with bad records; quarantined: files with bad records in quarantine.",
)
@range_options
def reprocess(**options: Any) -> None:  # noqa: ANN401 - click passes every option by name
    """Read some files of published windows again, together with the other files of their groups.

    Where a file has changed since, its newer version is read instead, after it was listed for confirmation.
    A window's other groups keep their published files. Each window is proven as a whole before anything is replaced.
    With --window, it also finishes a window that is not published yet.
    """
    given = ReprocessOptions(**options)
    given.run(files=FileChoice(path=given.path, status=given.status))
