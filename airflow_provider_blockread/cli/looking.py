"""`blockread files new`: what a sensor sees."""

from __future__ import annotations

from typing import Any

import click

from airflow_provider_blockread.cli.selecting import Selecting, selecting_options
from airflow_provider_blockread.cli.shared import json_option, open_environment, print_facts, print_json, state_option
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.steps.describe import format_bytes
from airflow_provider_blockread.steps.looking_for_files import Lookout, look_for_files


@click.command("new")
@click.argument("source", nargs=-1, required=True)
@click.option("--name", metavar="FEED", help="Name of the feed; default: the source.")
@click.option("--pattern", default="**", show_default=True, help="Glob below the source; ** spans folders.")
@click.option("--time-pattern", metavar="TEXT", help="Where a path names the file's time, as dt=%Y-%m-%d/hr=%H.")
@click.option("--min-age", type=float, default=0.0, metavar="SECONDS", help="Leave out files changed since then.")
@selecting_options
@state_option
@json_option
def new_files(  # noqa: PLR0913 - click hands every option by name
    source: tuple[str, ...],
    *,
    name: str | None,
    pattern: str,
    time_pattern: str | None,
    min_age: float,
    state: str | None,
    as_json: bool,
    **selecting: Any,  # noqa: ANN401 - click hands every option by name
) -> None:
    """Show which files of SOURCE the feed has not taken. Writes nothing, and reads no file."""
    env = open_environment(state, quiet=as_json)
    choice = Selecting(**selecting)
    lookout = Lookout(
        feed=name or " ".join(dict.fromkeys(map(env.stores.canonical, source))),
        source=FileSource(source, pattern=pattern, time_pattern=time_pattern, min_age=min_age),
        selection=choice.selection(),
        interval_ns=choice.interval_ns,
    )
    found = look_for_files(env, lookout)
    if as_json:
        print_json(found.to_json())
        return
    print_facts({"feed": found.feed, "files": found.files, "size": format_bytes(found.bytes), "oldest": found.oldest})
    for path in found.paths:
        click.echo(path)
    if found.files > len(found.paths):
        click.echo(f"... and {found.files - len(found.paths):,} more")
