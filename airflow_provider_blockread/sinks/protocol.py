"""The protocol of sinks: a writer for tasks; and methods for Airflow's side to prove, publish, check and undo.

Tasks write files by name. Once these are proven, the ledger's journal holds the *outputs* (files of a generation, as
they are when published) and the *steps* that publish them: many moves into a directory, or one commit to a table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Protocol, runtime_checkable

import pyarrow as pa

from airflow_provider_blockread.exchange.model import OutputFile, Target
from airflow_provider_blockread.sinks.names import AttemptName

#: The fields of the connections of catalogs and databases, by connection id; these secrets stay on Airflow's side.
Access = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Earlier:
    """The files that earlier generations published into a sink, as they are there, by the generation's number.

    `shown` is the generation that the ledger knows as published, if any: readers see its files.
    """

    files: Mapping[int, Sequence[OutputFile]] = field(default_factory=dict)
    shown: int | None = None

    @property
    def by_uri(self) -> dict[str, OutputFile]:
        """Each file once, by URI."""
        return {file.uri: file for files in self.files.values() for file in files}


class Change(Enum):
    """The kinds of changes, in the order in which they can happen to a generation."""

    PUBLISH = 0
    TAKE_BACK = 1
    WITHDRAW = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """Identifies one change of a sink; a table stores it with the commit, so that a retry finds out what was applied.

    `number` increases with every publish, replace and undo of the window.
    """

    ledger: str  # its UUID
    feed: str
    window: str
    number: int
    at: datetime  # when this try began; nothing depends on it
    is_recorded: Callable[[str, int], bool]  # by window and number, whether the ledger has recorded a change
    known: int | None = None  # the newest change of the window that was begun, as far as the ledger knows; None: any

    @property
    def change(self) -> Change:
        """The kind of the change."""
        return Change(self.number % len(Change))

    @property
    def noted(self) -> dict[str, str]:
        """What the commit of a table says of the change, for its readers."""
        names = {"ledger": self.ledger, "feed": self.feed, "window": self.window, "change": str(self.number)}
        return {f"blockread.{name}": text for name, text in names.items()}

    @staticmethod
    def number_of(generation: int, change: Change) -> int:
        """Return the number of a change that is made for a generation; a retry has the same number."""
        return len(Change) * generation + change.value

    @staticmethod
    def made(number: int) -> tuple[int, Change]:
        """Return the generation and the kind of a change."""
        generation, change = divmod(number, len(Change))
        return generation, Change(change)

    @staticmethod
    def shown_after(number: int, before: int | None) -> int | None:
        """Return the generation that readers see after a change, or None; `before` is the one they saw before it."""
        generation, change = Marker.made(number)
        return {Change.PUBLISH: generation, Change.TAKE_BACK: before, Change.WITHDRAW: None}[change]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of publishing.

    `kind` says what it changes: `output`, `quarantine`, `log` of a directory, or `commit` for a whole table.

    `add` brings `size` bytes from source to target; `remove` removes the target, and also the source, so that an
    overtaken publisher finds nothing to add. A commit to a table replaces `earlier` with all of `new`; the journal
    keeps both as the outputs of generations.
    """

    kind: str
    action: str  # add | remove
    source: str
    target: str
    size: int = 0
    new: Sequence[OutputFile] = ()
    earlier: Earlier = Earlier()
    index: Step | None = None  # for a file without which nobody can read the target, as an archive has one beside it


class State(Enum):
    """Whether a step was taken; unknown if nothing shows that it was taken, and it can no longer be taken."""

    APPLIED = "applied"
    NOT_APPLIED = "not applied"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """The result of applied steps: a table's new version, and in words how columns were changed for the rows."""

    version: str = ""
    schema_changes: str = ""


class Writer(Protocol):
    """Writes the batches of one task attempt."""

    def write(self, batch: pa.RecordBatch, block: int | None = None) -> None:
        """Write a batch made from the records of block number `block`, or of several blocks if it is None.

        Raises:
            RowError: when the sink cannot hold one of its rows.
            FunctionError: when the batch has a different schema than earlier ones, or values that the sink cannot hold.
            TransientError: when the store fails.
        """

    def close(self) -> list[OutputFile]:
        """Finish, and return the files; an empty list if there were no rows."""

    def abort(self) -> None:
        """Remove all that was written; files that cannot be removed are never listed, and so never published."""


class RecordSink(Protocol):
    """A place where records are published. Every call may be repeated."""

    uri: str  # of the directory or table
    kind: str  # output | quarantine

    def prepare(self, schema: pa.Schema | None, staging: str) -> Target:
        """Create or check the place before anything is read for it, and return where tasks write.

        Args:
            schema: schema of the rows, or None if only the user's function knows it.
            staging: a folder in the work area, for sinks that have no other place for unpublished files.

        Raises:
            OptionsError: when the sink cannot hold such rows.
        """

    def writer(self, target: Target, name: AttemptName, schema: pa.Schema | None) -> Writer:
        """Return a writer for a task attempt; without a schema, the first batch defines it."""

    def placed(self, output: OutputFile) -> OutputFile:
        """Return a file that a task wrote as it is once published.

        Raises:
            ExchangeError: when its name is not one that a writer gives.
        """

    def count(self, output: OutputFile) -> int:
        """Return the number of rows in a file, from the file alone and in bounded memory.

        Several threads call this for files in a store that serves them, as object stores do.

        Raises:
            ProofError: when the file is missing, truncated or of another kind.
        """

    def steps(self, new: Sequence[OutputFile], earlier: Earlier) -> list[Step]:
        """Return the steps that publish new outputs in place of earlier ones; an output may be among both."""

    def state(self, step: Step, marker: Marker) -> State:
        """Return whether a step was taken."""

    def apply(self, steps: Sequence[Step], marker: Marker, still_mine: Callable[[], None]) -> Applied | None:
        """Take steps; return a table's new version, or how a directory's columns were changed, or None for neither.

        Args:
            steps: some of the marker's steps, in order; without any, only make sure that the place exists.
            marker: identifies the change, and is stored with a commit.
            still_mine: raises FencedError if another publisher has taken over; called before anything is changed.

        Raises:
            ProofError: when a step can no longer be taken.
        """

    def undo(self, outputs: Earlier, marker: Marker) -> int:
        """Remove published outputs as far as they are there, and return the number of removed files."""

    def sweep(self, window: str, keep: Collection[str], earlier: Collection[str] = ()) -> list[str]:
        """Remove files of a window that nobody reads, and return their URIs, sorted.

        Args:
            window: the window's id.
            keep: URIs of the published files.
            earlier: URIs of previously published files, which are kept if readers may still use an earlier version.
        """

    def is_empty(self) -> bool:
        """Return whether no feed has published anything here."""


@runtime_checkable
class Refusing(Protocol):
    """A sink that can tell in advance that it will refuse an undo."""

    def check_undo(self, outputs: Earlier, marker: Marker) -> None:
        """Refuse what `undo` would refuse, before anything is changed.

        Raises:
            BlockReadError: with what to do.
        """
