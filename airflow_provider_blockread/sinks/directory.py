"""Publishing into a directory: each step can be repeated, and readers only ever meet whole files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa

from airflow_provider_blockread.errors import ExchangeError, FileMissingError, ProofError
from airflow_provider_blockread.exchange.model import OutputFile, Target
from airflow_provider_blockread.options import Sink
from airflow_provider_blockread.sinks.names import FILE_PREFIX, is_data_file, window_prefix
from airflow_provider_blockread.sinks.protocol import Applied, Earlier, Marker, State, Step
from airflow_provider_blockread.storage import Stores, uris


class Directory:
    """All of a sink that publishes files into a folder, but its writer and how it counts the rows of a file.

    Args:
        stores: opens output and work area.
        option: where the folder is, and how its files' names end.
        kind: `output`, or `quarantine`.
    """

    in_place = False

    def __init__(self, stores: Stores, option: Sink, kind: str = "output") -> None:
        self._stores = stores
        self._suffix = option.suffix
        self.uri = uris.canonical(option.uri)
        self.kind = kind

    def prepare(self, schema: pa.Schema | None, staging: str) -> Target:
        """Return the work area, where tasks write; the folder is made when something is published."""
        del schema
        return Target(folder=staging)

    def placed(self, output: OutputFile) -> OutputFile:
        """Return a staged file as it is in the folder."""
        name = uris.name_of(output.uri)
        if not is_data_file(name, self._suffix):
            msg = (
                f"{output.uri} is not a data file of a group, so it will not be published; clear the group that lists"
                " it"
            )
            raise ExchangeError(msg)
        return replace(output, uri=uris.child(self.uri, self._folder_of(output) + name), source=output.uri)

    def steps(self, new: Sequence[OutputFile], earlier: Earlier) -> list[Step]:
        """Return a move for each new file, and then a removal for each earlier one that is not among them."""
        adds = [Step(kind=self.kind, action="add", source=o.source, target=o.uri, size=o.size) for o in new]
        return adds + self._removals(earlier, {output.uri for output in new})

    def state(self, step: Step, marker: Marker) -> State:
        """Look where the file is."""
        del marker
        if step.action == "remove":
            return State.NOT_APPLIED if self._stores.exists(step.target) else State.APPLIED
        if self._is_whole(step.target, step.size):
            return State.APPLIED
        return State.NOT_APPLIED if self._is_whole(step.source, step.size) else State.UNKNOWN

    def apply(self, steps: Sequence[Step], marker: Marker, still_mine: Callable[[], None]) -> Applied | None:
        """Take the steps one after another; without any, make the folder."""
        del marker
        still_mine()
        if not steps:
            self._stores.makedirs(self.uri)
        for step in steps:
            if step.action == "add":
                self._add(step)
            else:
                self._remove(step)
        return None

    def undo(self, outputs: Earlier, marker: Marker) -> int:
        """Remove the files one after another."""
        steps = self._removals(outputs)
        there = sum(self.state(step, marker) is State.NOT_APPLIED for step in steps)
        for step in steps:
            self._remove(step)
        return there

    def sweep(self, window: str, keep: Collection[str], earlier: Collection[str] = ()) -> list[str]:
        """Remove what dead publishers of the window have left here, half copied files included."""
        prefix = window_prefix(window)
        folders = {self.uri, *map(uris.parent, (*keep, *earlier))}  # of partitions, those that the journal names
        starts = [(folder, start) for folder in sorted(folders) for start in (prefix, f".{prefix}")]
        found = [uri for folder, start in starts for uri, _ in self._stores.list_names(folder, start)]
        stray = sorted(set(found).difference(keep))
        for uri in stray:
            self._stores.remove(uri)
        return stray

    def is_empty(self) -> bool:
        """Return whether no data file is here, in a partition or not."""
        folders = [self.uri]
        while folders:
            folder = folders.pop()
            if next(self._stores.list_names(folder, FILE_PREFIX), None) is not None:
                return False
            folders += [found for found in self._stores.list_folders(folder) if "=" in uris.name_of(found)]
        return True

    def _folder_of(self, output: OutputFile) -> str:
        """Return the folder of a file below the output, with a slash at its end; empty for none."""
        del output
        return ""

    def _removals(self, earlier: Earlier, kept: Collection[str] = ()) -> list[Step]:
        gone = [output for uri, output in earlier.by_uri.items() if uri not in kept]
        return [Step(kind=self.kind, action="remove", source=o.source, target=o.uri) for o in gone]

    def _add(self, step: Step) -> None:
        self._make_partition(uris.parent(step.target))
        with self._explained(step.source, step.target, step.size):
            self._stores.move(step.source, step.target, size=step.size)

    @contextmanager
    def _explained(self, source: str, target: str, size: int) -> Iterator[None]:
        """Say of a file that is missing in the body what is lost with it."""
        try:
            yield
        except FileMissingError as error:
            if self._is_whole(source, size):
                msg = (
                    f"the output folder {self.uri} was removed while a window was published into it, with what"
                    " was there; clear the run from its plan on, and the window is read and published again"
                )
            else:
                msg = f"{source} is gone and {target} is not published; clear the run from its plan on"
            raise ProofError(msg) from error

    def _make_partition(self, folder: str) -> None:
        """Make the folder of a partition; an output that was removed meanwhile is not made again."""
        if folder != self.uri and self._stores.exists(self.uri):
            self._stores.makedirs(folder)

    def _remove(self, step: Step) -> None:
        if step.source:  # first, so that a publisher that was overtaken and wakes up finds nothing to move
            self._stores.remove(step.source)
        self._stores.remove(step.target)

    def _is_whole(self, uri: str, size: int) -> bool:
        try:
            return self._stores.stat(uri).size == size
        except FileMissingError:
            return False
