"""The progress of an attempt: a small file that its driver keeps replacing, and that is only for people.

It is sealed like all files that an application writes. If a group has few tasks, each of them writes what it has read
so far, for its driver only. Reading either file returns plausible numbers, or nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from airflow_provider_blockread.errors import FileMissingError, printable
from airflow_provider_blockread.exchange.files import read_small
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.seals import sealed, unsealed
from airflow_provider_blockread.observer import Tally
from airflow_provider_blockread.storage.stores import Stores

PROGRESS_NAME = "progress.json"
#: Seconds between two progress files.
EVERY_S = 5.0
#: Seconds between two progress files of a task.
TASK_EVERY_S = 2.0
_NAME = "progress"
_MAX_BYTES = 2**10  # of a file; ours are smaller
_MAX_CHARS = 300  # of an address or an id
_MOST = 2**53  # of a count: the largest that JSON and every database can hold


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """By what people find an attempt's application: its id on Spark, and the address of its live pages, or empty."""

    id: str = ""
    ui: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverProgress:
    """The progress that the driver of an attempt has written."""

    tally: Tally
    application: Application = Application()


class ProgressFile:
    """Writes the progress of an attempt from time to time; failures are ignored."""

    def __init__(
        self,
        stores: Stores,
        submission: Submission,
        *,
        application: Application = Application(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Set the place of the file; `clock` returns seconds."""
        self._stores, self._submission, self._clock = stores, submission, clock
        self._application, self._due = application, clock() + EVERY_S
        self._last = DriverProgress(tally=Tally())

    def write(self, tally: Tally) -> None:
        """Write what has been read so far, if it has changed and some seconds have passed since the last time."""
        now, progress = self._clock(), DriverProgress(tally=tally, application=self._application)
        if progress == self._last or now < self._due or (tally == Tally() and self._last.tally != tally):
            return
        self._last, self._due = progress, now + EVERY_S
        with suppress(Exception):  # of any store
            write_progress(self._stores, self._submission, progress)


class TaskProgress:
    """Writes from time to time what a running task has read; failures are ignored, and `remove` removes the file."""

    def __init__(self, stores: Stores, uri: str) -> None:
        """Set the place of the file, empty for none."""
        self._stores, self._uri = stores, uri
        self._read, self._due = Tally(), time.monotonic() + TASK_EVERY_S
        self._written = False

    def add(self, read: Tally) -> None:
        """Add what was just read."""
        self._read = self._read.plus(read)
        now = time.monotonic()
        if self._uri and now >= self._due:
            self._due = now + TASK_EVERY_S
            self._written = True
            with suppress(Exception):  # of any store
                self._stores.write_bytes_atomic(self._uri, json.dumps(asdict(self._read)).encode())

    def remove(self) -> None:
        """Remove the file, if there is one, since the task's answer tells the driver what was read."""
        if self._written:
            with suppress(Exception):
                self._stores.remove(self._uri)


def task_progress_uri(folder: str, block: int) -> str:
    """Return the URI for the progress of the task whose first block this is."""
    return f"{folder}/progress/{block}.json"


def read_task_progress(stores: Stores, uri: str, *, blocks: int, size: int) -> Tally:
    """Return what a running task has read, at most its blocks and their size; an empty tally if it has not reported."""
    with suppress(Exception):
        tally = _tally(json.loads(read_small(stores, uri, _MAX_BYTES)))
        if tally is not None:
            return replace(tally, blocks=min(tally.blocks, blocks), bytes=min(tally.bytes, size))
    return Tally()


def write_progress(stores: Stores, submission: Submission, progress: DriverProgress) -> None:
    """Write what an attempt has read so far, replacing what it wrote before."""
    fields = asdict(progress.tally) | asdict(progress.application)
    data = sealed(_NAME, fields, secret=submission.secret, bound=submission.spec_hash)
    stores.write_bytes_atomic(f"{submission.folder}/{PROGRESS_NAME}", data)


def read_progress(stores: Stores, submission: Submission) -> DriverProgress | None:
    """Return what a submission's application has reported, or None if it has not reported plausible progress."""
    try:
        data = read_small(stores, f"{submission.folder}/{PROGRESS_NAME}", _MAX_BYTES)
    except FileMissingError:
        return None
    fields = unsealed(_NAME, data, secret=submission.secret, bound=submission.spec_hash) or {}
    name, ui = fields.pop("id", None), fields.pop("ui", None)
    tally = _tally(fields)
    if tally is None or not (isinstance(name, str) and isinstance(ui, str)):
        return None
    return DriverProgress(
        tally=tally, application=Application(id=name if _is_plain(name) else "", ui=ui if _is_page(ui) else "")
    )


def _tally(fields: dict[str, Any] | None) -> Tally | None:
    """Return the counts of an object, or None unless they are plausible."""
    if fields is None or fields.keys() != asdict(Tally()).keys():
        return None
    if not all(type(number) is int and 0 <= number < _MOST for number in fields.values()):
        return None
    tally = Tally(**fields)
    return tally if tally.bad_records <= tally.records else None


def _is_plain(text: str) -> bool:
    """Return whether a text is readable, so that a page shows it exactly as it is."""
    return len(text) <= _MAX_CHARS and text == printable(text) and " " not in text


def _is_page(address: str) -> bool:
    """Return whether an address is that of a web page, and not of anything else that a link may open."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return _is_plain(address) and parts.scheme in {"http", "https"} and bool(parts.hostname) and "@" not in parts.netloc
