"""Errors for people: what went wrong, the bytes of the record, and the commands that help."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from airflow_provider_blockread.blocks.model import NAMED_BLOCK
from airflow_provider_blockread.errors import printable, shell_word
from airflow_provider_blockread.pages.display.commands import with_ledger
from airflow_provider_blockread.pages.display.dumps import DumpLine, dump

_OFFSET = re.compile(r" record at byte (\d+) of ")
_ESCAPE = r"\\(?:x[0-9a-f]{2}|[\\'tnr])"
# Only what Python writes for bytes, since a reason may quote anything that looks like it.
_RECORD = re.compile(
    rf"""; the record is (b'(?:[ -&(-\[\]-~]|{_ESCAPE})*'|b"(?:[ !#-\[\]-~]|{_ESCAPE})*")(?: and [\d,]+ bytes more)?"""
)
# Already shown beside it; of a proof, the stage that it failed in says the rest.
_NAMED = re.compile(
    r"^(\w+Error: )?(feed .{1,200}? )?window [0-9a-f]{16}( group \d+| generation \d+ fails its proof)?: "
)
_FOLDERS = re.compile(r"(\w+://[^\s/]*/)\S{12,}/")
_REASONS = ("missing", "changed", "bad")  # with which errors advise to leave a file out


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """An error in parts: what happened, what to do, further lines, an excerpt of the record, and commands."""

    headline: str
    advice: str
    lines: str
    excerpt: Sequence[DumpLine]
    commands: tuple[str, ...]


def trouble_of(error: str, ledger: str, window: str, paths: Sequence[str] = ()) -> Trouble:
    """Return the parts of an error.

    Args:
        error: the error's text, as a group or a generation stores it.
        ledger: the address of the ledger, for the commands.
        window: the id of the window that the error is about.
        paths: the paths of the window's files that it names.
    """
    headline, _, rest = error.partition("\n")
    said = _NAMED.sub("", headline)
    start = _end_of_names(said, paths)
    offset, records = _OFFSET.search(said), list(_RECORD.finditer(said, start))
    excerpt: Sequence[DumpLine] = []
    if offset and records:
        found = records[-1]
        excerpt = dump(ast.literal_eval(found[1]), int(offset[1]))
        said, start = said[: found.start()] + said[found.end() :], found.start()
    happened, advice = _parted(said, start)
    return Trouble(
        headline=happened,
        advice=advice[:1].upper() + advice[1:],
        lines=rest,
        excerpt=excerpt,
        commands=tuple(with_ledger(one, ledger) for one in _remedies(window, paths) if f"`{one}`" in advice),
    )


def brief(error: str) -> str:
    """Return what happened, for a list that names the window: without the folders of files and without what to do."""
    said = _NAMED.sub("", error.partition("\n")[0])
    happened, _ = _parted(said, _end_of_names(said))
    block = NAMED_BLOCK.search(happened)
    if block is None:
        return _FOLDERS.sub(r"\1…/", happened)
    what, of, path = happened[: block.start()].partition(" of ")
    return what + of + path.rpartition("/")[2] + happened[block.end() :]


def block_of(error: str) -> int | None:
    """Return the number of the block that an error names."""
    found = NAMED_BLOCK.search(error.partition("\n")[0])
    return int(found[1]) if found else None


def _remedies(window: str, paths: Sequence[str]) -> Iterator[str]:
    """Yield what errors advise about a window: only these are put to copy, since an error also quotes names and data.

    Of what another person has written, at most the path of a file gets into a command, and it is quoted.
    """
    yield from (f"blockread windows {act} {window}" for act in ("show", "rebuild", "abandon", "undo"))
    yield f"blockread windows undo {window} --files pending"
    yield f"blockread reprocess --window {window}"
    yield f"blockread clean --restore {window}"
    for path in map(shell_word, paths):
        yield from (f"blockread windows exclude {window} {path} --reason {reason}" for reason in _REASONS)


def _end_of_names(said: str, paths: Sequence[str] = ()) -> int:
    """Return where an error goes on after the names of its block and files, which may contain any characters."""
    block = NAMED_BLOCK.search(said)
    names = [name for name in map(printable, paths) if name in said]
    return max([block.end() if block else 0, *(said.index(name) + len(name) for name in names)])


def _parted(said: str, start: int) -> tuple[str, str]:
    """Return what happened and what to do, which the first semicolon from `start` on separates."""
    happened, _, advice = said[start:].partition("; ")
    return said[:start] + happened, advice
