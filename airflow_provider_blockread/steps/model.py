"""What the steps take and return. References are passed as JSON of less than 2 KB, however large the window is."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.blocks.ids import window_id
from airflow_provider_blockread.errors import OptionsError, WrongLedgerError
from airflow_provider_blockread.exchange.manifest import read_manifest
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.seals import derived
from airflow_provider_blockread.ledger.model import Generation, Window
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.generations import as_read_by
from airflow_provider_blockread.observer import Observer
from airflow_provider_blockread.options import (
    CustomSink,
    FileList,
    FileSource,
    FunctionCode,
    GenerationOptions,
    Selection,
    Sink,
    Splitting,
)
from airflow_provider_blockread.sinks.protocol import Access, RecordSink
from airflow_provider_blockread.sinks.registry import make_sink
from airflow_provider_blockread.storage.stores import Stores


class Submitter(Protocol):
    """Runs one Spark application at a time."""

    @property
    def keeps_secrets(self) -> bool:
        """Whether a submission's secret is passed to the driver so that only the driver can read it.

        This is so if the driver runs on this host and ends with this process, but not if it runs on a cluster.
        """

    def submit(self, submission: Submission, *, name: str) -> None:
        """Run the job of a specification and return when it has ended.

        Raises:
            SparkJobError: when the job failed; the message ends with the tail of its log.
        """

    def cancel(self) -> None:
        """Stop the application, from any thread; if none is running, prevent one from starting."""


class DetachedSubmitter(Submitter, Protocol):
    """Starts applications whose drivers run on a cluster."""

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called; a process that waits for an application then stops it, and ends."""

    def start(self, submission: Submission, *, name: str) -> str:
        """Submit the job of a specification and return its id on the cluster, as soon as the cluster has accepted it.

        Raises:
            SparkJobError: when the cluster did not accept it.
        """

    def status(self, application: str) -> str:
        """Return how an application ended, in the cluster's words; empty while it runs or if this is not known."""

    def kill(self, application: str | None) -> None:
        """Ask the cluster to stop an application, if it supports that; the driver also finds a stop file.

        Without an id, this means the application submitted here, if any. `cancel` does not do this: the caller must
        first make sure that its claim still holds, since a later try may have adopted the application.
        """


