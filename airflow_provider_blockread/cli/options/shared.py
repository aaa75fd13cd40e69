"""Options and helpers shared by the commands: the ledger and the format."""

from __future__ import annotations

import dataclasses
import os
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from airflow_provider_blockread.cli.terminal.printing import terminal
from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.noop import is_noop, noop_ledger
from airflow_provider_blockread.ledger.owners import process_owner, user
from airflow_provider_blockread.ledger.store import Ledger, default_url
from airflow_provider_blockread.options import FORMATS, FormatOption, parse
from airflow_provider_blockread.spark.private_folder import private_folder
from airflow_provider_blockread.steps import Environment
from airflow_provider_blockread.storage.stores import Stores

C = TypeVar("C", bound=Callable[..., Any])
_NONE: Mapping[str, str] = MappingProxyType({})


def number(value: str) -> int:
    """Return the number of files, rows or tasks in an option, as its type, whose range is not in each line of help."""
    return int(click.IntRange(1, 2**31 - 1)(value))


def not_blank(_context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Return the text of an option or argument, as its callback.

    Raises:
        OptionsError: when it is blank, as that of a variable that a shell does not know.
    """
    if value is not None and not value.strip():
        msg = f"{_name(parameter)} is blank; give it a value, or leave it out where it is optional"
        raise OptionsError(msg)
    return value


def ledger_text(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Return a name that the ledger holds, as a callback of its option or argument.

    Raises:
        OptionsError: when it is blank, or its bytes are no text in UTF-8.
    """
    if value is not None:
        require_text(value, _name(parameter))
    return not_blank(context, parameter, value)


def _name(parameter: click.Parameter) -> str:
    name = parameter.opts[0]
    return name if name.startswith("-") else name.upper()


def require_text(value: str, what: str) -> None:
    """Refuse bytes that are no text in UTF-8, which a shell may pass and no database takes.

    Raises:
        OptionsError: naming what they are.
    """
    if any("\ud800" <= character <= "\udfff" for character in value):
        msg = f"{what}: {value!r} is not UTF-8, as text in the ledger is; correct it"
        raise OptionsError(msg)


def option_group(*options: Callable[[Any], Any]) -> Callable[[C], C]:
    """Return a decorator that adds these options to a command, whose help lists the last one first."""

    def add(command: C) -> C:
        for option in options:
            command = option(command)
        return command

    return add


def choice(name: str, words: Sequence[str], text: str | None = None) -> Callable[[C], C]:
    """Return an option that takes one of these words, the first one by default."""
    return click.option(name, default=words[0], show_default=True, type=click.Choice(words), help=text)


def feed_option(text: str) -> Callable[[C], C]:
    """Return the option that names a feed, in every command under the same two names."""
    return click.option("--name", "--feed", "feed", metavar="FEED", callback=ledger_text, help=text)


#: The feed of a SOURCE.
name_option = feed_option("Name of the feed. Default: the URI of SOURCE, if there is only one.")
#: The feed of windows.
any_feed_option = feed_option("Only windows of this feed.")
#: The feed of windows in a range, or of one WINDOW.
range_feed_option = feed_option("The feed of the range, or of WINDOW if several feeds have its key.")
#: The feed of a WINDOW.
window_feed_option = feed_option("The feed, if several have a window with this key.")
state_option = click.option(
    "--state",
    envvar="BLOCKREAD_STATE",
    metavar="URL",
    callback=not_blank,
    help="The ledger, such as sqlite:////folder/file.db or postgresql://user@host/database."
    " Default: the variable BLOCKREAD_STATE, or blockread.db in AIRFLOW_HOME. noop:// keeps nothing.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


#: `--format-option`, whose keys are the format's options.
format_option_option = click.option(
    "--format-option",
    "format_option",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the format, such as header=true; repeatable.",
)
#: `--format`, `--format-option` and `--schema`.
format_options = option_group(
    click.option(
        "--schema",
        help='Columns of csv or JSON, such as "id long, ts timestamp, msg string"; `blockread schema` finds them.',
    ),
    format_option_option,
    click.option(
        "--format",
        "format_name",
        default="lines",
        show_default=True,
        type=click.Choice(sorted(FORMATS)),
        help="How bytes become records.",
    ),
)


def make_format_option(name: str, pairs: Iterable[str], schema: str | None) -> FormatOption:
    """Return the format that the options describe.

    Raises:
        OptionsError: when an option is unknown, malformed or belongs to another format.
    """
    texts = parse_pairs("--format-option", pairs, {"schema": "schema"})
    if schema is not None:
        if "schema" not in {field.name for field in dataclasses.fields(FORMATS[name])}:
            msg = f"--schema belongs to csv, json_lines and json_array; {name} publishes one column `value`"
            raise OptionsError(msg)
        texts["schema"] = schema
    return parse(FORMATS[name], texts)


def parse_pairs(option: str, pairs: Iterable[str], separate: Mapping[str, str] = _NONE) -> dict[str, str]:
    """Return the pairs of a repeatable option KEY=VALUE; `separate` names the parameters that set a key, too.

    Raises:
        OptionsError: when one has no equals sign, or a key is set twice.
    """
    found: dict[str, str] = {}
    for number, pair in enumerate(pairs, 1):
        key, equals, value = pair.partition("=")
        if not equals:  # the text may be a secret
            msg = f"{option} must be KEY=VALUE, but number {number} of them has no equals sign"
            raise OptionsError(msg)
        if key in found:
            msg = f"{option} {key} is given twice; give it once"
            raise OptionsError(msg)
        if key in separate and is_given(separate[key]):
            msg = f"{option} {key} and --{separate[key].replace('_', '-')} set the same; give one of them"
            raise OptionsError(msg)
        found[key] = value
    return found


def is_given(parameter: str) -> bool:
    """Return whether the command line has a value for a parameter of this command."""
    return click.get_current_context().get_parameter_source(parameter) is ParameterSource.COMMANDLINE


def open_ledger(state: str | None) -> Ledger:
    """Return the given ledger, or the embedded one in AIRFLOW_HOME; its connections are closed after the command.

    Raises:
        OptionsError: when the URL is malformed.
    """
    command = click.get_current_context()
    if is_noop(state):
        ledger = noop_ledger(command.with_resource(private_folder()), "this")
    else:
        ledger = Ledger(state or default_url(_home()))
    command.call_on_close(ledger.close)
    return ledger


def _home() -> str:
    try:
        return str(Path(os.environ.get("AIRFLOW_HOME", "~/airflow")).expanduser())
    except RuntimeError as error:
        msg = "the ledger is in AIRFLOW_HOME, which is not set, and this user has no home; set it, or give --state"
        raise OptionsError(msg) from error


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


def owner() -> str:
    """Return the name of this process in the ledger."""
    return process_owner(f"cli/{user()}@{socket.gethostname()}")
