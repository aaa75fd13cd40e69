"""What a sink is: a writer for tasks, and for Airflow's side what it takes to prove, publish, find out and undo.

Tasks write files by name. Once they are proven, the ledger's journal holds the *outputs* (files of a generation, as
they are when published) and the *steps* that publish them: many moves into a directory, or one commit to a table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Protocol

import pyarrow as pa

from airflow_provider_blockread.exchange.model import OutputFile, Target
from airflow_provider_blockread.sinks.names import AttemptName

#: What the connections of catalogs and databases hold, by their ids; secrets, which stay on Airflow's side.
Access = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Earlier:
    """What generations published into a sink, by their numbers: the files as they are there.

    `shown` is the one that the ledger knows as published, if any: readers see its files.
    """

    files: Mapping[int, Sequence[OutputFile]] = field(default_factory=dict)
    shown: int | None = None

    @property
    def by_uri(self) -> dict[str, OutputFile]:
        """Each file once, by its URI."""
        return {file.uri: file for files in self.files.values() for file in files}


class Change(Enum):
    """What is done for a generation, in the order in which it can happen to one."""

    PUBLISH = 0
    TAKE_BACK = 1
    WITHDRAW = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """Which change of a sink this is; a table keeps it with the commit, so that a retry finds out what was applied.

    `number` rises with every publish, replace and undo of the window.
    """

    ledger: str  # its UUID
    feed: str
    window: str
    number: int
    at: datetime  # when this try began; nothing depends on it
    is_recorded: Callable[[str, int], bool]  # whether the ledger has recorded a change, by window and number

    @property
    def change(self) -> Change:
        """What is done."""
        return Change(self.number % len(Change))

    @property
    def noted(self) -> dict[str, str]:
        """What the commit of a table says of the change, for its readers."""
        names = {"ledger": self.ledger, "feed": self.feed, "window": self.window, "change": str(self.number)}
        return {f"blockread.{name}": text for name, text in names.items()}

    @staticmethod
    def number_of(generation: int, change: Change) -> int:
        """Return the number of a change that is made for a generation: a retry has the same one."""
        return len(Change) * generation + change.value

    @staticmethod
    def published(number: int) -> int | None:
        """Return the generation that a change published; None if it took something away."""
        generation, change = divmod(number, len(Change))
        return generation if change == Change.PUBLISH.value else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of publishing.

    `kind` says what it changes: `output`, `quarantine`, `log` of a directory, or `commit` for a whole table.

    `add` brings `size` bytes from source to target; `remove` removes the target, and the source too, so that an
    overtaken publisher finds nothing to add. A commit to a table brings all of `new` in the place of `earlier`; the
    journal keeps these as the outputs of generations.
    """

    kind: str
    action: str  # add | remove
    source: str
    target: str
    size: int = 0
    new: Sequence[OutputFile] = ()
    earlier: Earlier = Earlier()


class State(Enum):
    """Whether a step was taken; where nothing says so and it cannot be taken any more either, that is unknown."""

    APPLIED = "applied"
    NOT_APPLIED = "not applied"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What steps have made of a sink: a table's version, and in words how the columns were changed for the rows."""

    version: str = ""
    schema_changes: str = ""


class Writer(Protocol):
    """Takes the batches of one task attempt."""

    def write(self, batch: pa.RecordBatch, block: int | None = None) -> None:
        """Take a batch that was made from records of a block, given by its number; None where they are of several.

        Raises:
            RowError: when the sink cannot hold one of its rows.
            FunctionError: when the batch has another schema than those before, or values that the sink cannot hold.
            TransientError: when the store fails.
        """

    def close(self) -> list[OutputFile]:
        """Finish and return the files; none when there were no rows."""

    def abort(self) -> None:
        """Remove all that was written; what cannot be removed is never listed, so never published."""


class RecordSink(Protocol):
    """A place that records are published into. Every call may be repeated."""

    uri: str  # of the directory or table
    kind: str  # output | quarantine
    in_place: bool  # tasks write where readers look, in files that no commit names yet

    def prepare(self, schema: pa.Schema | None, staging: str) -> Target:
        """Create or check the place before anything is read for it, and return where tasks write.

        Args:
            schema: of the rows; None where only the user's function knows it.
            staging: a folder in the work area for sinks that have none of their own for unpublished files.

        Raises:
            OptionsError: when it cannot hold such rows.
        """

    def writer(self, target: Target, name: AttemptName, schema: pa.Schema | None) -> Writer:
        """Return a writer for a task attempt; without a schema the first batch decides."""

    def placed(self, output: OutputFile) -> OutputFile:
        """Return a file that a task wrote as it is once published.

        Raises:
            ExchangeError: when it has not a name that a writer gives.
        """

    def count(self, output: OutputFile) -> int:
        """Return the number of rows in a file, from the file alone and in bounded memory.

        Raises:
            ProofError: when the file is missing, truncated or of another kind.
        """

    def steps(self, new: Sequence[OutputFile], earlier: Earlier) -> list[Step]:
        """Return the steps that publish new outputs in the place of earlier ones; an output may be among both."""

    def state(self, step: Step, marker: Marker) -> State:
        """Find out whether a step was taken."""

    def apply(self, steps: Sequence[Step], marker: Marker, still_mine: Callable[[], None]) -> Applied | None:
        """Take steps and return what a table is then, or how the columns of a directory were changed; None if not.

        Args:
            steps: some of those of this marker, in order; without any, only make sure that the place exists.
            marker: kept with a commit.
            still_mine: raises FencedError when another publisher has taken over; asked before anything is changed.

        Raises:
            ProofError: when a step cannot be taken any more.
        """

    def undo(self, outputs: Earlier, marker: Marker) -> int:
        """Take published outputs away, those that are there, and return how many files that were."""

    def sweep(self, window: str, keep: Collection[str], earlier: Collection[str] = ()) -> list[str]:
        """Remove files of a window that nobody reads, and return their URIs in order.

        Args:
            window: its id.
            keep: URIs of files that are published.
            earlier: URIs of those that were published; they stay where readers may still use an earlier version.
        """

    def is_empty(self) -> bool:
        """Tell whether no feed has published anything here."""
