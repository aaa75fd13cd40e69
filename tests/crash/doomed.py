"""A pipeline whose process may die anywhere, its tasks as a scheduler runs them, and what it must come to."""

from __future__ import annotations

import dataclasses
import json
import os
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fsspec
import pyarrow.dataset as ds
from fsspec.implementations.local import LocalFileSystem
from fsspec.spec import AbstractFileSystem

from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.exchange.failures import write_failure
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.ledger.windows.journal import journalled_outputs
from airflow_provider_blockread.ledger.windows.queries import list_files
from airflow_provider_blockread.observer import LogObserver
from airflow_provider_blockread.options import ArrowFunction, Csv, FormatOption, Policies
from airflow_provider_blockread.records.members.index import index_uri
from airflow_provider_blockread.sinks.names import FILE_PREFIX
from airflow_provider_blockread.steps import Environment, PlanRequest, Published, WindowRef
from airflow_provider_blockread.storage import uris
from tests.crash.as_lines import id_of
from tests.crash.faults import Fault, Faults, FaultyLedger, FaultyStores, watch_disk, watch_tables
from tests.pipeline.make import Pipe, ReadHere
from tests.sinks.kinds import KINDS


class Bucket(LocalFileSystem):
    """A folder that behaves as an object store: nothing is renamed, a file is copied and its source stays."""

    protocol = "bucket"
    mv = AbstractFileSystem.mv

    def __init__(self) -> None:
        """Make folders as files need them."""
        super().__init__(auto_mkdir=True)


_CSV = Csv(header=True)
_GENERATIONS = 9  # more than any window of a scenario has

fsspec.register_implementation("bucket", Bucket, clobber=True)


@dataclass
class Doomed(Pipe):
    """A feed that is named as its folder; its ledger may be shared with others."""

    submitter: Any = None
    url: str = ""  # of the ledger, which is there, or made by what happens
    scheme: str = ""  # of the store that holds output and work area
    faults: Faults = field(default_factory=Faults)
    record_format: FormatOption = _CSV
    policies: Policies = Policies(on_bad_record="quarantine", proof="digest")
    block_size: int = 6
    group_bytes: int = 18
    elsewhere: Path | None = None  # the work area, where it is not beside the output
    partition_by: tuple[str, ...] = ()
    schema: str = ""  # whether a table gets columns that it lacks
    writes_early: bool = False  # what a task has of a row, not when it has much
    time_pattern: str | None = None
    intervals: dict[str, tuple[int, int]] = field(default_factory=dict)  # of windows, by their keys
    airflow_run: str | None = None

    def __post_init__(self) -> None:
        """Make the folders; let jobs run here, and leave errors as applications do."""
        self.feed = self.folder.name
        self.submitter = _Here(FaultyStores(self.faults))
        if not KINDS[self.kind].holds_columns:
            self.function = ArrowFunction("tests.crash.as_lines:as_lines", schema="value string")
        self.job = dataclasses.replace(self.job, heartbeat_s=59.0)
        super().__post_init__()
        watch_disk(self.faults)
        watch_tables(self.faults)

    @property
    def work(self) -> Path:
        """The work area."""
        return self.elsewhere or super().work

    def environment(self, name: str) -> Environment:
        """Return an environment whose process may die."""
        del name  # the URL says where the ledger is
        ledger = FaultyLedger(self.url, self.faults, now=lambda: self.time)
        return Environment(
            ledger=ledger,
            stores=FaultyStores(self.faults),
            observer=LogObserver(self.messages.append),
        )

    def request(self, key: str, clear_number: int = 0) -> PlanRequest:
        """Return what to plan, with a sink that shows more of its steps."""
        found = super().request(key, clear_number)
        out, work = (self.scheme + str(place) for place in (self.out, self.work))
        kind = KINDS[self.kind]
        more: dict[str, Any] = {"partition_by": self.partition_by} if self.partition_by else {}
        more |= {"schema": self.schema} if self.schema else {}
        more |= self.sink_options
        sink = kind.option(out, work_uri=work, **(kind.early if self.writes_early else {}), **more)
        generation = dataclasses.replace(found.generation, sink=sink)
        source = dataclasses.replace(found.source, time_pattern=self.time_pattern)
        interval = self.intervals.get(key)
        return dataclasses.replace(
            found, generation=generation, source=source, interval_ns=interval, run=self.airflow_run
        )

    def put_old(self, files: dict[str, bytes]) -> None:
        """Let files land, each a second later than the one before."""
        self.put(files)
        for second, name in enumerate(files):
            os.utime(self.source / name, (second + 1, second + 1))

    def ids(self) -> list[int]:
        """Return the column that distinguishes the records, sorted."""
        return sorted(int(row["id"]) if "id" in row else id_of(row["value"]) for row in self.rows())  # text in csv

    def quarantined(self) -> list[bytes]:
        """Return the bad records that are kept for good, sorted."""
        folder = self.work / "quarantine"
        files = [str(path) for path in folder.rglob("*.parquet")]
        return sorted(ds.dataset(files, format="parquet").to_table()["bytes"].to_pylist()) if files else []


