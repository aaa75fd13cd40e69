"""Globs on paths relative to a root, `/` between segments, case-sensitive.

`*` and `?` match within a segment, `[a-z]` and `[!a-z]` are one character of it; `**` spans folders, and `**/` matches
any number of them. A glob without `/` (`*.csv`) matches at any depth; a leading `/` binds it to the root, a trailing
`/` means everything below. Anything else, including a bracket that never closes, is literal, except that what Spark and
shells have besides, `{a,b}` and `[^a]`, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from airflow_provider_blockread.errors import OptionsError

_PART = re.compile(r"\*\*+|\*|\?|\[!?+(?:\][^\]]*|[^\]]+)\]|.", re.DOTALL)
#: Taken literally, it would silently match no file, or those that it is meant to leave out.
_ELSEWHERE = re.compile(r"(\{[^{}\]]*,[^{}]*\})|\[\^")
_FOLDERS = "(?:[^/]+/)*"
_WILD = {"*": "[^/]*", "**": ".*"}


@dataclass(frozen=True, slots=True)
class Glob:
    """One pattern, compiled.

    `head` has a regex for each leading segment up to the first one that spans folders; `depth` is the number of
    segments of all matching paths, or None if a `**` makes it vary; `tree` matches folders below which everything
    matches.
    """

    regex: str
    head: tuple[re.Pattern[str], ...]
    depth: int | None
    tree: str | None

    def reaches(self, folder: Sequence[str]) -> bool:
        """Return whether a path below the folder with these segments could match."""
        if self.depth is not None and len(folder) >= self.depth:
            return False
        return all(regex.fullmatch(name) for regex, name in zip(self.head, folder, strict=False))


def compile_glob(pattern: str) -> Glob:
    """Return the compiled pattern.

    Raises:
        OptionsError: if it is blank, contains a character range from high to low, or `{a,b}` or `[^a]`.
    """
    elsewhere = _ELSEWHERE.search(pattern)
    if elsewhere is not None:
        what, instead = ("braces", "a pattern for each, or [{]") if elsewhere[1] else ("[^...]", "[!...]")
        msg = f"{pattern!r} is not a pattern: globs here have no {what}; write {instead}"
        raise OptionsError(msg)
    segments = [segment for segment in pattern.split("/") if segment not in {"", "."}]
    if not segments:
        msg = f"{pattern!r} is not a pattern; write one such as *.csv or **/*.json"
        raise OptionsError(msg)
    if pattern.endswith("/"):
        segments.append("**")
    if "/" not in pattern:
        segments.insert(0, "**")
    try:
        spans = next((i for i, segment in enumerate(segments) if "**" in segment), None)
        return Glob(
            regex=re.compile(_regex(segments)).pattern,
            head=tuple(re.compile(_segment(segment), re.DOTALL) for segment in segments[:spans]),
            depth=len(segments) if spans is None else None,
            tree=_regex(segments[:-1]) if segments[-1] == "**" and len(segments) > 1 else None,
        )
    except re.error as error:
        msg = f"{pattern!r} is not a pattern: {error}; write ranges from low to high, as in [a-z]"
        raise OptionsError(msg) from error


def any_of(regexes: Sequence[str]) -> re.Pattern[str] | None:
    """Return one regex that matches whatever any of these matches, or None without regexes."""
    return re.compile("|".join(f"(?:{regex})" for regex in regexes), re.DOTALL) if regexes else None


def _regex(segments: Sequence[str]) -> str:
    *folders, last = segments
    before = "".join(_FOLDERS if segment == "**" else f"{_segment(segment)}/" for segment in folders)
    return before + (".+" if last == "**" else _segment(last))


def _segment(segment: str) -> str:
    """Return the regex of a segment, whose time is about that of the length of a name.

    A wildcard takes as little as it can where another one follows that can take the rest, and that is never tried
    again: otherwise whoever lands `____...` keeps a plan by `*_*_*_*.csv` busy for days.
    """
    runs = [["", ""]]  # each wildcard, and what follows it
    for part in _PART.findall(segment):
        if part.startswith("*"):
            runs.append([part[:2], ""])
        else:
            runs[-1][1] += _translate(part)
    regex = runs[0][1]
    for (wild, rest), (after, _) in pairwise([*runs[1:], ["", ""]]):
        takes_rest = after == "**" or (after == "*" and wild == "*")
        regex += f"(?>{_WILD[wild]}?{rest})" if takes_rest else _WILD[wild] + rest
    return regex


def _translate(part: str) -> str:
    if part == "?":
        return "[^/]"
    if len(part) > 1:  # a bracket: like a regex's, except for the negation, once special characters are escaped
        negated = part[1] == "!"
        inside = re.sub(r"[\\\[\]^&~|]|-(?=-)", r"\\\g<0>", part[1 + negated : -1])
        return f"(?!/)[{'^' * negated}{inside}]"
    return re.escape(part)
