"""Generates the demo's files: realistic, and the same for the same number."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2026, 1, 1, tzinfo=UTC)
LOG_BYTES = 12_000_000
"""Bytes of one log file."""
EVENTS = 60_000
"""Events in one JSON lines file; some 7 MB."""

_PATHS = ("/", "/cart", "/search?q=wörld", "/item/4711", "/api/v2/orders", "/static/app.js")
_AGENTS = ("Mozilla/5.0 (X11; Linux x86_64)", "curl/8.14", "Prometheus/3.7", "okhttp/5.1")
_ACTIONS = ("view", "add", "remove", "buy", "return")


def make_first(landing: Path) -> None:
    """Make the landing folder: 3 log files, 3 files of events, 3 of notes, 3,000 small reports; all appear at once."""
    aside = landing.with_name(f".{landing.name}.part")
    shutil.rmtree(aside, ignore_errors=True)
    for number in range(3):
        _write(aside / "logs" / f"web-{number:03}.log", log_file(number))
        _write(aside / "notes" / f"notes-{number}.txt", notes_file(number))
        _write(aside / "events" / f"day={number:02}" / "events.jsonl", event_file(number))
    for number in range(3000):
        _write(aside / "reports" / f"{number // 500:02}" / f"report-{number:05}.txt", report_file(number))
    aside.rename(landing)


def make_more(landing: Path) -> None:
    """Add one log file, one file of events and 200 reports."""
    arrived = len(list((landing / "logs").glob("*.log")))
    _write(landing / "logs" / f"web-{arrived:03}.log", log_file(arrived))
    _write(landing / "events" / f"day={arrived:02}" / "events.jsonl", event_file(arrived))
    first = len(list((landing / "reports").rglob("*.txt")))
    for number in range(first, first + 200):
        _write(landing / "reports" / "late" / f"report-{number:05}.txt", report_file(number))


def log_file(number: int) -> bytes:
    """Return a web server's log: lines ended by CRLF, some of them empty, and no newline at the end."""
    dice = random.Random(f"log {number}")  # noqa: S311 - not a secret

    def line(index: int) -> bytes:
        if dice.random() < 0.01:  # noqa: PLR2004 - one in a hundred
            return b"\r\n"
        at = START + timedelta(days=number, milliseconds=index * 137)
        status, size = dice.choice((200, 200, 200, 304, 404, 500)), dice.randrange(100_000)
        client = f"10.{dice.randrange(256)}.{dice.randrange(256)}.{dice.randrange(256)}"
        request = f'"GET {dice.choice(_PATHS)} HTTP/1.1" {status} {size} "{dice.choice(_AGENTS)}"'
        return f"{client} - - [{at:%d/%b/%Y:%H:%M:%S.%f}] {request}\r\n".encode()

    return _filled(line, LOG_BYTES).rstrip(b"\r\n")


def event_file(number: int) -> bytes:
    """Return a shop's events as JSON lines; some lack a field, some have one that is not in the schema."""
    dice = random.Random(f"events {number}")  # noqa: S311 - not a secret
    lines = []
    for index in range(EVENTS):
        event: dict[str, object] = {
            "id": number * EVENTS + index,
            "at": f"{START + timedelta(days=number, seconds=index):%Y-%m-%dT%H:%M:%SZ}",
            "user": f"user-{dice.randrange(5000)}",
            "action": dice.choice(_ACTIONS),
        }
        if dice.random() < 0.5:  # noqa: PLR2004 - half of them
            event["amount"] = round(dice.random() * 500, 2)
        if dice.random() < 0.1:  # noqa: PLR2004 - one in ten
            event["session"] = f"{dice.getrandbits(64):016x}"
        lines.append(json.dumps(event))
    return "\n".join(lines).encode() + b"\n"


def report_file(number: int) -> bytes:
    """Return a small report of 1 to 8 kB."""
    dice = random.Random(f"report {number}")  # noqa: S311 - not a secret
    rows = "".join(f"sensor {row:02} = {dice.random() * 100:8.3f}\n" for row in range(dice.randrange(45, 350)))
    return f"Report {number}\n{rows}".encode()


def notes_file(number: int) -> bytes:
    """Return lines of text, some of which start with a dot, as those of roff's requests do; some 150 kB."""
    dice = random.Random(f"notes {number}")  # noqa: S311 - not a secret
    lines = (f"note {number}.{row}: {dice.getrandbits(dice.randrange(8, 400)):x}" for row in range(2500))
    return "".join(f"{dice.choice(('', '', '', '.'))}{line}\n" for line in lines).encode()


def _filled(line: Callable[[int], bytes], size: int) -> bytes:
    """Return lines of at least `size` bytes; they repeat after the first 20,000."""
    page = b"".join(line(index) for index in range(20_000))
    return page * (size // len(page) + 1)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.part")
    aside.write_bytes(data)
    aside.rename(path)
