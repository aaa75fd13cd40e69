"""`blockread clean`: archives, deletes or tags published files at the source after confirmation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from airflow_provider_blockread.cli.options.shared import ledger_text, name_option, open_environment, owner, parse_pairs
from airflow_provider_blockread.cli.options.sourcing import Sourcing, sourcing_options
from airflow_provider_blockread.cli.upkeep import Confirmed, confirmed_options
from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import parse_age
from airflow_provider_blockread.options.upkeep import CLEANING_ACTIONS
from airflow_provider_blockread.steps import Environment
from airflow_provider_blockread.steps.plan.cleaned import propose_restoring, restore_files
from airflow_provider_blockread.steps.upkeep.cleaning import clean as clean_source
from airflow_provider_blockread.steps.upkeep.cleaning import propose_cleaning
from airflow_provider_blockread.steps.upkeep.cleaning_scope import CleanRequest


@dataclass(frozen=True, kw_only=True)
class Cleaning(Confirmed, Sourcing):
    """The options of `blockread clean`."""

    feed: str | None
    action: str | None
    archive: str | None
    grace: str
    tag: tuple[str, ...]
    restore: str | None

    def require_only_restore(self) -> None:
        """Refuse options that `--restore` would ignore.

        Raises:
            OptionsError: naming them.
        """
        named = {"SOURCE": self.source, "--action": self.action, "--archive": self.archive, "--tag": self.tag}
        ignored = [name for name, value in named.items() if value]
        if ignored:
            msg = f"clean: --restore ignores {', '.join(ignored)}; leave them out, or leave out --restore"
            raise OptionsError(msg)

    def request(self, env: Environment) -> CleanRequest:
        """Return which files to clean, and how.

        Raises:
            OptionsError: when an option is missing or invalid.
        """
        if not self.source or self.action is None:
            msg = "clean: name the SOURCE and an --action; or with --restore the window whose files to restore"
            raise OptionsError(msg)
        tags = {"tags": parse_pairs("--tag", self.tag)} if self.tag else {}
        return CleanRequest(
            feed=self.feed_name(env, self.feed),
            source=self.file_source(),
            action=self.action,
            archive=self.archive,
            grace=parse_age(self.grace),
            **tags,
        )


@click.command()
@click.argument("source", nargs=-1)
@name_option
@sourcing_options
@click.option("--action", type=click.Choice(CLEANING_ACTIONS), help="What to do with the files.")
@click.option(
    "--archive",
    metavar="DIR",
    callback=ledger_text,
    help="For --action archive: the folder, in the store of the source.",
)
@click.option(
    "--grace", default="7d", show_default=True, metavar="DURATION", help="Only files published at least this long ago."
)
@click.option("--tag", multiple=True, metavar="KEY=VALUE", help="For --action tag; repeatable.  [blockread=published]")
@click.option(
    "--restore", metavar="WINDOW", callback=ledger_text, help="Restore the archived files of this window instead."
)
@confirmed_options
def clean(**options: Any) -> None:  # noqa: ANN401 - click passes every option by name
    """Archive, delete or tag the files at SOURCE whose windows are all published, in every feed of the ledger."""
    given = Cleaning(**options)
    env = open_environment(given.state, quiet=given.as_json)
    if given.restore is not None:
        given.require_only_restore()
        window = get_window(env.ledger, given.restore, given.feed)
        given.carry_out(propose_restoring(env, window), lambda: restore_files(env, window))
        return
    request = given.request(env)
    given.carry_out(propose_cleaning(env, request), lambda: clean_source(env, request, who=owner()))
