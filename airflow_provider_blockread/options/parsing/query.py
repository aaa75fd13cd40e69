"""Checks of a query that need no Spark: where its quotes, comments, brackets and statements end.

Spark's grammar grows with its versions. Only what no version can parse is refused here; Spark itself reports all other
errors, before anything is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import dropwhile
from typing import NamedTuple

# A query of Spark SQL begins with one of these, inside any number of brackets.
_BEGINNINGS = ("SELECT", "WITH", "FROM", "TABLE", "VALUES", "MAP", "REDUCE")

_TOKEN = re.compile(
    r"""
      (?P<skipped> \s+ | --(?:\\\n|[^\r\n])* )
    | (?P<comment> /\* )
    | (?P<quoted> [rR]'[^']*' | [rR]"[^"]*" | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `(?:[^`]|``)*` )
    | (?P<open_quote> ['"`] )
    | (?P<opens> [(\[] )
    | (?P<closes> [)\]] )
    | (?P<other> \w+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_MARK = re.compile(r"/\*|\*/")
_PAIRS = {")": "(", "]": "["}


class _Token(NamedTuple):
    kind: str
    text: str
    place: str


def problem_of(query: str) -> str:
    """Return why Spark cannot parse a text as one query, with the place; an empty string if only Spark can tell."""
    tokens = list(_tokens(query))
    if any(token.text == "$" for token in tokens):  # newer versions have strings in dollar quotes
        return ""
    found = (check(tokens) for check in (_no_end, _no_query, _second_statement, _no_pair))
    return next(filter(None, found), "")


def _tokens(query: str) -> Iterator[_Token]:
    """Yield the tokens of a query without blanks and comments, up to a quote or comment that has no end."""
    at = 0
    while found := _TOKEN.match(query, at):
        kind, at = str(found.lastgroup), found.end()
        if kind == "comment":
            at = _end_of_comment(query, found.start())
        if kind == "open_quote" or at < 0:
            yield _Token("endless", found[0], _place(found))
            return
        if kind not in {"skipped", "comment"}:
            yield _Token(kind, found[0], _place(found))


def _no_end(tokens: list[_Token]) -> str:
    last = tokens[-1] if tokens else None
    return f"{last.text} {last.place} has no end" if last and last.kind == "endless" else ""


def _no_query(tokens: list[_Token]) -> str:
    first = next((token.text for token in tokens if token.text != "("), "")
    if first.upper() in _BEGINNINGS:
        return ""
    return f"it begins with {first} instead of one of {', '.join(_BEGINNINGS)}" if first else "it is empty"


def _second_statement(tokens: list[_Token]) -> str:
    after = dropwhile(lambda token: token.text != ";", tokens)
    second = next((token for token in after if token.text != ";"), None)
    return f"a second statement begins {second.place}" if second else ""


def _no_pair(tokens: list[_Token]) -> str:
    opened: list[_Token] = []
    for token in tokens:
        if token.kind == "opens":
            opened.append(token)
        elif token.kind == "closes" and (not opened or opened.pop().text != _PAIRS[token.text]):
            return f"{token.text} {token.place} closes nothing"
    return f"{opened[-1].text} {opened[-1].place} is not closed" if opened else ""


def _end_of_comment(query: str, start: int) -> int:
    """Return where a comment ends, which may contain others; -1 if it does not end."""
    depth, end = 0, -1
    for mark in _MARK.finditer(query, start):
        depth, end = (depth + 1, end) if mark[0] == "/*" else (depth - 1, mark.end())
        if not depth:
            break
    return end


def _place(found: re.Match[str]) -> str:
    line = found.string.count("\n", 0, found.start()) + 1
    column = found.start() - found.string.rfind("\n", 0, found.start())
    return f"(line {line}, column {column})"
