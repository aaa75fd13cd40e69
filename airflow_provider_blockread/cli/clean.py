"""`blockread clean`: published files are archived, deleted or tagged at the source, told first and then confirmed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from airflow_provider_blockread.cli.options.shared import open_environment, owner, parse_pairs, print_json
from airflow_provider_blockread.cli.options.sourcing import Sourcing, sourcing_options
from airflow_provider_blockread.cli.upkeep import Confirmed, confirmed_options
from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.schema.columns import CLEANING_ACTIONS
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import parse_age
from airflow_provider_blockread.steps import Environment
from airflow_provider_blockread.steps.plan.cleaned import propose_restoring, restore_files
from airflow_provider_blockread.steps.upkeep.cleaning import CleanRequest, propose_cleaning
from airflow_provider_blockread.steps.upkeep.cleaning import clean as clean_source


@dataclass(frozen=True, kw_only=True)
class Cleaning(Confirmed, Sourcing):
    """The options of `blockread clean`."""

    feed: str | None
    action: str | None
    archive: str | None
    grace: str
    tag: tuple[str, ...]
    restore: str | None

    def request(self, env: Environment) -> CleanRequest:
        """Return what is to be cleaned.

        Raises:
            OptionsError: when something is missing or does not fit.
        """
        if not self.source or self.action is None:
            msg = "clean: name the SOURCE and an --action; or with --restore the window whose files are to come back"
            raise OptionsError(msg)
        given = {"tags": parse_pairs("--tag", self.tag)} if self.tag else {}
        return CleanRequest(
            feed=self.feed_name(env, self.feed),
            source=self.file_source(),
            action=self.action,
            archive=self.archive,
            grace=parse_age(self.grace),
            **given,
        )


@click.command()
@click.argument("source", nargs=-1)
@click.option("--feed", "--name", "feed", metavar="FEED", help="Name of the feed; default: the source.")
@sourcing_options
@click.option("--action", type=click.Choice(CLEANING_ACTIONS), help="What becomes of files.")
@click.option("--archive", metavar="DIR", help="Of --action archive: the folder, in the store of the source.")
@click.option("--grace", default="7d", show_default=True, help="Only files published so long ago.")
@click.option("--tag", multiple=True, metavar="KEY=VALUE", help="Of --action tag; repeatable.  [blockread=published]")
@click.option("--restore", metavar="WINDOW", help="Bring the archived files of this window back instead.")
@confirmed_options
def clean(**options: Any) -> None:  # noqa: ANN401 - click hands every option by name
    """Archive, delete or tag the files at SOURCE whose windows are all published, in every feed of the ledger."""
    asked = Cleaning(**options)
    env = open_environment(asked.state, quiet=asked.as_json)
    if asked.restore is not None:
        _restore(env, asked, get_window(env.ledger, asked.restore, asked.feed))
        return
    request = asked.request(env)
    if asked.confirm(propose_cleaning(env, request)):
        done = clean_source(env, request, who=owner())
        if asked.as_json:
            print_json(done.to_json())


def _restore(env: Environment, asked: Cleaning, window: Window) -> None:
    if asked.confirm(propose_restoring(env, window)):
        restored = restore_files(env, window)
        if asked.as_json:
            print_json(restored.to_json())
