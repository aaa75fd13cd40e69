"""A process that dies, or is stopped, at a fault point: a ledger, stores and a hook that know where they are called."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
from sqlalchemy import Connection, Engine, event

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.ledger.overlap import THREAD
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.sinks.protocol import Applied, Marker
from airflow_provider_blockread.sinks.tables.delta.table import _State as _DeltaState
from airflow_provider_blockread.sinks.tables.table import Table
from airflow_provider_blockread.storage.stores import Stores
from tests.crash.sites import READ_ONLY, running_site
from tests.ledgers import share_statements

_DISK_EVENTS = {"os.rename", "os.remove", "os.mkdir", "os.link", "shutil.copyfile", "shutil.rmtree"}
_OPEN_TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Where a process ends: the name of a moment, how often it is reached before, and by which signal."""

    name: str
    skip: int = 0
    signal: int = signal.SIGKILL


@dataclass
class Faults:
    """What a process has come by since it was armed; it gets its signal where the fault says."""

    fault: Fault | None = None
    armed: bool = False
    writing: int = 0  # transactions that are open and hold locks
    seen: Counter[str] = field(default_factory=Counter)
    trace: list[tuple[str, int, bool]] = field(default_factory=list)  # name, how many before, outside transactions

    @contextmanager
    def arm(self) -> Iterator[None]:
        """Count, and die, only in the body."""
        self.armed = True
        try:
            yield
        finally:
            self.armed = False

    def reach(self, kind: str, moment: str = "") -> None:
        """Note that a fault point is reached; the process may end here."""
        if self.armed and _counts():
            self._reach(running_site(kind) + moment)

    def reach_step(self) -> None:
        """Note a step on the local disk, where it is one of the package's own."""
        if self.armed and _counts():
            try:
                site = running_site("disk")
            except LookupError:  # another program's file: Parquet, SQLite or the test itself
                return
            self._reach(site)

    def _reach(self, name: str) -> None:
        if name.startswith(READ_ONLY):
            return
        before = self.seen[name]
        self.seen[name] += 1
        self.trace.append((name, before, not self.writing))
        if self.fault is not None and (name, before) == (self.fault.name, self.fault.skip):
            os.kill(os.getpid(), self.fault.signal)

    def save(self, path: Path) -> None:
        """Write down what was reached."""
        path.write_text(json.dumps(self.trace), "utf-8")


def _counts() -> bool:
    """Tell whether this thread comes by everything in the same order each time, as those of heartbeats do not."""
    thread = threading.current_thread()
    return thread is threading.main_thread() or thread.name.startswith(THREAD)


class FaultyLedger(Ledger):
    """A ledger whose process may die at any statement and any commit."""

    def __init__(self, url: str, faults: Faults, *, now: Callable[[], Any]) -> None:
        """Take the faults."""
        super().__init__(url, now=now)
        self._faults = faults

    def _open(self) -> Engine:
        engine = super()._open()
        if engine.dialect.name == "sqlite":
            share_statements(engine)
        event.listen(engine, "before_cursor_execute", lambda *_: self._faults.reach("statement"))
        return engine

    @contextmanager
    def writing(self, *, lasting: bool = True) -> Iterator[Connection]:
        """Give a connection; the moments before and after its commit are fault points."""
        with super().writing(lasting=lasting) as connection:
            self._faults.writing += 1
            try:
                yield connection
                self._faults.reach("commit", ":before")
            finally:
                self._faults.writing -= 1
        self._faults.reach("commit", ":after")


class FaultyStores(Stores):
    """Stores whose process may die before and after every change."""

    def __init__(self, faults: Faults) -> None:
        """Take the faults."""
        super().__init__()
        self._faults = faults

    def write_bytes_atomic(self, uri: str, data: bytes) -> None:
        """Put a file in place."""
        with self._both_sides():
            super().write_bytes_atomic(uri, data)

    def remove(self, uri: str) -> None:
        """Remove a file."""
        with self._both_sides():
            super().remove(uri)

    def delete_version(self, version: FileVersion) -> bool:
        """Remove a file if it is this version."""
        with self._both_sides():
            return super().delete_version(version)

    def finish_delete(self, version: FileVersion) -> bool | None:
        """End a removal."""
        with self._both_sides():
            return super().finish_delete(version)

    def remove_folder(self, uri: str) -> None:
        """Remove a folder."""
        with self._both_sides():
            super().remove_folder(uri)

    def move(self, source: str, target: str, *, size: int) -> None:
        """Move a file."""
        with self._both_sides():
            super().move(source, target, size=size)

    def place(self, source: str, target: str) -> None:
        """Put a file at a place where nothing is."""
        with self._both_sides():
            super().place(source, target)

    def makedirs(self, uri: str) -> None:
        """Make a folder."""
        with self._both_sides():
            super().makedirs(uri)

    def open_write(self, uri: str) -> BinaryIO:
        """Open a file to fill."""
        with self._both_sides():
            return super().open_write(uri)

    @contextmanager
    def _both_sides(self) -> Iterator[None]:
        self._faults.reach("store", ":before")
        yield
        self._faults.reach("store", ":after")


_commit_to_table = Table._commit
_add_columns = _DeltaState._add_columns


def watch_tables(faults: Faults) -> None:
    """Let the process die before and after each commit to a table."""

    def commit(self: Table, *arguments: Any) -> Applied:
        faults.reach("table", ":before")
        applied = _commit_to_table(self, *arguments)
        faults.reach("table", ":after")
        return applied

    def add_columns(self: _DeltaState, schema: pa.Schema | None, marker: Marker) -> tuple[bool, str]:
        if not self._compared().evolution(schema):
            return _add_columns(self, schema, marker)
        faults.reach("table", ":before")
        added = _add_columns(self, schema, marker)
        faults.reach("table", ":after")
        return added

    Table._commit = commit  # type: ignore[method-assign]
    _DeltaState._add_columns = add_columns  # type: ignore[method-assign]


def watch_disk(faults: Faults) -> None:
    """Let the interpreter report every file that is opened to be written, renamed or removed, until its end."""

    def hook(name: str, arguments: tuple[Any, ...]) -> None:
        opens = name == "open" and isinstance(arguments[2], int) and arguments[2] & _OPEN_TO_WRITE
        if opens or name in _DISK_EVENTS:
            faults.reach_step()

    sys.addaudithook(hook)
