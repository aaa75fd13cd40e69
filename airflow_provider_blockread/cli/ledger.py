"""`blockread db` and `blockread files`: the ledger's schema, and its files."""

from __future__ import annotations

import click

from airflow_provider_blockread.cli.options.shared import (
    json_option,
    ledger_text,
    not_blank,
    number,
    open_environment,
    open_ledger,
    state_option,
)
from airflow_provider_blockread.cli.terminal.printing import cut_off, print_json, print_table, say
from airflow_provider_blockread.ledger.feeds import require_feed
from airflow_provider_blockread.ledger.schema.columns import FILE_STATES
from airflow_provider_blockread.ledger.upkeep.copying import copy_ledger
from airflow_provider_blockread.ledger.windows.queries import FileRow, feed_counts, list_files
from airflow_provider_blockread.options import moment
from airflow_provider_blockread.options.parsing.sizes import format_bytes, plural


@click.group()
def db() -> None:
    """Create, upgrade or copy the ledger."""


@db.command()
@state_option
def upgrade(state: str | None) -> None:
    """Create the ledger, or upgrade its schema to this version."""
    ledger = open_ledger(state)
    say(f"ledger {ledger.name} is {ledger.upgrade()}, identity {ledger.uuid}")


@db.command()
@click.option("--to", "target", required=True, metavar="URL", callback=not_blank, help="The new ledger, as in --state.")
@state_option
def copy(target: str, state: str | None) -> None:
    """Copy the ledger into an empty database or a new file, as from SQLite to PostgreSQL."""
    ledger, new = open_ledger(state), open_ledger(target)
    rows = copy_ledger(ledger, new)
    say(f"ledger {new.name} has all {plural(rows, 'row')} of {ledger.name}, identity {new.uuid}")


@click.group()
def files() -> None:
    """List the files that feeds know, or the new files of a source."""


@files.command("list")
@click.argument("feed", callback=ledger_text)
@click.option("--file-state", type=click.Choice(FILE_STATES), help="Only files in this state.")
@click.option("--limit", default=100, show_default=True, type=number, help="The most files to list.")
@state_option
@json_option
def list_(feed: str, file_state: str | None, limit: int, state: str | None, *, as_json: bool) -> None:
    """List the file versions of FEED."""
    env = open_environment(state)
    require_feed(env.ledger, feed)
    rows = cut_off(list_files(env.ledger, feed, state=file_state, limit=limit + 1), limit)
    if as_json:
        print_json([_file_json(row) for row in rows])
        return
    table = [
        (
            row.version.path,
            row.state if row.progress is None else f"{row.state}, {row.progress}",
            format_bytes(row.version.size),
            f"{moment(row.version.mtime_ns):%Y-%m-%d %H:%M:%SZ}",
            row.window,
        )
        for row in rows
    ]
    print_table(("path", "state", "size", "modified", "window"), table)
    counts = feed_counts(env.ledger, feed)
    say(f"{feed}: " + (", ".join(f"{n:,} {name}" for name, n in counts.items()) or "no files"), err=True)


def _file_json(row: FileRow) -> dict[str, object]:
    version = row.version
    return {
        "path": version.path,
        "size": version.size,
        "mtime_ns": version.mtime_ns,
        "etag": version.etag,
        "state": row.state,
        "window": row.window,
        "window_state": row.progress and row.progress.state,
        "last_sign_at": row.progress and row.progress.to_json()["last_sign_at"],
        "discovered_at": row.discovered_at.isoformat(),
    }
