"""`blockread windows abandon|undo|exclude`: what was planned or published is given up, told and confirmed first."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from airflow_provider_blockread.cli.options.shared import (
    json_option,
    open_environment,
    owner,
    print_json,
    state_option,
    terminal,
)
from airflow_provider_blockread.ledger.schema.columns import WITHDRAWN_FILES
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.steps.excluding import exclude, propose_excluding
from airflow_provider_blockread.steps.intent import Intent
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon, propose_abandoning, propose_undoing, undo

C = TypeVar("C", bound=Callable[..., Any])

feed_option = click.option(
    "--name", "--feed", "feed", metavar="FEED", help="The feed, where a key alone is not enough."
)


@dataclass(frozen=True, kw_only=True)
class Confirmed:
    """The options of a command that tells what it will do before it does it."""

    state: str | None
    as_json: bool
    dry_run: bool
    yes: bool

    def confirm(self, intent: Intent) -> bool:
        """Tell what is to be done; return whether to go on, and end the command where that is refused.

        Where there is nothing to do, nobody is asked: to go on changes nothing, and tells in JSON that it did not.
        """
        if self.dry_run and self.as_json:
            print_json(intent.to_json())
            intent.report(terminal(quiet=True))
        else:
            intent.report(terminal(err=not self.dry_run))
        if self.dry_run:
            return False
        if not (self.yes or intent.is_empty):
            click.confirm(f"{intent.action}?", abort=True, err=True)
        return True


@dataclass(frozen=True, kw_only=True)
class OneWindow(Confirmed):
    """The same for a window that is named."""

    window: str
    feed: str | None
    files: str | None = None
    path: str = ""
    reason: str = ""


def confirmed_options(command: C) -> C:
    """Add `--dry-run`, `--yes`, `--state` and `--json`."""
    for option in (
        json_option,
        state_option,
        click.option("--yes", is_flag=True, help="Do it without asking."),
        click.option("--dry-run", is_flag=True, help="Only say what would be done."),
    ):
        command = option(command)
    return command


@click.command("abandon")
@click.argument("window")
@feed_option
@confirmed_options
def abandon_window(**options: Any) -> None:  # noqa: ANN401 - click hands every option by name
    """Give the files of unpublished WINDOW (an id or a key) back to the feed; groups that run are fenced.

    Of a published one, give up the rebuild that was begun: what is published stays.
    """
    asked = OneWindow(**options)
    env = open_environment(asked.state)
    window = get_window(env.ledger, asked.window, asked.feed)
    if asked.confirm(propose_abandoning(env, window)):
        done = abandon(env, window, who=owner())
        if asked.as_json:
            print_json(done.to_json())


@click.command("undo")
@click.argument("window")
@feed_option
@click.option(
    "--files",
    type=click.Choice(WITHDRAWN_FILES),
    help="What its files become. Default: excluded, so that no record comes twice to those who copied the output.",
)
@confirmed_options
def undo_window(**options: Any) -> None:  # noqa: ANN401 - click hands every option by name
    """Take the published output of WINDOW (an id or a key) away, file by file; the window is abandoned."""
    asked = OneWindow(**options)
    env = open_environment(asked.state)
    window = get_window(env.ledger, asked.window, asked.feed)
    if asked.confirm(propose_undoing(env, window, files=asked.files)):
        done = undo(env, window, files=asked.files, who=owner())
        if asked.as_json:
            print_json(done.to_json())


@click.command("exclude")
@click.argument("window")
@click.argument("path")
@feed_option
@click.option("--reason", required=True, help="Why; recorded with your name.")
@confirmed_options
def exclude_from_window(**options: Any) -> None:  # noqa: ANN401 - click hands every option by name
    """Leave the file PATH out of unpublished WINDOW (an id or a key), or out of the rebuild of a published one.

    The groups that hold it are read again.
    """
    asked = OneWindow(**options)
    env = open_environment(asked.state)
    window, path = get_window(env.ledger, asked.window, asked.feed), env.stores.canonical(asked.path)
    if asked.confirm(propose_excluding(env, window, path, reason=asked.reason)):
        done = exclude(env, window, path, reason=asked.reason, who=getpass.getuser())
        if asked.as_json:
            print_json(done.to_json())
