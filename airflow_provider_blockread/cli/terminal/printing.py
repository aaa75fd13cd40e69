"""Printing: lines, tables and JSON, and an observer that prints."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import click
from rich.cells import cell_len

from airflow_provider_blockread.errors import printable
from airflow_provider_blockread.observer import LOG_S, LogObserver, Observer

_STDOUT = 1
_T = TypeVar("_T")
_NUMBER = re.compile(r"-|[\d,]+(/[\d,]+)?")


def terminal(*, quiet: bool = False, err: bool = True) -> Observer:
    """Return an observer that prints lines, to standard error or output, and warnings, to standard error.

    With `quiet`, it prints only warnings.
    """

    def log(line: str) -> None:
        if not quiet:
            click.echo(line, err=err)

    return LogObserver(log, lambda line: click.echo(f"Warning: {line}", err=True), every_s=LOG_S)


def say(line: str = "", *, err: bool = False) -> None:
    """Print a line, with unprintable characters escaped."""
    _echo(printable(line), err=err)


def say_lines(text: str) -> None:
    """Print lines, all but the first indented."""
    first, *others = text.split("\n")
    for line in (first, *(f"  {other}" for other in others)):
        say(line)


def print_json(data: object) -> None:
    """Print one JSON document, with unprintable characters escaped."""
    text = json.dumps(data, ensure_ascii=False, default=str)
    _echo(printable(text, _json_escape))


def _echo(text: str, *, err: bool = False) -> None:
    """Print text.

    Raises:
        ClickException: when the output cannot be written, as on a full disk.
    """
    try:
        click.echo(text, err=err)
    except OSError as error:
        if err or error.errno == errno.EPIPE:  # the reader has had enough, which click knows
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)  # Python flushes it once more
        msg = f"the output cannot be written ({error.strerror}); make room, or write it elsewhere"
        raise click.ClickException(msg) from error


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table with numbers aligned right; nothing is cut, so that a narrow terminal wraps its lines."""
    cells = [[_cell(value) for value in row] for row in rows]
    places = [_aligned(printable(name), [row[i] for row in cells]) for i, name in enumerate(columns)]
    head, *lines = map("  ".join, zip(*places, strict=True))
    _echo("\n".join([click.style(head, bold=True), *lines]))


def _aligned(name: str, cells: Sequence[str]) -> list[str]:
    """Return the name and the cells of a column, of one width; a table of `rich` would take 1 ms for each row."""
    is_number = bool(cells) and all(map(_NUMBER.fullmatch, cells))
    texts = [name, *cells]
    widths = [len(text) if text.isascii() else cell_len(text) for text in texts]
    widest = max(widths)
    pads = [" " * (widest - width) for width in widths]
    return [pad + text if is_number else text + pad for text, pad in zip(texts, pads, strict=True)]


def cut_off(rows: Iterable[_T], limit: int) -> list[_T]:
    """Return the first rows of a list; if there are more, standard error tells how to see them."""
    found = list(rows)
    if len(found) > limit:
        say("and more: use --limit", err=True)
    return found[:limit]


def print_facts(facts: Mapping[str, object]) -> None:
    """Print names and values, one pair per line."""
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        say(f"{name:<{width}}  {_cell(value)}")


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else printable(str(value))
