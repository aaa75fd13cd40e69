"""`blockread windows rebuild` and `blockread reprocess`: what is published is read again, one window after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

from airflow_provider_blockread.cli.options.shared import open_environment, owner, print_json
from airflow_provider_blockread.cli.run import JOB
from airflow_provider_blockread.cli.spark import InProcessSpark, require_java
from airflow_provider_blockread.cli.upkeep import Confirmed, confirmed_options, feed_option
from airflow_provider_blockread.steps.plan.choosing import STATUSES, FileChoice
from airflow_provider_blockread.steps.running import WindowRunner
from airflow_provider_blockread.steps.upkeep.rebuilding import (
    RebuildRequest,
    WindowRange,
    give_up_rebuild,
    propose_rebuild,
    rebuild,
)

C = TypeVar("C", bound=Callable[..., Any])

_TIME = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ"])


@dataclass(frozen=True, kw_only=True)
class RebuildOptions(Confirmed):
    """The options of both commands as given; times without a zone are UTC."""

    window: str | None
    feed: str | None
    since: datetime | None
    until: datetime | None
    first_key: str | None
    last_key: str | None
    anew: bool
    master: str

    def run(self, files: FileChoice | None) -> None:
        """Tell what is to be done, ask, and do it."""
        env, asked = open_environment(self.state), RebuildRequest(range=self._range(), files=files)
        intent = propose_rebuild(env, asked, anew=self.anew)
        if not self.confirm(intent):
            return
        if not intent.is_empty:
            require_java()
        if self.anew:
            give_up_rebuild(env, asked)
        with InProcessSpark(self.master) as spark:
            done = rebuild(env, asked, WindowRunner(env=env, owner=owner(), job=JOB, submitter=spark))
        if self.as_json:
            print_json([window.to_json() for window in done])

    def _range(self) -> WindowRange:
        since, until = (time and time.replace(tzinfo=UTC) for time in (self.since, self.until))
        return WindowRange(
            window=self.window,
            feed=self.feed,
            since=since,
            until=until,
            first_key=self.first_key,
            last_key=self.last_key,
        )


@dataclass(frozen=True, kw_only=True)
class ReprocessOptions(RebuildOptions):
    """The options of `reprocess` as given."""

    path: str | None
    status: str


def range_options(command: C) -> C:
    """Add the options that choose windows, and those of a command that confirms."""
    for option in (
        click.option("--master", default="local[*]", show_default=True),
        click.option("--anew", is_flag=True, help="Begin anew where the same command was begun but not finished."),
        click.option("--to", "last_key", metavar="KEY", help="Windows up to this key."),
        click.option("--from", "first_key", metavar="KEY", help="Windows from this key on, in the order of text."),
        click.option("--until", type=_TIME, help="Windows planned before this time (UTC)."),
        click.option("--since", type=_TIME, help="Windows planned at this time (UTC) or later."),
        feed_option,
    ):
        command = option(command)
    return confirmed_options(command)


@click.command("rebuild")
@click.argument("window", required=False)
@range_options
def rebuild_windows(**options: Any) -> None:  # noqa: ANN401 - click hands every option by name
    """Read published WINDOW (an id or a key) again, or those of a feed in a range, and replace their output.

    Each is replaced only when its new generation is proven. The first failure stops the command; the same command,
    repeated, goes on from there.
    """
    RebuildOptions(**options).run(files=None)


@click.command("reprocess")
@click.option("--window", metavar="WINDOW", help="Only this window, an id or a key.")
@click.option("--path", metavar="GLOB", help="Files whose URI it matches; without a leading slash at any depth.")
@click.option(
    "--status",
    default="done",
    show_default=True,
    type=click.Choice(STATUSES),
    help="Files in which this was found: bad records, or bad records that are in quarantine.",
)
@range_options
def reprocess(**options: Any) -> None:  # noqa: ANN401 - click hands every option by name
    """Read some files of published windows again, and no more than the groups that hold them.

    Where a file has changed since, its newer version is read in the place of the old one, and named first.
    A window's other groups keep their published files. Each window is proven as a whole before anything is replaced.
    """
    asked = ReprocessOptions(**options)
    asked.run(files=FileChoice(path=asked.path, status=asked.status))