@dataclass(frozen=True, kw_only=True)
class AsJson:
    """What a step returns, convertible to JSON."""

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values, with lists for arrays: Airflow would store a tuple as a special object."""
        found = dataclasses.asdict(self)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


@dataclass(frozen=True, kw_only=True)
class Environment:
    """What every step works with: the ledger, the stores, and the observer of its reports.

    `code` is the code of the user's function, if the caller has it; the ledger holds only its digest. `access` has the
    fields of the connections of catalogs and databases, by id. If `runs_code` is false, as in a web server, classes
    that options name are not loaded.
    """

    ledger: Ledger
    stores: Stores
    observer: Observer
    code: FunctionCode | None = None
    access: Access = field(default_factory=dict, repr=False)
    runs_code: bool = True

    def sink(self, option: Sink, kind: str = "output") -> RecordSink:
        """Return the sink that an option describes, with access to its catalog or database.

        Raises:
            OptionsError: when it is a custom sink that cannot be loaded, or must not be loaded here.
        """
        if isinstance(option, CustomSink) and not self.runs_code:
            msg = (
                f"{option.place}: sink {option.path!r} is a class of your own, and a web server runs no code that an"
                " option names; use the command `blockread windows` in a shell where its module is on PYTHONPATH"
            )
            raise OptionsError(msg)
        return make_sink(self.stores, option, kind, self.access)

    def blocks(
        self, window: Window, generation: Generation | None = None, *, group: int | None = None, file: int | None = None
    ) -> Iterator[Block]:
        """Yield the blocks of a window, of one group, or of one file, as a generation reads them.

        Without a generation, the manifest is the one that `window` names.

        Raises:
            ExchangeError: when the manifest is missing, or is not the one that was planned.
        """
        plan = as_read_by(window, generation)
        return read_manifest(self.stores, plan.manifest_uri, plan.manifest_hash, group=group, file=file)

    def window_secret(self, window: str) -> str:
        """Return the secret that seals what a window keeps in the work area for later tries."""
        return derived(self.ledger.secret, window)

    def age_s(self, time_ns: int | None) -> float:
        """Return the seconds since a file's time, or 0 if the store does not keep times."""
        return max(self.ledger.now().timestamp() - time_ns / 10**9, 0.0) if time_ns else 0.0

    def require(self, ref: WindowRef) -> None:
        """Refuse a window that another ledger planned.

        Raises:
            WrongLedgerError: naming both ledgers.
        """
        if ref.ledger != self.ledger.uuid:
            msg = (
                f"window {ref.window} of feed {ref.feed} was planned in ledger {ref.ledger}, but this step reaches"
                f" ledger {self.ledger.uuid} ({self.ledger.name}); give all tasks of the run the same ledger connection"
            )
            raise WrongLedgerError(msg)


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """What to plan, and for whom. `interval_ns` bounds the files' times if `selection.select` is `interval`."""

    feed: str
    key: str  # of the window; the same key is the same window forever
    source: FileSource
    generation: GenerationOptions
    owner: str
    selection: Selection = Selection()
    splitting: Splitting = Splitting()
    clear_number: int = 0
    interval_ns: tuple[int, int] | None = None
    run: str | None = None  # of Airflow: dag_id/run_id
    reprocesses: bool = False  # the run may read again what an earlier run has published
    replay_only: bool = False  # plan nothing new: a backfill run of a feed that takes files as they arrive
    files: Sequence[str] | FileList | None = None  # paths from upstream, instead of a listing
    mapped: bool = False  # the key ends in the task's place in a list, which may hold other items after a clear
    names_feed: bool = True  # a person chose the feed's name; otherwise it is that of the task, or of the source

    @property
    def window(self) -> str:
        """The id of the window."""
        return window_id(self.feed, self.key)


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Who runs a step. An owner may take over from itself; a higher clear number reads a group again that is done."""

    owner: str
    clear_number: int = 0


@dataclass(frozen=True, kw_only=True)
class WindowRef(AsJson):
    """A planned window, as one step passes it to the next."""

    ledger: str  # its UUID
    feed: str
    window: str
    key: str
    status: str  # read | empty | published | skipped
    generation: int = 0
    mode: str = "write"  # write | verify
    groups: int = 0
    files: int = 0
    blocks: int = 0
    bytes: int = 0
    ignored: int = 0  # files modified after they were taken, left out by on_modified="ignore"
    left_out: Mapping[str, int] = field(default_factory=dict)  # files by reason: modified, untimed, too_old, late, ...
    needs_scan: bool = False  # a scan step must find the entry states of files that span groups
    message: str = ""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the reference from its JSON."""
        return cls(**data)


@dataclass(frozen=True, kw_only=True)
class ReadOutcome:
    """The outcome of reading one group."""

    group: int
    epoch: int
    blocks: int
    records: int
    bad_records: int
    bytes: int
    done_before: bool  # an earlier try had finished it
    seconds: float  # from its claim to its completion
    title: str  # what it holds, for people


@dataclass(frozen=True, kw_only=True)
class Published(AsJson):
    """A proven window: what is published or, for a verification, what was read."""

    window: str
    key: str
    feed: str
    generation: int
    status: str  # published | verified | empty | skipped
    files: int = 0
    blocks: int = 0
    groups: int = 0
    records: int = 0
    bad_records: int = 0
    skipped_records: int = 0
    rows: int = 0
    bytes: int = 0
    outputs: int = 0
    removed: int = 0  # files of the previous generation that were removed from the output
    partitions: int = 0  # of the output with files of this generation
    partition_keys: Sequence[str] = ()  # of these, as Hive names folders; only the first ones if there are many
    excluded: int = 0
    read_seconds: float = 0.0  # of Spark's stages, summed over groups; 0 if it was already done
    receipts_uri: str = ""
    quarantine_uri: str = ""  # folder of the window's bad records; empty if none were quarantined
    table_version: str = ""  # made by its commit, if the sink is a table
    schema_changes: str = ""  # made to that table by its commit, in words
    proof: str = "proven"
    message: str = ""

    @property
    def changes_output(self) -> bool:
        """Whether readers of the output see a change: files were added or removed."""
        return self.status == "published" and bool(self.outputs or self.removed)
