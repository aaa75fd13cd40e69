"""Publishing into a table of files: tasks write into its own location, and one commit adds exactly the proven files.

The commit carries the marker of its change. It is based on a state of the table in which the marker was looked for and
every file to be replaced was found. If the table has changed since, the commit fails, and all of this is repeated.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial

import pyarrow as pa

from airflow_provider_blockread.errors import BlockReadError, OptionsError, ProofError, TransientError, WrongLedgerError
from airflow_provider_blockread.exchange.model import OutputFile, Target
from airflow_provider_blockread.options import ColumnarSink
from airflow_provider_blockread.options.parsing.sizes import first_of
from airflow_provider_blockread.sinks.columnar.arranged import misarranged
from airflow_provider_blockread.sinks.matching import known_names, matched, matched_writer, unmatched
from airflow_provider_blockread.sinks.names import AttemptName, require_data_file, window_prefix
from airflow_provider_blockread.sinks.parquet import parquet_writer, read_footer
from airflow_provider_blockread.sinks.partitions import check_partitions
from airflow_provider_blockread.sinks.protocol import Applied, Change, Earlier, Marker, State, Step, Writer
from airflow_provider_blockread.sinks.statistics import misfit
from airflow_provider_blockread.sinks.tables.files import misplaced_nulls, require_files
from airflow_provider_blockread.sinks.tables.format import (
    WINDOW,
    Deletion,
    Files,
    Snapshot,
    TableChangedError,
    TableFormat,
)
from airflow_provider_blockread.storage import Stores, uris
from airflow_provider_blockread.storage.at_once import remove_all

_TRIES = 60
_LONGEST_S = 2.0  # between two of them
_SHOWN = 3  # files that a message lists


class Table:
    """A sink for a table of files; the library of the table format is needed only on Airflow's side.

    Args:
        stores: opens the table's location.
        option: tells how its files are written.
        make: loads the format's library, and returns the format.
    """

    kind = "output"
    own_columns: tuple[str, ...] = ()  # names of columns that the commit fills
    _misfit = staticmethod(misfit)

    def __init__(self, stores: Stores, option: ColumnarSink, make: Callable[[], TableFormat]) -> None:
        self._stores, self._option, self._make = stores, option, make
        self.uri = option.place

    @cached_property
    def _format(self) -> TableFormat:
        return self._make()

    def prepare(self, schema: pa.Schema | None, staging: str) -> Target:
        """Return where tasks write, after a check that the table can hold such rows; no table is created."""
        snapshot = self._format.load()
        if snapshot is None:
            self._format.check_creation()
        there = () if snapshot is None else snapshot.columns
        columns = known_names(self._option, self.uri, there, self.own_columns)
        rows = None
        if schema is not None:
            rows = matched(schema, columns)
            if problem := unmatched(schema, self._option) or self._misfit(rows) or misarranged(rows, self._option):
                msg = f"{self.uri}: {problem}"
                raise OptionsError(msg)
        if snapshot is not None and (problem := snapshot.refuse(rows)):
            raise OptionsError(problem)
        ids = (self._format if snapshot is None else snapshot).field_ids
        return Target(folder=self._format.location() or staging, columns=columns, field_ids=ids)

    def writer(self, target: Target, name: AttemptName, schema: pa.Schema | None) -> Writer:
        """Return a writer that starts the next file at `file_bytes`, and reports column statistics."""
        named = partial(name.uri, target.folder, suffix=self._option.suffix)
        make = partial(self._writer, named, target)
        return matched_writer(self._option, target.columns, make, schema)

    def _writer(self, name: Callable[[int], str], target: Target, schema: pa.Schema | None) -> Writer:
        return parquet_writer(self._stores, self._option, name, schema, target)

    def placed(self, output: OutputFile) -> OutputFile:
        """Return the file unchanged: it stays where its task wrote it."""
        require_data_file(output.uri, self._option.suffix)
        return replace(output, source=output.uri)

    def count(self, output: OutputFile) -> int:
        """Return the number of rows according to the file's footer; only the footer is read."""
        return int(read_footer(self._stores, output).num_rows)

    def steps(self, new: Sequence[OutputFile], earlier: Earlier) -> list[Step]:
        """Return one step for all files, or no step if nothing was or is published."""
        if not new and not earlier.by_uri:
            return []
        check_partitions(new, self._option, self.uri)
        action, size = ("add" if new else "remove"), sum(file.size for file in new)
        return [Step(kind="commit", action=action, source="", target=self.uri, size=size, new=new, earlier=earlier)]

    def state(self, step: Step, marker: Marker) -> State:
        """Return the state of a step, by looking for the marker in the table, and for the files to add."""
        snapshot, at = self._load(marker)
        if snapshot is not None and at is not None and _is_past(snapshot, step, marker, at):
            return State.APPLIED if at == marker.number or step.action == "remove" else State.UNKNOWN
        try:
            live = set() if snapshot is None else snapshot.live({file.uri for file in step.new})
            require_files(self._stores, self.uri, [file for file in step.new if file.uri not in live])
        except BlockReadError as error:
            if isinstance(error, TransientError):
                raise
            return State.UNKNOWN
        return State.NOT_APPLIED

    def apply(self, steps: Sequence[Step], marker: Marker, still_mine: Callable[[], None]) -> Applied | None:
        """Make the commit of a step, unless the table has it already; without a step, create the location."""
        if not steps:
            still_mine()
            if folder := self._format.location():
                self._stores.makedirs(folder)
            return None
        (step,) = steps
        for number in self._tries():
            snapshot, at = self._load(marker)
            if number == 0:  # a later try may find the commit of an earlier one
                self._refuse_forgotten(marker, at, still_mine)
            if snapshot is not None and at is not None and _is_past(snapshot, step, marker, at):
                still_mine()
                if at > marker.number:
                    msg = (
                        f"{self.uri}: window {marker.window} is gone from the table, or a later change of it is there"
                        f" ({at}, this is {marker.number}); clear the run from its plan on"
                    )
                    raise ProofError(msg)
                return Applied(version=snapshot.version, schema_changes=snapshot.schema_changes(marker))
            files = self._changes(snapshot, step.new, step.earlier, marker, at)
            still_mine()
            if snapshot is None and not files.add:  # a dropped table has nothing to replace
                return Applied(version="")
            with suppress(TableChangedError):
                return self._commit(snapshot, files, marker)
        raise self._busy()

    def undo(self, outputs: Earlier, marker: Marker) -> int:
        """Remove files from the table in one commit, whose marker keeps late publishers out; return their number."""
        for number in self._tries():
            snapshot, at = self._load(marker)
            if number == 0:
                self._refuse_forgotten(marker, at)
            if snapshot is None or (at is not None and at >= marker.number):
                return 0
            files = self._changes(snapshot, (), outputs, marker, at)
            with suppress(TableChangedError):
                self._commit(snapshot, files, marker)
                return len(outputs.by_uri if files.delete else files.remove)
        raise self._busy()

    def check_undo(self, outputs: Earlier, marker: Marker) -> None:
        """Refuse what `undo` would refuse, as far as the table shows it before anything is changed."""
        snapshot, at = self._load(marker)
        self._refuse_forgotten(marker, at)
        if snapshot is not None and (at is None or at < marker.number):
            snapshot.check(self._changes(snapshot, (), outputs, marker, at))

    def sweep(self, window: str, keep: Collection[str], earlier: Collection[str] = ()) -> list[str]:
        """Remove files of attempts at the window that no commit ever named, and return their URIs.

        Replaced files stay for readers of an earlier version, until the table's owner expires it.
        """
        named = {*keep, *earlier}
        found = [uri for uri, _ in self._stores.list_names(str(self._format.location()), window_prefix(window))]
        stray = sorted(uri for uri in found if uri not in named)
        if stray and (snapshot := self._format.load()) is not None and (live := sorted(snapshot.live(stray))):
            what = f"{self.uri} consists of {first_of(map(uris.name_of, live), _SHOWN)}"
            raise _forgotten(what, window)
        remove_all(self._stores, stray)
        return stray

    def is_empty(self) -> bool:
        """Return whether the table does not exist, or no feed has published into it."""
        snapshot = self._format.load()
        return snapshot is None or not snapshot.is_ours()

    def _load(self, marker: Marker) -> tuple[Snapshot | None, int | None]:
        """Return the table, and the number of the newest change of the marker's window in it."""
        snapshot = self._format.load()
        return snapshot, None if snapshot is None else snapshot.marker(marker)

    def _refuse_forgotten(self, marker: Marker, at: int | None, still_mine: Callable[[], None] = lambda: None) -> None:
        """Refuse a change to a table that shows a publication of the window of which the ledger knows nothing."""
        if at is None or marker.known is None or at <= marker.known:
            return
        generation, change = Marker.made(at)
        if change is Change.PUBLISH:
            still_mine()  # another publisher may have made it meanwhile
            what = f"{self.uri} holds generation {generation}"
            raise _forgotten(what, marker.window)

    def _commit(self, snapshot: Snapshot | None, files: Files, marker: Marker) -> Applied:
        return self._format.create(files, marker) if snapshot is None else snapshot.commit(files, marker)

    def _changes(
        self, snapshot: Snapshot | None, new: Sequence[OutputFile], earlier: Earlier, marker: Marker, at: int | None
    ) -> Files:
        """Return the changes to commit, or refuse if another writer has changed the window's files."""
        wanted = {file.uri for file in new}
        known = earlier.by_uri
        is_first = at is None and not known  # of the window here: the table cannot hold any of its files
        live = set() if snapshot is None or is_first else snapshot.live({*wanted, *known})
        shown = earlier.shown if at is None else Marker.shown_after(at, earlier.shown)
        published = {file.uri for file in earlier.files.get(shown, ())} if shown is not None else set[str]()
        if snapshot is not None:
            needed = published | (wanted & known.keys())  # carried over files must not be added twice
            if gone := sorted(needed - live):
                rows = sum(known[uri].rows for uri in published | (live & known.keys()))
                self._require_deletion(snapshot, gone)
                require_files(self._stores, self.uri, new)
                deletion = Deletion(window=marker.window, rows=rows)
                return Files(add=new, remove=(), schema=self._schema(new, snapshot), delete=deletion)
        add = [file for file in new if file.uri not in live]
        require_files(self._stores, self.uri, add)
        schema = self._schema(add, snapshot)
        return Files(add=add, remove=[known[uri] for uri in sorted(live - wanted)], schema=schema)

    def _schema(self, add: Sequence[OutputFile], snapshot: Snapshot | None) -> pa.Schema | None:
        """Return the schema of new files, after a check that the table accepts them."""
        schema = read_footer(self._stores, add[0]).schema.to_arrow_schema() if add else None
        if schema is None or snapshot is None:
            return schema
        if problem := snapshot.refuse(schema):
            raise ProofError(problem)
        if problem := misplaced_nulls(self._stores, add, snapshot.needed):
            msg = f"{self.uri}: {problem}, which may not be null; leave such rows out, or change the table's column"
            raise ProofError(msg)
        return schema

    def _require_deletion(self, snapshot: Snapshot, gone: list[str]) -> None:
        """Refuse a change of files that are gone, unless their rows can and may be deleted instead."""
        if self._option.deletes_rows and WINDOW in snapshot.columns:
            return
        offer = (
            f", or set on_rewritten='delete_rows' with audit=['{WINDOW}'] and clear the run, which deletes them by that"
            " column"
            if WINDOW in snapshot.columns
            else f"; it has no column {WINDOW}, by which they could be deleted: audit=['{WINDOW}'] gives new tables"
            " one; if the whole table was emptied, read all files again under another feed name"
        )
        names = first_of(map(uris.name_of, gone), _SHOWN)
        msg = (
            f"{self.uri} no longer consists of {names}, which this window published: another writer has rewritten its"
            " rows (by a compaction, DELETE or restore), so they cannot be replaced by file; restore a version of the"
            f" table that has these files, then retry{offer}"
        )
        raise ProofError(msg)

    def _busy(self) -> TransientError:
        msg = f"{self.uri}: other writers have committed {_TRIES} times meanwhile; retry when they are done"
        return TransientError(msg)

    def _tries(self) -> Iterator[int]:
        """Yield the numbers of the tries, with growing pauses between them."""
        for number in range(_TRIES):
            if number:
                time.sleep(random.uniform(0, min(_LONGEST_S, 0.01 * 2**number)))  # noqa: S311 - spreads writers
            yield number


def _forgotten(what: str, window: str) -> WrongLedgerError:
    msg = (
        f"{what} of window {window}, which the ledger has never published, so it was restored from a backup: restore a"
        " newer one; or remove the rows of the feed from the table, and read its files again under another feed name"
    )
    return WrongLedgerError(msg)


def _is_past(snapshot: Snapshot, step: Step, marker: Marker, at: int) -> bool:
    """Return whether a table whose newest change has number `at` has made the change of a step, or a later one.

    The number of a removal may also be that of a publication under another name of the table: then the files to remove
    are still there.
    """
    return at > marker.number or (at == marker.number and (bool(step.new) or not snapshot.live({*step.earlier.by_uri})))
