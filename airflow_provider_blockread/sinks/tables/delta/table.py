"""A Delta Lake table, through deltalake, which needs no JVM.

The marker is a transaction in the table's own log: application `blockread/<ledger>/<feed>/<window>`, whose version is
the number of the change. Since it has no timestamp, it never expires, whatever the table's retention.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

from airflow_provider_blockread.errors import OptionsError, ProofError, TransientError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.options import DeltaSink
from airflow_provider_blockread.sinks.evolution import Comparison
from airflow_provider_blockread.sinks.names import FILE_PREFIX
from airflow_provider_blockread.sinks.protocol import Access, Applied, Marker
from airflow_provider_blockread.sinks.tables.delta.places import folder_of, named_in
from airflow_provider_blockread.sinks.tables.delta.rows import RowDeletion, with_vectors
from airflow_provider_blockread.sinks.tables.delta.rules import (
    check_properties,
    first_line,
    fits,
    schema_of,
    type_of,
    unfollowed_rule,
)
from airflow_provider_blockread.sinks.tables.delta.transactions import (
    application,
    commit_properties,
    schema_application,
)
from airflow_provider_blockread.sinks.tables.format import Files, TableChangedError
from airflow_provider_blockread.storage import Stores, uris
from airflow_provider_blockread.storage.backends.registry import table_options

_ADDED = "blockread.schema"  # key of the columns that a commit has added
_CHANGE = "blockread.change"
_RECENT = 100  # versions in which a recent commit is looked for
#: How the library's texts of an object store's errors begin: only the text distinguishes them.
_DENIED = ("lacked the necessary privileges", "lacked valid authentication credentials", "Permission denied")
_UNREADABLE = ("Kernel error: Unsupported", "catalog-managed")  # in those about versions and features
_UNLOCKED = "Transaction failed"  # how those of a lock begin, such as a DynamoDB table that did not answer


class DeltaLake:
    """The table at a place.

    Args:
        stores: has the credentials for the place.
        option: tells where the table is, and the properties of a table that is created.
    """

    field_ids = None

    def __init__(self, stores: Stores, option: DeltaSink, access: Access) -> None:
        del access  # a Delta table has no catalog
        self.uri = folder_of(option.uri)
        self.stores, self.option = stores, option
        self._root = uris.local_path(self.uri) or self.uri
        self._options = table_options(self.uri, stores.options_of(self.uri))

    def location(self) -> str:
        """Return the folder of the table, which directly contains its files."""
        return self.uri

    def load(self) -> _State | None:
        """Return the newest state, or None if the table does not exist."""
        with self.explained():
            try:
                return _State(self, DeltaTable(self._root, storage_options=self._options))
            except TableNotFoundError:
                return None

    def check_creation(self) -> None:
        """Refuse properties that the library does not give a new table."""
        check_properties(self.uri, self.option.properties)

    def create(self, files: Files, marker: Marker) -> Applied:
        """Create the table, with nullable columns only."""
        with self.explained():
            try:
                create_table_with_add_actions(
                    self._root,
                    schema_of(files.schema),
                    [self.added(file, marker) for file in files.add],
                    mode="error",
                    partition_by=list(self.option.partition_by),
                    configuration=dict(self.option.properties),
                    storage_options=self._options,
                    commit_properties=commit_properties(marker),
                )
            except DeltaError as error:
                if self.load() is None:
                    raise
                raise TableChangedError from error
        return Applied(version="0")

    def added(self, file: OutputFile, marker: Marker) -> AddAction:
        """Return the action that adds a file."""
        bounds = file.statistics
        kept = {
            "numRecords": file.rows,
            "minValues": bounds.get("min", {}),
            "maxValues": bounds.get("max", {}),
            "nullCount": bounds.get("nulls", {}),
        }
        path, values = self.path_of(file.uri), dict(file.partition)
        return AddAction(path, file.size, values, _ms(marker), data_change=True, stats=json.dumps(kept))

    def removed(self, file: OutputFile, marker: Marker) -> RemoveAction:
        """Return the action that removes a file, with what readers of the change feed need to know of it."""
        return RemoveAction(self.path_of(file.uri), True, _ms(marker), file.size, dict(file.partition))  # noqa: FBT003 - takes no names

    def path_of(self, uri: str) -> str:
        """Return a file's path as the log spells it."""
        return uris.relative_to(uri, self.uri) or uri

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Translate errors that the library raises in the body."""
        try:
            yield
        except (DeltaError, OSError) as error:
            why = first_line(error)
            if isinstance(error, PermissionError) or any(text in why for text in _DENIED):
                msg = (
                    f"{self.uri}: access to the Delta table is denied ({why}); correct its connection, or the rights of"
                    " its account, then clear the task"
                )
                raise OptionsError(msg) from error
            if any(text in why for text in _UNREADABLE):
                msg = f"{self.uri}: deltalake cannot read this table ({why}); choose another table"
                raise OptionsError(msg) from error
            msg = f"{self.uri}: the Delta table cannot be read or written ({why}); retry when it can be"
            raise TransientError(msg) from error


class _State:
    """One version of the table."""

    field_ids = None

    def __init__(self, lake: DeltaLake, table: DeltaTable) -> None:
        self._lake, self._table = lake, table
        self.version = str(table.version())
        self.columns = tuple(field.name for field in table.schema().fields)
        self.needed = tuple(field.name for field in table.schema().fields if not field.nullable)

    def marker(self, marker: Marker) -> int | None:
        """Return the version of the window's transaction."""
        return self._table.transaction_version(application(marker))

    def live(self, files: Collection[str]) -> set[str]:
        """Return which files this version consists of."""
        names = set(map(uris.name_of, files))  # most files are others', which the name alone rules out
        here = [uri for uri in self._table.file_uris() if uri.rpartition("/")[2] in names] if files else []
        found = {named_in(self._lake.uri, self._table, uri) for uri in here}.intersection(files)
        return found and found - with_vectors(self._table, self._lake.uri)

    def is_ours(self) -> bool:
        """Return whether a feed has published any file of this version, judging by its name."""
        return any(path.rpartition("/")[2].startswith(FILE_PREFIX) for path in self._table.file_uris())

    def refuse(self, schema: pa.Schema | None) -> str:
        """Return in words which demand of the table these rows do not meet, or an empty string."""
        name = self._lake.uri
        if rule := unfollowed_rule(self._table, name):
            return rule
        partitions = self._table.metadata().partition_columns
        if partitions != list(self._lake.option.partition_by):
            return f"{name} is partitioned by {', '.join(partitions) or 'nothing'}; give partition_by the same columns"
        return self._compared().refuse(schema)

    def schema_changes(self, marker: Marker) -> str:
        """Return the columns that were added for this change according to the table's log, even by tries that died."""
        added = self._table.transaction_version(schema_application(marker))
        return "" if added is None else ", ".join(self._notes(marker))

    def _compared(self) -> Comparison[str]:
        fields = {field.name: field for field in self._table.schema().fields}
        return Comparison(
            table=self._lake.uri,
            columns={name: type_of(field) for name, field in fields.items()},
            needed=self.needed,
            evolves=self._lake.option.evolves,
            fits=lambda field, _: fits(field, fields[field.name]),
        )

    def check(self, files: Files) -> None:
        """Refuse to remove anything from a table to which rows may only be added."""
        if (files.remove or files.delete) and self._table.metadata().configuration.get("delta.appendOnly") == "true":
            msg = (
                f"{self._lake.uri} is append-only, so nothing that was published can be replaced or undone; set its"
                " property delta.appendOnly to false, then retry"
            )
            raise ProofError(msg)

    def commit(self, files: Files, marker: Marker) -> Applied:
        """Append the next version if this one is still the newest, and return it."""
        lake = self._lake
        self.check(files)
        with lake.explained(), self._without_rows(files) as (add, remove):
            actions: list[AddAction | RemoveAction] = [lake.added(file, marker) for file in add]
            actions += [lake.removed(file, marker) for file in remove]
            added = False
            try:
                added, changes = self._add_columns(files.schema, marker)
                self._table.create_write_transaction(
                    actions,
                    mode="append",
                    schema=self._table.schema(),
                    partition_by=self._table.metadata().partition_columns,
                    commit_properties=commit_properties(marker),
                )
            except CommitFailedError as error:
                self._require_race(error, int(self.version) + added)
                raise TableChangedError from error
        return Applied(version=str(int(self.version) + 1 + added), schema_changes=changes)

    def _require_race(self, error: CommitFailedError, version: int) -> None:
        """Refuse a table to which the library cannot commit although nobody else has committed meanwhile."""
        if str(error).startswith(_UNLOCKED):  # whatever the table is
            raise error
        newest = self._lake.load()
        if newest is not None and int(newest.version) <= version:
            why = first_line(error)
            msg = f"{self._lake.uri}: deltalake cannot commit to this table ({why}); choose another table"
            raise OptionsError(msg) from error

    @contextmanager
    def _without_rows(self, files: Files) -> Iterator[tuple[Sequence[OutputFile], Sequence[OutputFile]]]:
        """Yield the files to add and those to remove, including files rewritten to delete rows."""
        if files.delete is None:
            yield files.add, files.remove
            return
        live = self.live([file.uri for file in files.add])
        deleting = RowDeletion(self._lake.stores, self._lake.option, self._table)
        try:
            written, rows = deleting.rewrite(files.delete.window, but=live)
            files.delete.check(rows + sum(file.rows for file in files.add if file.uri in live), self._lake.uri)
        except BaseException:
            deleting.discard()
            raise
        try:
            yield [*(file for file in files.add if file.uri not in live), *written], deleting.replaced
        except (ProofError, TableChangedError, OptionsError):  # after any other error the commit may have been made
            deleting.discard()
            raise

    def _add_columns(self, schema: pa.Schema | None, marker: Marker) -> tuple[bool, str]:
        """Add the columns that the table lacks, in a separate commit; return whether there was one, and all changes.

        After a crash between the two commits the table has columns without values. A transaction in the log says which
        window they belong to, and the window's next change returns them with its own.
        """
        evolution = self._compared().evolution(schema)
        added = self._table.transaction_version(schema_application(marker))
        is_left = added is not None and added > (self.marker(marker) or 0)  # by earlier tries, which published no rows
        before = self._notes(marker) if is_left else []
        if evolution:
            fields = schema_of(evolution.fields).fields
            note = CommitProperties(
                custom_metadata={**marker.noted, _ADDED: str(evolution)},
                max_commit_retries=0,
                app_transactions=[Transaction(app_id=schema_application(marker), version=marker.number)],
            )
            self._table.alter.add_columns(fields, commit_properties=note)
        return bool(evolution), ", ".join(filter(None, (*before, str(evolution))))

    def _notes(self, marker: Marker) -> list[str]:
        """Return what was added for a window since its previous change, according to the log, in order."""
        ours = {key: text for key, text in marker.noted.items() if key != _CHANGE}
        notes: list[str] = []
        for found in self._table.history(_RECENT):
            if ours.items() <= found.items():
                if _ADDED in found:
                    notes.insert(0, found[_ADDED])
                elif found[_CHANGE] != str(marker.number):
                    break
        return notes


def _ms(marker: Marker) -> int:
    return int(marker.at.timestamp() * 1000)
