"""`blockread prune`: removes the details of old windows after confirmation."""

from __future__ import annotations

from typing import Any

import click

from airflow_provider_blockread.cli.options.shared import any_feed_option, open_environment
from airflow_provider_blockread.cli.upkeep import Confirmed, confirmed_options
from airflow_provider_blockread.options import parse_age
from airflow_provider_blockread.steps.upkeep.pruning import PruneRequest, propose_pruning
from airflow_provider_blockread.steps.upkeep.pruning import prune as prune_windows


@click.command()
@click.option(
    "--older-than",
    default="90d",
    show_default=True,
    metavar="DURATION",
    help="Only windows published or abandoned longer ago than this.",
)
@click.option(
    "--keep", default=100, show_default=True, metavar="N", help="Keep the newest N published windows of each feed."
)
@any_feed_option
@click.option("--keep-manifests", is_flag=True, help="Keep the manifests of pruned windows, for rebuilds.")
@confirmed_options
def prune(
    older_than: str,
    keep: int,
    feed: str | None,
    *,
    keep_manifests: bool,
    **options: Any,  # noqa: ANN401 - those of `Confirmed`
) -> None:
    """Remove the details of old windows and clear the work area. Published output stays, and no file is taken twice."""
    given = Confirmed(**options)
    env = open_environment(given.state, quiet=given.as_json)
    request = PruneRequest(older_than=parse_age(older_than), keep=keep, feed=feed, keep_manifests=keep_manifests)
    given.carry_out(propose_pruning(env, request), lambda: prune_windows(env, request))
