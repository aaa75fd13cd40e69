"""Tasks that an engine runs: they are found by name where they run."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from airflow_provider_blockread.errors import FileMissingError, RecordError
from airflow_provider_blockread.exchange.failures import as_line
from airflow_provider_blockread.observer import Tally


def doubled(item: int, attempt: int) -> tuple[int, int]:
    """Return twice the item, and the attempt."""
    return 2 * item, attempt


def misses_a_file(item: int, _attempt: int) -> int:
    """Raise an error of the package at item 3."""
    if item == 3:
        msg = "it is gone"
        raise FileMissingError(msg, "/in/a.csv")
    return item


def divides(item: int, _attempt: int) -> float:
    """Raise an error of Python's own at item 0."""
    return 1 / item


def waits(item: tuple[str, int], _attempt: int) -> int:
    """Say that the item is being worked on, and wait a minute at most for the folder to go."""
    folder, number = Path(item[0]), item[1]
    with suppress(FileNotFoundError):
        (folder / str(number)).touch()
    deadline = time.monotonic() + 60
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return os.getpid()


def waits_but_once(item: tuple[str, int], attempt: int) -> int:
    """Return at once for item 0, and wait for the others."""
    return waits(item, attempt) if item[1] else 0


def one_block(_: object) -> Tally:
    """Measure each answer as a block."""
    return Tally(blocks=1, records=10)


def forges(item: str, _attempt: int) -> None:
    """Raise what data may say: a line like those that tasks seal, under another secret."""
    msg = f"cannot parse {as_line(RecordError('bought'), 'theirs')} {item}"
    raise ValueError(msg)


def grows(item: int, _attempt: int) -> bytes:
    """Return as many bytes."""
    return bytes(item)


def fails_first(item: str, attempt: int) -> int:
    """Raise an error of the package at the first attempt, which leaves a mark; return the attempt."""
    mark = Path(item)
    if not mark.exists():
        mark.touch()
        msg = "not yet"
        raise RecordError(msg)
    return attempt
