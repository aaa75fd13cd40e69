"""`blockread windows abandon|undo|exclude`: give up planned or published work after confirmation."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from airflow_provider_blockread.cli.options.shared import (
    json_option,
    ledger_text,
    open_environment,
    option_group,
    owner,
    state_option,
    window_feed_option,
)
from airflow_provider_blockread.cli.terminal.aside import printing_aside
from airflow_provider_blockread.cli.terminal.printing import print_json, say, terminal
from airflow_provider_blockread.ledger.owners import user
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options.upkeep import WITHDRAWN_FILES
from airflow_provider_blockread.steps.excluding import exclude, propose_excluding
from airflow_provider_blockread.steps.intent import Intent
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon, propose_abandoning, propose_undoing, undo


@dataclass(frozen=True, kw_only=True)
class Confirmed:
    """The options of a command that shows what it will do and asks for confirmation."""

    state: str | None
    as_json: bool
    dry_run: bool
    yes: bool

    def confirm(self, intent: Intent) -> bool:
        """Show what will be done, and return whether to continue; if the user refuses, end the command.

        If there is nothing to do, the command continues without asking, and reports in JSON that it changed nothing.
        """
        if self.dry_run and self.as_json:
            print_json(intent.to_json())
            intent.report(terminal(quiet=True))
        else:
            intent.report(terminal(err=not self.dry_run))
        if self.dry_run:
            return False
        if self.yes or intent.is_empty:
            return True
        answers = sys.stdin is not None  # which the caller may have closed
        try:
            if answers and click.confirm(f"{intent.action}?", err=True):
                return True
        except click.Abort:  # the input has ended
            answers = sys.stdin.isatty()
        if not answers:
            say("no answer could be read; repeat the command with --yes, which does not ask", err=True)
        raise click.Abort

    def carry_out(self, intent: Intent, act: Callable[[], Any]) -> None:
        """Call `act` after confirmation, and print its result with `--json`."""
        if self.confirm(intent):
            with printing_aside():
                done = act()
            if self.as_json:
                print_json(done.to_json())


#: `--dry-run`, `--yes`, `--state` and `--json`.
confirmed_options = option_group(
    json_option,
    state_option,
    click.option("--yes", is_flag=True, help="Do not ask for confirmation."),
    click.option("--dry-run", is_flag=True, help="Only show what would be done."),
)


@click.command("abandon")
@click.argument("window", callback=ledger_text)
@window_feed_option
@confirmed_options
def abandon_window(window: str, feed: str | None, **options: Any) -> None:  # noqa: ANN401 - those of `Confirmed`
    """Return the files of unpublished WINDOW (an id or a key) to the feed; running groups are fenced.

    For a published window, give up an unfinished rebuild: the published output stays.
    """
    given = Confirmed(**options)
    env = open_environment(given.state)
    found = get_window(env.ledger, window, feed)
    given.carry_out(propose_abandoning(env, found), lambda: abandon(env, found, who=owner()))


@click.command("undo")
@click.argument("window", callback=ledger_text)
@window_feed_option
@click.option(
    "--files",
    type=click.Choice(WITHDRAWN_FILES),
    help="The new state of its files. Default: excluded, so that consumers that copied the output get no duplicates.",
)
@confirmed_options
def undo_window(window: str, feed: str | None, files: str | None, **options: Any) -> None:  # noqa: ANN401 - as above
    """Remove the published output of WINDOW (an id or a key), and abandon the window."""
    given = Confirmed(**options)
    env = open_environment(given.state)
    found = get_window(env.ledger, window, feed)
    with printing_aside():
        intent = propose_undoing(env, found, files=files)
    given.carry_out(intent, lambda: undo(env, found, files=files, who=owner()))


@click.command("exclude")
@click.argument("window", callback=ledger_text)
@click.argument("path")
@window_feed_option
@click.option("--reason", required=True, callback=ledger_text, help="Why; recorded with your name.")
@confirmed_options
def exclude_from_window(
    window: str,
    path: str,
    feed: str | None,
    reason: str,
    **options: Any,  # noqa: ANN401 - as above
) -> None:
    """Leave the file PATH out of unpublished WINDOW (an id or a key), or out of the rebuild of a published one.

    The groups that contain it are read again.
    """
    given = Confirmed(**options)
    env = open_environment(given.state)
    found, file = get_window(env.ledger, window, feed), env.stores.canonical(path)
    intent = propose_excluding(env, found, file, reason=reason)
    given.carry_out(intent, lambda: exclude(env, found, file, reason=reason, who=user()))
