"""Records of a small text, found one character after another: what several formats make of the same bytes."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.ledger.windows.generations import latest_generation, published_generation
from airflow_provider_blockread.ledger.windows.queries import list_parts
from airflow_provider_blockread.options import Csv, Escaped, FormatOption, Lines
from tests.pipeline.make import Pipe

FORMATS: dict[str, FormatOption] = {
    "lines": Lines(),
    "line feeds": Lines(newline="lf"),
    "escaped": Escaped(),
    "quoted": Csv(delimiter=";", schema="value string"),
    "quoted once": Csv(delimiter=";", quote="'", schema="value string"),
}
PIECES = [
    '"a\nb"\n',
    "'c\nd'\n",
    "e\n",
    "f\r",
    "g\\\nh\n",
    "a long line\n",
    '"i\'j"\n',
    "'k\"l\nm'\n",
]  # of such a text
_NAMES = {str(option.to_json()): name for name, option in FORMATS.items()}


def shown_records(pipe: Pipe, text: str) -> list[str] | None:
    """Return the values that the feed's only file shows, read part after part; None while a window is half published.

    Each part continues where the one before ended by the format under which that one is published.
    """
    listed = [found for found in list_windows(pipe.env.ledger, pipe.feed) if found.window.state == "open"]
    held = [found.window for found in listed if not found.excluded]
    if any(latest_generation(pipe.env.ledger, window.id).state == "publishing" for window in held):
        return None
    place, seen = 0, []
    for start, end, name in sorted(found for window in held if (found := _shown(pipe, text, window))):
        assert place >= start
        for first, after, value in records(text, place, name):
            if first >= end:
                break
            place = after
            seen.append(value)
    return sorted(seen)


def _shown(pipe: Pipe, text: str, window: Window) -> tuple[int, int, str] | None:
    """Return the range of the file that a window shows, and the format's name."""
    found = published_generation(pipe.env.ledger, window.id)
    if found is None:
        return None
    parts = list_parts(pipe.env.ledger, window.id)
    start, end = (parts[0].start, parts[0].end) if parts else (0, len(text))
    return start, end, _NAMES[str(found.options["record_format"])]


def records(text: str, start: int, name: str) -> Iterator[tuple[int, int, str]]:
    """Yield where each record begins, where the next one does, and its value, from a record's first byte on."""
    while start < len(text):
        end = _end(text, start, name)
        yield start, end, _value(text[start : end - (text[end - 1] in _newlines(name))], name)
        start = end


def _end(text: str, start: int, name: str) -> int:
    quote = {"quoted": '"', "quoted once": "'"}.get(name)
    inside = text[start] == quote
    place = start + inside
    while place < len(text):
        char = text[place]
        if char == quote:
            inside = False  # only a quote that begins the field opens it, and no text here doubles one inside
        elif name == "escaped" and char == "\\":
            place += 1
        elif char in _newlines(name) and not inside:
            return place + 1
        place += 1
    return len(text)


def _newlines(name: str) -> str:
    return "\n" if name == "line feeds" else "\r\n"


def _value(record: str, name: str) -> str:
    quote = {"quoted": '"', "quoted once": "'"}.get(name)
    if quote is None or not record.startswith(quote):
        return record
    return record.replace(quote, "")
