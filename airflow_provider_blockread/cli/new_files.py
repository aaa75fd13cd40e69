"""`blockread files new`: the files that a sensor would report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from airflow_provider_blockread.cli.options.selecting import Selecting, selecting_options
from airflow_provider_blockread.cli.options.shared import json_option, name_option, open_environment, state_option
from airflow_provider_blockread.cli.options.sourcing import Sourcing, sourcing_options
from airflow_provider_blockread.cli.terminal.printing import print_facts, print_json, say
from airflow_provider_blockread.options.parsing.sizes import format_bytes
from airflow_provider_blockread.steps.watch.new_files import NewFilesQuery, find_new_files


@dataclass(frozen=True, kw_only=True)
class NewFilesOptions(Sourcing, Selecting):
    """The options as given."""

    feed: str | None
    state: str | None
    as_json: bool


@click.command("new")
@click.argument("source", nargs=-1, required=True)
@name_option
@sourcing_options
@selecting_options
@state_option
@json_option
def new_files(**options: Any) -> None:  # noqa: ANN401 - click passes every option by name
    """Show the files of SOURCE that are in no window of the feed. Opens no file and changes nothing."""
    given = NewFilesOptions(**options)
    env = open_environment(given.state, quiet=given.as_json)
    query = NewFilesQuery(
        feed=given.feed_name(env, given.feed),
        source=given.file_source(),
        selection=given.selection(),
        interval_ns=given.interval_ns,
    )
    found = find_new_files(env, query)
    if given.as_json:
        print_json(found.to_json())
        return
    print_facts({"feed": found.feed, "files": found.files, "size": format_bytes(found.bytes), "oldest": found.oldest})
    for path in found.paths:
        say(path)
    if found.files > len(found.paths):
        say(f"... and {found.files - len(found.paths):,} more")