class _Here(ReadHere):
    def submit(self, submission: Submission, *, name: str) -> None:
        """Run the job; an error is left beside the specification, as an application leaves it."""
        try:
            super().submit(submission, name=name)
        except BlockReadError as error:
            write_failure(self.stores, submission, error)
            raise


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """A scheduler's memory: what a task returned is kept, and the task is not run again.

    Without `keeps` every task is run again, as when a whole run is cleared or a command is repeated.
    """

    path: Path
    keeps: bool = True

    def once(self, name: str, task: Callable[[], Any]) -> Any:
        """Return what the task returned, now or in an earlier process."""
        known = json.loads(self.path.read_text("utf-8")) if self.path.exists() else {}
        if self.keeps and name in known:
            return known[name]
        known[name] = task()
        hidden = self.path.with_suffix(".new")
        hidden.write_text(json.dumps(known), "utf-8")
        hidden.replace(self.path)
        return known[name]

    def window(self, pipe: Doomed, key: str = "w", *, clear_number: int = 0) -> Published:
        """Run the tasks of one window."""
        ref = self.plan(pipe, key, clear_number=clear_number)
        self.read(pipe, ref, clear_number=clear_number)
        return pipe.commit(ref)

    def plan(self, pipe: Doomed, key: str = "w", *, clear_number: int = 0) -> WindowRef:
        """Run the task that plans."""
        name = f"plan {key} {clear_number}"
        return WindowRef.from_json(self.once(name, lambda: pipe.plan(key, clear_number=clear_number).to_json()))

    def read(self, pipe: Doomed, ref: WindowRef, *, clear_number: int = 0, again: str = "") -> None:
        """Run the tasks that read."""
        for group in range(ref.groups if ref.status == "read" else 0):
            name = f"read {ref.key} {ref.generation} {group}{again}"
            self.once(name, lambda n=group: pipe.read(ref, clear_number=clear_number, groups=[n])[0].group)


def in_a_child(work: Callable[[], None], report: Path | None = None) -> int:
    """Run the work in a process of its own, which may die, and return the process's id; it is to be waited for."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    except BaseException:  # noqa: BLE001 - the parent reads what it was
        (report or Path("/dev/stderr")).write_text(traceback.format_exc(), "utf-8")
    finally:
        os._exit(code)


def apart(pipe: Doomed, work: Callable[[], object]) -> None:
    """Do work in another process: one that has used the library of a Delta table cannot be forked any more."""

    def alone() -> None:
        work()

    pipe.close()
    _, status = os.waitpid(in_a_child(alone), 0)
    assert not status, status


def die_at(pipe: Doomed, name: str, work: Callable[[], object], *, skip: int = 0) -> None:
    """Let another process do the work and die at a fault point, which it has passed `skip` times before."""

    def die() -> None:
        pipe.faults.fault = Fault(name=name, skip=skip)
        with pipe.faults.arm():
            work()

    pipe.close()
    _, status = os.waitpid(in_a_child(die), 0)
    assert os.WIFSIGNALED(status), name


def strays(pipe: Doomed, *, named: bool = False) -> list[str]:
    """Return what is where it must not be: anything that no generation of a published window has put there.

    Args:
        pipe: the feed.
        named: look only at what readers of a table find, as a task that wakes up too late may leave a file there.
    """
    ledger = pipe.env.ledger
    is_table = KINDS[pipe.kind].table is not None
    windows = list_windows(ledger, pipe.feed, limit=1000)
    absent = _GENERATIONS if is_table else 0
    last = {row.window.id: row.shown.number if row.shown else absent for row in windows}
    listed = {
        uris.name_of(file.uri)
        for window, number in last.items()
        for generation in range(1, number + 1)
        for files in journalled_outputs(ledger, window, generation).values()
        for file in files
    }
    listed |= {index_uri(name) for name in listed}  # of archives
    kept = pipe.work / "quarantine"
    files = [path for path in pipe.folder.rglob("*") if path.is_file()]
    ours = [path for path in files if not path.name.startswith(("ledger.db", "test-"))]
    free = [path for path in ours if pipe.source not in path.parents and pipe.work not in path.parents]
    if is_table:  # its files stay for readers of earlier versions, and so do its log and what was written for no window
        free = [path for path in free if path.name.startswith(FILE_PREFIX)]
        free = [path for path in free if path.name in pipe.published()] if named else free
    placed = [*free, *(path for path in kept.rglob("*") if path.is_file())]
    return sorted(str(path) for path in placed if path.name not in listed)


def leftovers(pipe: Doomed) -> list[str]:
    """Return what is in the work area except quarantined records, archived files and the name of the feed's ledger."""
    kept = {pipe.work / "quarantine", pipe.work / "_kept"}
    files = [path for path in pipe.work.rglob("*") if path.is_file() and kept.isdisjoint(path.parents)]
    return sorted(str(path) for path in files if path.name != "ledger")


def open_files(pipe: Doomed) -> list[str]:
    """Return the files that the ledger does not know as settled."""
    rows = list_files(pipe.env.ledger, pipe.feed)
    return [f"{row.version.path} is {row.state}" for row in rows if row.state in {"pending", "planned"}]
