"""Options and helpers shared by the commands: the ledger, the format and printing."""

from __future__ import annotations

import dataclasses
import getpass
import json
import os
import re
import socket
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import click
from rich.console import Console
from rich.table import Table

from airflow_provider_blockread.errors import OptionsError, printable
from airflow_provider_blockread.ledger.noop import is_noop, noop_ledger
from airflow_provider_blockread.ledger.owners import process_owner
from airflow_provider_blockread.ledger.store import Ledger, default_url
from airflow_provider_blockread.observer import LOG_S, LogObserver, Observer
from airflow_provider_blockread.options import FORMATS, FormatOption, parse
from airflow_provider_blockread.spark.private_folder import private_folder
from airflow_provider_blockread.steps import Environment
from airflow_provider_blockread.storage.stores import Stores

_UNBOUNDED = 10_000  # characters; a pipe has no width
_NARROWEST = 9  # characters a column keeps on a narrow terminal
_NUMBER = re.compile(r"-|[\d,]+(/[\d,]+)?")

C = TypeVar("C", bound=Callable[..., Any])


def option_group(*options: Callable[[Any], Any]) -> Callable[[C], C]:
    """Return a decorator that adds these options to a command, whose help lists the last one first."""

    def add(command: C) -> C:
        for option in options:
            command = option(command)
        return command

    return add


state_option = click.option(
    "--state",
    envvar="BLOCKREAD_STATE",
    metavar="URL",
    help="The ledger, such as sqlite:////folder/file.db or postgresql://user@host/database."
    " Default: blockread.db in AIRFLOW_HOME. noop:// keeps nothing.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


#: `--format`, `--format-option` and `--schema`.
format_options = option_group(
    click.option("--schema", help='Columns of csv or JSON, such as "id long, ts timestamp, msg string".'),
    click.option("--format-option", "format_option", multiple=True, metavar="KEY=VALUE", help="Repeatable."),
    click.option("--format", "format_name", default="lines", show_default=True, type=click.Choice(sorted(FORMATS))),
)


def make_format_option(name: str, pairs: Iterable[str], schema: str | None) -> FormatOption:
    """Return the format that the options describe.

    Raises:
        OptionsError: when an option is unknown, malformed or belongs to another format.
    """
    texts = parse_pairs("--format-option", pairs)
    if schema is not None:
        if "schema" not in {field.name for field in dataclasses.fields(FORMATS[name])}:
            msg = f"--schema belongs to csv, json_lines and json_array; {name} publishes one column `value`"
            raise OptionsError(msg)
        texts["schema"] = schema
    return parse(FORMATS[name], texts)


def parse_pairs(option: str, pairs: Iterable[str]) -> dict[str, str]:
    """Return the pairs of a repeatable option KEY=VALUE.

    Raises:
        OptionsError: when one has no equals sign.
    """
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            msg = f"{option} {pair!r} must read KEY=VALUE"
            raise OptionsError(msg)
        found[key] = value
    return found


def open_ledger(state: str | None) -> Ledger:
    """Return the given ledger, or the embedded one in AIRFLOW_HOME; its connections are closed after the command.

    Raises:
        OptionsError: when the URL is malformed.
    """
    command = click.get_current_context()
    if is_noop(state):
        ledger = noop_ledger(command.with_resource(private_folder()), "this")
    else:
        home = Path(os.environ.get("AIRFLOW_HOME", "~/airflow")).expanduser()
        ledger = Ledger(state or default_url(str(home)))
    command.call_on_close(ledger.close)
    return ledger


def open_environment(state: str | None, *, quiet: bool = False, create: bool = False) -> Environment:
    """Return ledger and stores; `create` also creates the ledger if it is in SQLite and does not exist.

    Raises:
        OptionsError: when the URL is malformed.
        LedgerSchemaError: when there is no ledger, or its schema is not this package's.
        LedgerUnavailableError: when the database cannot be reached.
    """
    ledger = open_ledger(state)
    if create:
        ledger.make()
    ledger.check()

    return Environment(ledger=ledger, stores=Stores(), observer=terminal(quiet=quiet))


def terminal(*, quiet: bool = False, err: bool = True) -> Observer:
    """Return an observer that prints lines, to standard error or output, and warnings, to standard error.

    One that is `quiet` prints warnings only.
    """

    def log(line: str) -> None:
        if not quiet:
            click.echo(line, err=err)

    return LogObserver(log, lambda line: click.echo(f"Warning: {line}", err=True), every_s=LOG_S)


def owner() -> str:
    """Return the name of this process in the ledger."""
    return process_owner(f"cli/{getpass.getuser()}@{socket.gethostname()}")


def say(line: str = "", *, err: bool = False) -> None:
    """Print a line, with unprintable characters escaped."""
    click.echo(printable(line), err=err)


def say_lines(text: str) -> None:
    """Print lines, all but the first indented."""
    first, *others = text.split("\n")
    for line in (first, *(f"  {other}" for other in others)):
        say(line)


def print_json(data: object) -> None:
    """Print one JSON document, with unprintable characters escaped."""
    text = json.dumps(data, ensure_ascii=False, default=str)
    click.echo(printable(text, _json_escape))


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table with numbers aligned right. On a terminal, wide columns are truncated, except for window ids."""
    columns = [printable(name) for name in columns]
    cells = [[_cell(value) for value in row] for row in rows]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for i, name in enumerate(columns):
        number = bool(cells) and all(_NUMBER.fullmatch(row[i]) for row in cells)
        longest = max(len(text) for text in (name, *(row[i] for row in cells)))
        least = longest if name == "window" else min(longest, _NARROWEST)
        justify: Literal["left", "right"] = "right" if number else "left"
        table.add_column(name, justify=justify, no_wrap=True, overflow="ellipsis", min_width=least)
    for row in cells:
        table.add_row(*row)
    fits = sys.stdout.isatty() or "COLUMNS" in os.environ
    Console(highlight=False, markup=False, emoji=False, width=None if fits else _UNBOUNDED).print(table)


def print_facts(facts: Mapping[str, object]) -> None:
    """Print names and values, one pair a line."""
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        say(f"{name:<{width}}  {_cell(value)}")


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else printable(str(value))
