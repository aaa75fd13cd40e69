"""Why Arrow's parser refuses objects: it is asked once about all objects that it must refuse for the same reason.

A call of Arrow's parser takes as long as some dozens of Python's. Both read from left to right and stop at the same
mistake, so neither what is behind it matters, nor what plain strings and numbers before it are. The text of an object
that Python's parser reads is refused for a name that occurs twice, half a surrogate pair, or a number that is too
large, before any value is converted to its type.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pyarrow as pa

from airflow_provider_blockread.records.json.check import Named, Written, fits
from airflow_provider_blockread.records.json.parse import JsonParser, reason

_MOST = 2**12  # forms of objects that are known
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*'
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # of a surrogate pair
_HALVES = ("\\ud800", re.compile("[\ud800-\udbff]")), ("\\udc00", re.compile("[\udc00-\udfff]"))
_ATOM = re.compile(
    rf'(?P<lead>[:\[][ \t\r\n]*){_STRING}(?P<end>"|\Z)'
    rf'|{_STRING}(?:(?P<item>")(?=[ \t\r\n]*[,\]])|(?P<open>\Z)|")'
    r"|(?P<before>[:,\[ \t\r\n]-?)(?:(?P<whole>[1-9][0-9]{0,17})|(?:0|[1-9][0-9]{0,17})\.[0-9]{1,17})"
    r"(?=[ \t\r\n,\]}]|\Z)",
    re.DOTALL,
)

Form = tuple[str, ...]  # equal for objects that the parser refuses for the same reason


class Refusals:
    """Says why Arrow's parser refuses objects of a schema."""

    def __init__(self, parser: JsonParser) -> None:
        self._parser = parser
        self._fits = fits(pa.struct(list(parser.read_as)))
        self._known: dict[Form, str | None] = {}

    def why(self, record: bytes) -> str | None:
        """Return why the parser refuses a record by itself; None where it reads it or, rarely, refuses a number.

        The answer is empty where a value is not of its field's type.
        """
        form: Form | None = None
        try:
            text = record.decode()
            of_type, is_odd = self._examined(text)
        except json.JSONDecodeError as error:
            form = self._form(error)
        except (ValueError, RecursionError):
            pass
        else:
            if not (of_type and is_odd):
                return None if of_type else ""
            form = (_shortened(text),)
        if form is None:
            return self._asked(record)
        if form not in self._known:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[form] = self._asked(record)
        return self._known[form]

    def _asked(self, record: bytes) -> str | None:
        try:
            self._parser.read(pa.py_buffer(record), 1)
        except pa.ArrowInvalid as error:
            return reason(error)
        return None

    def _examined(self, text: str) -> tuple[bool, bool]:
        """Return whether an object's values are of their types, and whether the parser may refuse it nevertheless."""
        repeated = too_large = False

        def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            nonlocal repeated
            found = dict(pairs)
            repeated |= len(found) < len(pairs)
            return found

        def number(digits: str) -> Written:
            nonlocal too_large
            too_large |= math.isinf(float(digits))
            return Written.of(digits, 0.5)  # as a value it fits any type of floats

        value = json.loads(text, parse_float=number, parse_constant=Named, object_pairs_hook=unique)
        return self._fits(value), repeated or too_large or (_HALF.search(text) is not None and _has_halves(value))

    def _form(self, error: json.JSONDecodeError) -> Form | None:
        """Return the form of text that is no object, or None where others of its form may be refused otherwise."""
        before, behind = error.doc[: error.pos], error.doc[error.pos :]
        if error.msg == "Extra data":
            return self._form_of_two(before, behind)
        if error.msg.startswith("Unterminated"):
            odd = _HALF.search(behind) or behind.endswith("\\")
            return None if odd else (error.msg, _shortened(before))
        if "Inf" in behind[:4] or "NaN" in behind[:4]:  # what Arrow may read
            return None
        needed = 6 if "escape" in error.msg else 3 if before[-1:].isdigit() else 1
        return error.msg, _shortened(before), behind[:needed]

    def _form_of_two(self, first: str, second: str) -> Form | None:
        try:
            are_of_type = all(self._examined(text)[0] for text in (first, second))
        except json.JSONDecodeError as error:
            rest = None if error.msg == "Extra data" else self._form(error)
            return None if rest is None else (_shortened(first), *rest)
        return (_shortened(first), _shortened(second)) if are_of_type else None


def _shortened(text: str) -> str:
    """Return JSON text with others in place of plain strings and numbers, but not of names."""
    return _ATOM.sub(_other, text)


def _other(match: re.Match[str]) -> str:
    found = match[0]
    if match["before"] is not None:
        return match["before"] + ("1" if match["whole"] else "0.5")
    lead, end = match["lead"] or "", match["end"] or match["item"] or ""
    if lead or end or match["open"] is not None:
        if _HALF.search(found) is None:
            return f'{lead}"{end}'
        if end:
            chars = json.loads(found[len(lead) :])
            return f'{lead}"{"".join(half for half, are in _HALVES if are.search(chars))}"'
    return found


def _has_halves(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False
