"""Numbers, times, sizes, names and states in readable form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from markupsafe import Markup

from airflow_provider_blockread.errors import printable
from airflow_provider_blockread.options import moment
from airflow_provider_blockread.options.parsing.sizes import format_bytes

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0
_MOST_DIGITS, _MOST = 19, 2**63 - 1  # of a number that a database holds
_LEAST_S = 0.05  # a shorter time is too short for a rate

#: A shape for each colour, so that no meaning depends on colour alone.
_SHAPES = {
    "✓": ("published", "verified", "done", "healthy"),
    "✕": ("failed", "failing", "bad"),
    "!": ("stalled", "behind", "missing", "changed", "quarantined"),
    "▸": ("reading", "proving", "publishing", "planning", "working"),
}
GLYPHS = {word: shape for shape, words in _SHAPES.items() for word in words}


#: The modes of csv with escapes or comments.
_CSV_MODES = (
    *("at a row's start", "at a field's start", "in a field", "in quotes", "after a quote"),
    *("after an escape", "after an escape in quotes", "in a comment"),
)
#: Why files are left out, by state.
LEFT_OUT = {
    "missing": "gone before they were read",
    "changed": "changed after they were planned",
    "ignored": "modified after they were taken, or left out by a rule",
}


def number(value: float | None) -> str:
    """Return a count with separators, such as `1,204,331`."""
    return "-" if value is None else f"{round(value):,}"


def size(value: float | None) -> str:
    """Return a size, such as `3.2 GB`."""
    return "-" if value is None else format_bytes(value)


def rate(read: float | None, seconds: float | None) -> str:
    """Return a rate in bytes per second, or a dash if it would be meaningless."""
    if not read or seconds is None or seconds < _LEAST_S:
        return "-"
    return f"{format_bytes(read / seconds)}/s"


def duration(seconds: float | None) -> str:
    """Return a time span: `0.4 s`, `12 s`, `14 min`, `3 h 20 min`, `5 days`."""
    if seconds is None:
        return "-"
    seconds = max(seconds, 0.0)
    if seconds < 2 * _MINUTE:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"  # noqa: PLR2004
    if seconds < 2 * _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    if seconds < 2 * _DAY:
        hours, minutes = divmod(round(seconds / _MINUTE), 60)
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{seconds / _DAY:.0f} days"


def when(time: datetime | None, now: datetime) -> str:
    """Return as HTML how long ago a time was, with the exact time on hover and for scripts."""
    if time is None:
        return "-"
    seconds = (now - time).total_seconds()
    words = f"{duration(seconds)} ago" if seconds >= 0 else f"in {duration(-seconds)}"
    return _time(time, "just now" if 0 <= seconds < 1 else words)


def exact(time: datetime | None) -> str:
    """Return a time in UTC, such as `2026-11-22 14:00:03 UTC`."""
    return "-" if time is None else f"{time:%Y-%m-%d %H:%M:%S} UTC"


def clock(time: datetime | None) -> str:
    """Return as HTML the time of day, with the complete time on hover."""
    return "-" if time is None else _time(time, f"{time:%H:%M:%S}")


def _time(time: datetime, words: str) -> str:
    shape = Markup('<time datetime="{}" title="{}">{}</time>')
    return shape.format(time.isoformat(timespec="seconds"), exact(time), words)


def at_ns(ns: int | None) -> datetime | None:
    """Return the time for nanoseconds since 1970."""
    return None if ns is None else moment(ns)


def path(text: str) -> str:
    """Return a path as HTML; if it is truncated, its last part stays whole. All of it is on hover."""
    shown = printable(text)
    head, slash, tail = shown.rpartition("/")
    return Markup('<span class="path" title="{}"><span class="head">{}</span><bdi class="tail">{}</bdi></span>').format(
        shown, head + slash, tail
    )


def state(word: str, label: str = "") -> str:
    """Return a state as HTML, with its colour and shape."""
    return Markup('<span class="state k-{}"><span aria-hidden="true">{}</span>{}</span>').format(
        word.replace(" ", "-"), GLYPHS.get(word, "·"), label or word
    )


def file_state(word: str) -> str:
    """Return the ledger's state of a file as HTML, where `done` is said as readers of the output see it."""
    return state("published" if word == "done" else word)


def lines(text: str | None) -> str:
    """Return a text of several lines as HTML, without unprintable characters."""
    return Markup("\n").join(printable(line) for line in (text or "").split("\n"))


def begins(state: int, record_format: Mapping[str, Any]) -> str:
    """Return in words where a block begins, given the state at its first byte and the format of its records."""
    if record_format.get("kind") == "csv":
        plain = not record_format.get("escape") and not record_format.get("comment")
        names = ("outside quotes", "in quotes") if plain else _CSV_MODES
        return names[state] if state < len(names) else str(state)
    return f"in state {state}" if state else "-"


def share(part: float, whole: float) -> int:
    """Return a share in percent, rounded down, so that 100 means everything."""
    return math.floor(100 * part / whole) if whole else 0


def whole(text: str) -> int | None:
    """Return the whole number in a part of an address, or None if it is not one that a database can hold."""
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > _MOST_DIGITS or int(digits) > _MOST:
        return None
    return int(text)
