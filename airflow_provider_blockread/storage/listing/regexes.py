"""Regular expressions on paths relative to a root: each must match the whole path, and `.` matches any character.

A folder is skipped, or excluded as a whole, only if the text of the expression proves that this is correct. Otherwise
it is listed, which costs time, but never loses a file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from airflow_provider_blockread.errors import OptionsError

#: The prefix of a pattern that is a regular expression.
MARK = "re:"

_PART = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
_LITERAL = re.compile(r"[^\\.^$*+?{}\[\]|()]|\\[^\w\s]", re.DOTALL)
_OPTIONAL = ("*", "?", "{")  # after a character: it is optional
#: With one of these, the match of a prefix may depend on what follows, or on what was matched before.
_LOOKS_ON = re.compile(r"\(\?[=!>(]|\$|\\[bBZz]|[*+?}]\+")


@dataclass(frozen=True, slots=True)
class Regex:
    """One expression, compiled.

    Every path that matches begins with `head`; if `tree` matches a path, all paths that begin with it match.
    """

    regex: re.Pattern[str]
    head: str
    tree: re.Pattern[str] | None

    def reaches(self, folder: str) -> bool:
        """Return whether a path below the folder could match."""
        inside = f"{folder}/"
        return inside.startswith(self.head) or self.head.startswith(inside)

    def covers(self, folder: str) -> bool:
        """Return True only if every path below the folder matches."""
        return self.tree is not None and self.tree.fullmatch(f"{folder}/") is not None


def compile_regex(text: str) -> Regex:
    """Return the compiled expression.

    Raises:
        OptionsError: if it is blank or malformed; naming it and the position.
    """
    try:
        regex = re.compile(text, re.DOTALL)
    except (re.error, OverflowError, RecursionError) as error:
        msg = f"{MARK}{text} is not a regular expression ({error}); correct it, or write a glob without {MARK!r}"
        raise OptionsError(msg) from error
    if not text.strip():
        msg = f"{MARK!r} without an expression matches no file; write one such as {MARK}.*\\.csv"
        raise OptionsError(msg)
    # Flags change the meaning of letters and spaces; with alternatives there is no single literal prefix.
    plain = regex.flags == re.compile("", re.DOTALL).flags and not _has_alternatives(text)
    spans = plain and _PART.findall(text)[-2:] in [[".", "*"], [".", "+"]] and not _LOOKS_ON.search(text)
    return Regex(regex, _head(text) if plain else "", re.compile(f"{text[:-1]}*", re.DOTALL) if spans else None)


def _has_alternatives(text: str) -> bool:
    """Return whether the expression has alternatives outside of parentheses."""
    depth = 0
    for part in _PART.findall(text):
        depth += (part == "(") - (part == ")")
        if part == "|" and not depth:
            return True
    return False


def _head(text: str) -> str:
    parts = _PART.findall(text)
    head = []
    for part, after in zip(parts, [*parts[1:], ""], strict=True):
        if not _LITERAL.fullmatch(part) or after in _OPTIONAL:
            break
        head.append(part[-1])
    return "".join(head)
