"""`blockread prune`: old windows lose their detail, told first and then confirmed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from airflow_provider_blockread.cli.options.shared import open_environment, print_json
from airflow_provider_blockread.cli.upkeep import Confirmed, confirmed_options
from airflow_provider_blockread.options import parse_age
from airflow_provider_blockread.steps.upkeep.pruning import PruneRequest, propose_pruning
from airflow_provider_blockread.steps.upkeep.pruning import prune as prune_windows


@dataclass(frozen=True, kw_only=True)
class Pruning(Confirmed):
    """The options of `blockread prune`."""

    older_than: str
    keep: int
    feed: str | None
    keep_manifests: bool

    def request(self) -> PruneRequest:
        """Return what is to be pruned.

        Raises:
            OptionsError: when `--older-than` is no duration.
        """
        seconds = parse_age(self.older_than)
        return PruneRequest(older_than=seconds, keep=self.keep, feed=self.feed, keep_manifests=self.keep_manifests)


@click.command()
@click.option("--older-than", default="90d", show_default=True, help="Windows published, or given up, so long ago.")
@click.option("--keep", default=100, show_default=True, help="Leave the newest N published windows of each feed.")
@click.option("--feed", "--name", "feed", metavar="FEED", help="Only windows of this feed.")
@click.option("--keep-manifests", is_flag=True, help="Leave the plans of pruned windows, so that they can be rebuilt.")
@confirmed_options
def prune(**options: Any) -> None:  # noqa: ANN401 - click hands every option by name
    """Drop the detail of old windows and clear the work area; what is published stays, no file is taken twice."""
    asked = Pruning(**options)
    env = open_environment(asked.state, quiet=asked.as_json)
    request = asked.request()
    if asked.confirm(propose_pruning(env, request)):
        done = prune_windows(env, request)
        if asked.as_json:
            print_json(done.to_json())
