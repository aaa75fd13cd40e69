"""Publishing into a directory: each step can be repeated, and readers only ever see complete files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import TypeVar

import pyarrow as pa

from airflow_provider_blockread.errors import FileMissingError, OptionsError, ProofError
from airflow_provider_blockread.exchange.model import OutputFile, Target
from airflow_provider_blockread.options import Sink
from airflow_provider_blockread.sinks.names import FILE_PREFIX, require_data_file, window_prefix
from airflow_provider_blockread.sinks.protocol import Applied, Earlier, Marker, State, Step
from airflow_provider_blockread.storage import Stores, uris
from airflow_provider_blockread.storage.at_once import answers, remove_all

R = TypeVar("R")


class Directory:
    """The base of sinks that publish files into a folder: all but the writer, and how the rows of a file are counted.

    Args:
        stores: opens output and work area.
        option: tells where the folder is, and how its files' names end.
        kind: `output`, or `quarantine`.
    """

    def __init__(self, stores: Stores, option: Sink, kind: str = "output") -> None:
        self._stores = stores
        self._suffix = option.suffix
        self.uri = uris.canonical(option.uri)
        self.kind = kind

    def prepare(self, schema: pa.Schema | None, staging: str) -> Target:
        """Return the work area, where tasks write; the folder is created when something is published.

        Raises:
            OptionsError: when the folder is that of a table.
        """
        del schema
        self._refuse_table()
        return Target(folder=staging)

    def placed(self, output: OutputFile) -> OutputFile:
        """Return a staged file as it is once it is in the folder."""
        require_data_file(output.uri, self._suffix)
        name = self._folder_of(output) + uris.name_of(output.uri)
        return replace(output, uri=uris.child(self.uri, name), source=output.uri)

    def steps(self, new: Sequence[OutputFile], earlier: Earlier) -> list[Step]:
        """Return a move for each new file, then a removal for each earlier file that is not among them."""
        adds = [Step(kind=self.kind, action="add", source=o.source, target=o.uri, size=o.size) for o in new]
        return adds + self._removals(earlier, {output.uri for output in new})

    def state(self, step: Step, marker: Marker) -> State:
        """Return the state of a step, by looking where its file is."""
        del marker
        if step.action == "remove":
            return State.NOT_APPLIED if self._stores.exists(step.target) else State.APPLIED
        if self._stores.size(step.target) == step.size:
            return State.APPLIED
        return State.NOT_APPLIED if self._stores.size(step.source) == step.size else State.UNKNOWN

    def apply(self, steps: Sequence[Step], marker: Marker, still_mine: Callable[[], None]) -> Applied | None:
        """Take the steps in order, several at once on an object store; without any, only create the folder."""
        del marker
        still_mine()
        if not steps:
            self._stores.makedirs(self.uri)
        for action, some in groupby(steps, key=attrgetter("action")):
            self._each(some, self._add if action == "add" else self._remove)
        return None

    def undo(self, outputs: Earlier, marker: Marker) -> int:
        """Remove the files, several at once on an object store, and return how many there were."""
        steps = self._removals(outputs)
        there = self._each(steps, lambda step: self.state(step, marker)).count(State.NOT_APPLIED)
        self._each(steps, self._remove)
        return there

    def sweep(self, window: str, keep: Collection[str], earlier: Collection[str] = ()) -> list[str]:
        """Remove what dead publishers of the window have left here, even half copied files; return the URIs."""
        prefix = window_prefix(window)
        folders = {self.uri, *map(uris.parent, (*keep, *earlier))}  # of partitions, those that the journal names
        starts = [(folder, start) for folder in sorted(folders) for start in (prefix, f".{prefix}")]
        found = [uri for folder, start in starts for uri, _ in self._stores.list_names(folder, start)]
        stray = sorted(set(found).difference(keep))
        remove_all(self._stores, stray)
        return stray

    def is_empty(self) -> bool:
        """Return whether the folder has no data file, in a partition or not."""
        return self._first_file() is None

    def refuse_others(self) -> None:
        """Refuse a folder for a new window if its readers would also get foreign rows, or could not read both.

        Raises:
            OptionsError: naming a file that is there.
        """
        if (found := self._first_file()) is not None:
            *folders, name = (uris.relative_to(found, self.uri) or "").split("/")
            parts = [folder.partition("=")[0] for folder in folders]
            if parts != self._partitions or not any(ending in name for ending in self._endings):
                msg = (
                    f"{self.uri} holds {'/'.join([*folders, name])}, of another format or other partitions than this"
                    " sink writes; choose another folder, or the options by which that was written"
                )
                raise OptionsError(msg)
            return
        names = (uris.name_of(uri) for uri, _ in self._stores.list_names(self.uri))
        other = next(
            (name for name in names if self._suffix and name.endswith(self._suffix) and name[0] not in "._"), ""
        )
        if other:
            msg = (
                f"{self.uri} holds {other}, which no feed has published: readers would find its rows among these;"
                " choose a folder for this output alone"
            )
            raise OptionsError(msg)

    @property
    def _partitions(self) -> list[str]:
        """The names of the partitions whose folders hold the files."""
        return []

    @property
    def _endings(self) -> tuple[str, ...]:
        """How names may continue after the part that a group gives; they are the same for all compressions."""
        return (f".{self._suffix.removeprefix('.').partition('.')[0]}",) if self._suffix else ("",)

    def _first_file(self) -> str | None:
        """Return the URI of a data file in the folder, in a partition or not, or None if there is none."""
        folders = [self.uri]
        while folders:
            folder = folders.pop()
            if found := next(self._stores.list_names(folder, FILE_PREFIX), None):
                return found[0]
            folders += [found for found in self._stores.list_folders(folder) if "=" in uris.name_of(found)]
        return None

    def _refuse_table(self) -> None:
        """Refuse the folder of a table: its readers use its log, and its upkeep deletes files that the log lacks."""
        metadata = (uri for uri, _ in self._stores.list_names(uris.child(self.uri, "metadata")))
        found = {
            "a Delta table": self._stores.exists(uris.child(self.uri, "_delta_log")),
            "an output of Spark's streaming": self._stores.exists(uris.child(self.uri, "_spark_metadata")),
            "an Iceberg table": any(uri.endswith(".metadata.json") for uri in metadata),
        }
        if table := next((name for name, is_there in found.items() if is_there), None):
            msg = (
                f"{self.uri} is {table}, whose readers would not see these files, and whose upkeep may delete them;"
                " choose another folder, or the sink for such a table"
            )
            raise OptionsError(msg)

    def _folder_of(self, output: OutputFile) -> str:
        """Return the folder of a file below the output, with a trailing slash, or an empty string for none."""
        del output
        return ""

    def _each(self, steps: Iterable[Step], take: Callable[[Step], R]) -> list[R]:
        """Return what each step gives when it is taken."""
        return list(answers(self._stores, steps, take, attrgetter("target")))

    def _removals(self, earlier: Earlier, kept: Collection[str] = ()) -> list[Step]:
        gone = [output for uri, output in earlier.by_uri.items() if uri not in kept]
        return [Step(kind=self.kind, action="remove", source=o.source, target=o.uri) for o in gone]

    def _add(self, step: Step) -> None:
        self._make_partition(uris.parent(step.target))
        with self._explained(step.source, step.target, step.size):
            self._stores.move(step.source, step.target, size=step.size)

    @contextmanager
    def _explained(self, source: str, target: str, size: int) -> Iterator[None]:
        """Turn the error of a missing file in the body into one that says what is lost with it."""
        try:
            yield
        except FileMissingError as error:
            if self._stores.size(source) == size:
                msg = (
                    f"the output folder {self.uri} was removed while a window was published into it, with what"
                    " was there; clear the run from its plan on, and the window is read and published again"
                )
            else:
                msg = f"{source} is gone and {target} is not published; clear the run from its plan on"
            raise ProofError(msg) from error

    def _make_partition(self, folder: str) -> None:
        """Create the folder of a partition, but not the output folder if it was removed meanwhile."""
        if folder != self.uri and self._stores.exists(self.uri):
            self._stores.makedirs(folder)

    def _remove(self, step: Step) -> None:
        if step.source:  # first, so that an overtaken publisher that wakes up finds nothing to move
            self._stores.remove(step.source)
        self._stores.remove(step.target)
