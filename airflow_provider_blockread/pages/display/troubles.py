"""Errors for people: what went wrong, the bytes of the record, and the commands that help."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from airflow_provider_blockread.pages.display.commands import with_ledger
from airflow_provider_blockread.pages.display.dumps import DumpLine, dump

_OFFSET = re.compile(r" record at byte (\d+) of ")
_RECORD = re.compile(r"""; the record is (b'(?:[^'\\]|\\.)*'|b"(?:[^"\\]|\\.)*")""")
_NAMED = re.compile(r"^(\w+Error: )?(feed .{1,200}? )?window [0-9a-f]{16}( group \d+)?: ")  # already shown beside it
_PLACE = re.compile(r" of (.+) block (\d+) bytes \[\d+, \d+\)")
_COMMAND = re.compile(r"`(blockread [^`]+)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """An error in parts: what happened, what to do, further lines, an excerpt of the record, and commands."""

    headline: str
    advice: str
    lines: str
    excerpt: Sequence[DumpLine]
    commands: tuple[str, ...]

    def without_advice(self) -> Trouble:
        """Return what happened, where what the error advises is done already."""
        return replace(self, advice="", commands=())


def trouble_of(error: str, ledger: str) -> Trouble:
    """Return the parts of an error.

    Args:
        error: the error's text, as a group or a generation stores it.
        ledger: the address of the ledger, for the commands.
    """
    headline, _, rest = error.partition("\n")
    offset, record = _OFFSET.search(headline), _RECORD.search(headline)
    excerpt = dump(ast.literal_eval(record[1]), int(offset[1])) if offset and record else []
    commands = dict.fromkeys(with_ledger(command, ledger) for command in _COMMAND.findall(error))
    said, advice = _parted(_NAMED.sub("", _RECORD.sub("", headline) if excerpt else headline))
    return Trouble(
        headline=said,
        advice=advice[:1].upper() + advice[1:],
        lines=rest,
        excerpt=excerpt,
        commands=tuple(commands),
    )


def brief(error: str) -> str:
    """Return what happened, for a list that names the window: without the file's folder and without what to do."""
    said, _ = _parted(_NAMED.sub("", error.partition("\n")[0]))
    return _PLACE.sub(lambda found: f" of {found[1].rpartition('/')[2]}", said)


def block_of(error: str) -> int | None:
    """Return the number of the block that an error names."""
    found = _PLACE.search(error.partition("\n")[0])
    return int(found[2]) if found else None


def _parted(said: str) -> tuple[str, str]:
    """Return what happened and what to do, which a semicolon separates; names of files may also contain one."""
    place = _PLACE.search(said)
    happened, _, advice = said[place.end() if place else 0 :].partition("; ")
    return said[: place.end() if place else 0] + happened, advice
