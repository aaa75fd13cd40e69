"""The `blockread` group of commands, and the entry point that runs one of them."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from airflow_provider_blockread import __version__
from airflow_provider_blockread.cli.clean import clean
from airflow_provider_blockread.cli.ledger import db, files
from airflow_provider_blockread.cli.members import members
from airflow_provider_blockread.cli.merge import merge
from airflow_provider_blockread.cli.new_files import new_files
from airflow_provider_blockread.cli.plan import plan
from airflow_provider_blockread.cli.prune import prune
from airflow_provider_blockread.cli.rebuild import rebuild_windows, reprocess
from airflow_provider_blockread.cli.records import records
from airflow_provider_blockread.cli.run import run
from airflow_provider_blockread.cli.schema import schema
from airflow_provider_blockread.cli.terminal.interrupts import Interrupted, raise_on_signals
from airflow_provider_blockread.cli.terminal.quiet import log_without_traces
from airflow_provider_blockread.cli.ui import ui
from airflow_provider_blockread.cli.upkeep import abandon_window, exclude_from_window, undo_window
from airflow_provider_blockread.cli.windows import verify, windows
from airflow_provider_blockread.errors import BlockReadError

_CLEARING = re.compile(r"\bclear (the|this|their)\b")
_HERE = "on the command line"


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="blockread")
def blockread() -> None:
    """Turn files into records on Spark, exactly once."""


for command in (plan, run, schema, records, merge, members, windows, files, reprocess, clean, prune, db, ui):
    blockread.add_command(command)
for command in (verify, rebuild_windows, abandon_window, undo_window, exclude_from_window):
    windows.add_command(command)
files.add_command(new_files)


def _message(error: BlockReadError) -> str:
    """Return an error's message, with the equivalent of clearing a task on the command line if it names none."""
    first, newline, rest = str(error).partition("\n")
    if _CLEARING.search(first) and _HERE not in first:
        first += f" ({_HERE}, repeat the command instead)"
    return first + newline + rest


def call(arguments: Sequence[str] | None) -> None:
    """Run the command that the arguments name (default: those of this process), and exit."""
    raise_on_signals()
    log_without_traces()
    try:
        blockread.main(args=None if arguments is None else list(arguments), prog_name="blockread")
    except BlockReadError as error:
        click.echo(f"Error: {_message(error)}", err=True)
        sys.exit(1)
    except Interrupted as stop:
        with suppress(OSError):  # the terminal may be gone
            click.echo(f"blockread: {stop}", err=True)
        sys.exit(stop.exit_code)
