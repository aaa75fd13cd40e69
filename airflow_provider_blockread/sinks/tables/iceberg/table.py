"""An Apache Iceberg table in any catalog that pyiceberg loads.

The marker of a change is a property of the table, set in the same commit, since snapshots expire. Its name contains
ledger and window, its value is the number of the change. A later commit drops markers that the ledger has recorded. For
people, the summary of each snapshot names its window.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TypeVar

import pyarrow as pa
from pyiceberg.catalog import Catalog, MetastoreCatalog, load_catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.manifest import ManifestContent
from pyiceberg.table import Table
from pyiceberg.types import IcebergType

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.exchange.model import FieldIds
from airflow_provider_blockread.options import IcebergSink
from airflow_provider_blockread.sinks.evolution import Comparison, Evolution
from airflow_provider_blockread.sinks.names import FILE_PREFIX
from airflow_provider_blockread.sinks.plain import nullable
from airflow_provider_blockread.sinks.protocol import Access, Applied, Marker
from airflow_provider_blockread.sinks.tables.format import Files, TableChangedError
from airflow_provider_blockread.sinks.tables.iceberg.commit import (
    EVOLVED,
    Change,
    HeldFile,
    commit_files,
    number_of,
    property_of,
    unwritable,
    version_of,
)
from airflow_provider_blockread.sinks.tables.iceberg.errors import explained
from airflow_provider_blockread.sinks.tables.iceberg.files import add_partitions, field_ids, mispartitioned, whole_files
from airflow_provider_blockread.sinks.tables.iceberg.properties import io_properties
from airflow_provider_blockread.sinks.tables.iceberg.types import column_type, fits, widens
from airflow_provider_blockread.storage import Stores, uris

_RETRIES = "commit.retry.num-retries"
T = TypeVar("T")


class IcebergTable:
    """A table in a catalog, by name.

    Args:
        stores: has the credentials for the table's folder.
        option: names catalog and table, and describes a table that is created.
        access: the fields of the catalog's connection, by connection id.
    """

    field_ids = FieldIds()

    def __init__(self, stores: Stores, option: IcebergSink, access: Access) -> None:
        self.uri = option.place
        self.stores, self.option = stores, option
        own = access.get(option.catalog_conn_id or "", {})
        self._knows_connection = bool(own)
        folder = uris.canonical(option.folder) if option.folder else None
        store = io_properties(folder, stores.options_of(folder)) if folder else {}
        self._properties = {**store, **option.catalog_properties, **own}

    def location(self) -> str:
        """Return the folder of the table's data files, or the future one if the table does not exist yet."""
        with self.explained():
            try:
                place = self._catalog.load_table(self.option.uri).location()
            except NoSuchTableError:
                place = self.option.location or self._location_to_be()
        return uris.child(uris.canonical(place), "data")

    def check_creation(self) -> None:
        """Refuse nothing: the catalog knows its properties, and says so when it creates the table."""

    def load(self) -> _State | None:
        """Return the newest state, or None if the catalog has no such table."""
        with self.explained():
            try:
                return _State(self, self._catalog.load_table(self.option.uri))
            except NoSuchTableError:
                return None

    def create(self, files: Files, marker: Marker) -> Applied:
        """Create the table, and its namespace if needed, in the folder that already has its files."""
        with self.explained():
            return self._in_namespace(lambda: self._created(files, marker))

    def _created(self, files: Files, marker: Marker) -> Applied:
        if self.option.location and isinstance(self._catalog, MetastoreCatalog):
            # Asked first: a Hive metastore's own error does not say that it is the namespace that is missing.
            self._catalog.load_namespace_properties(self._namespace)
        try:
            made = self._catalog.create_table_transaction(
                self.option.uri,
                schema=pa.schema([nullable(field) for field in files.schema or ()]),
                location=uris.parent(uris.parent(files.add[0].uri)),
                properties=dict(self.option.properties),
            )
            add_partitions(made, self.option.partitions)
            return Applied(version=version_of(commit_files(made, self.stores, files, [], marker, Evolution())))
        except (TableAlreadyExistsError, CommitFailedException) as error:
            raise TableChangedError from error
        except ValueError as error:
            if isinstance(error, OSError):  # the catalog's answer is not JSON
                raise
            msg = f"{self.uri}: pyiceberg does not make such a table ({error}); correct properties or partition_by"
            raise OptionsError(msg) from error

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Translate errors that catalog or store raise in the body."""
        try:
            yield
        except Exception as error:
            found = explained(error, self.uri, self._access_place)
            if found is None:
                raise
            raise found from error

    @cached_property
    def _catalog(self) -> Catalog:
        try:
            catalog = load_catalog(self.option.catalog, **self._properties)
        except (ValueError, KeyError, ImportError) as error:
            why = type(error).__name__
            msg = f"{self.uri}: pyiceberg cannot load this catalog ({why}); correct {self._access_place}"
            raise OptionsError(msg) from error
        weakref.finalize(self, catalog.close)  # otherwise connections of every window would stay open
        return catalog

    @property
    def _access_place(self) -> str:
        """The name of what says how to reach the catalog, for messages."""
        conn_id = self.option.catalog_conn_id
        if self._knows_connection:
            return f"its properties or connection {conn_id!r}"
        variables = f"the environment variables PYICEBERG_CATALOG__{self.option.catalog.upper().replace('-', '_')}__*"
        if conn_id is None:
            return f"its properties or {variables}"
        return f"{variables}, since connection {conn_id!r} is known to Airflow only"

    @property
    def _namespace(self) -> str:
        return self.option.uri.rpartition(".")[0]

    def _in_namespace(self, make: Callable[[], T]) -> T:
        """Return what is made in the table's namespace, which is created only if needed, since few accounts may."""
        try:
            return make()
        except NoSuchNamespaceError:
            with suppress(NamespaceAlreadyExistsError):
                self._catalog.create_namespace(self._namespace)
            return make()

    def _location_to_be(self) -> str:
        """Return the folder that the catalog would give the table, from a table created only in memory."""
        columns = pa.schema([("value", pa.string())])
        staged = self._in_namespace(lambda: self._catalog.create_table_transaction(self.option.uri, schema=columns))
        return staged.table_metadata.location


class _State:
    """One state of the table."""

    def __init__(self, lake: IcebergTable, table: Table) -> None:
        self._lake, self._table = lake, table
        self._held = dict[str, HeldFile | None]()  # by URI; None for files known to be in no manifest
        self.version = version_of(table)
        self.columns = tuple(field.name for field in table.schema().fields)
        self.needed = tuple(field.name for field in table.schema().fields if field.required)

    @property
    def field_ids(self) -> FieldIds:
        """The ids that the table gives its columns."""
        return field_ids(self._table.metadata)

    def marker(self, marker: Marker) -> int | None:
        """Return the number of the window's newest change, from its property or its newest snapshot, if any."""
        kept = number_of(self._table.properties.get(property_of(marker)))
        if kept is not None:
            return kept
        return number_of(self._noted(marker).get("blockread.change"))

    def _noted(self, marker: Marker) -> dict[str, str]:
        """Return what the summary of the window's newest snapshot contains about the change."""
        for snapshot in reversed(self._table.metadata.snapshots):
            noted = {} if snapshot.summary is None else snapshot.summary.additional_properties
            named = (noted.get("blockread.ledger"), noted.get("blockread.window"))
            if number_of(noted.get("blockread.change")) is not None and named == (marker.ledger, marker.window):
                return noted
        return {}

    def live(self, files: Collection[str]) -> set[str]:
        """Return which files this state consists of."""
        return set(self._found(files))

    def is_ours(self) -> bool:
        """Return whether a feed has published any file of this state, judging by its name."""
        return any(uris.name_of(held.file.file_path).startswith(FILE_PREFIX) for held in self._files())

    def refuse(self, schema: pa.Schema | None) -> str:
        """Return in words which demand of the table these rows do not meet, or an empty string."""
        table, name, wanted = self._table, self._lake.uri, self._lake.option.partitions
        return unwritable(table, name) or mispartitioned(table, wanted, name) or self._compared().refuse(schema)

    def schema_changes(self, marker: Marker) -> str:
        """Return the schema changes in the summary of the window's newest snapshot."""
        noted = self._noted(marker)
        return noted.get(EVOLVED, "") if noted.get("blockread.change") == str(marker.number) else ""

    def _compared(self) -> Comparison[IcebergType]:
        table = self._table.schema()
        return Comparison(
            table=self._lake.uri,
            columns={field.name: field.field_type for field in table.fields},
            needed=self.needed,
            evolves=self._lake.option.evolves,
            fits=lambda field, held: fits(field, table, held),
            widens=lambda field, held: widens(held, column_type(field, table)),
        )

    def check(self, files: Files) -> None:  # noqa: ARG002 - as other tables do
        """Refuse a table that the library does not write."""
        if problem := unwritable(self._table, self._lake.uri):
            raise OptionsError(problem)

    def commit(self, files: Files, marker: Marker) -> Applied:
        """Commit the next state if this one is still the newest, and return it."""
        table = self._table
        self.check(files)
        # Only for this object: the library's own retries would not look for the marker.
        once = {**table.metadata.properties, _RETRIES: "0"}
        table.metadata = table.metadata.model_copy(update={"properties": once})
        with self._lake.explained():
            removed = list(self._found([file.uri for file in files.remove]).values())
            evolution = self._compared().evolution(files.schema)
            change = Change(table)
            try:
                made = commit_files(change, self._lake.stores, files, removed, marker, evolution)
            except CommitFailedException as error:
                raise TableChangedError from error
        return Applied(version=version_of(made), schema_changes=str(evolution))

    def _found(self, files: Collection[str]) -> dict[str, HeldFile]:
        """Return the data files with these URIs, except those from which rows were deleted."""
        if wanted := set(files) - self._held.keys():
            self._held.update(dict.fromkeys(wanted))
            for found in self._files(set(wanted)):
                uri = uris.canonical(found.file.file_path)
                if uri in wanted:
                    self._held[uri] = found
                    wanted.remove(uri)
                if not wanted:
                    break
        return {uri: held for uri in files if (held := self._held[uri])}

    def _snapshots_without(self, files: Collection[str]) -> set[int]:
        """Return the snapshots that cannot have added any of the files: those of other windows, and of other writers.

        Cherry-picked snapshots are excluded, since they contain files of another snapshot.
        """
        windows = {uris.name_of(uri).removeprefix(FILE_PREFIX).partition("-")[0] for uri in files}
        noted = ((one.snapshot_id, one.summary) for one in self._table.metadata.snapshots)
        known = {number: said.additional_properties for number, said in noted if said}
        return {
            number
            for number, said in known.items()
            if said.get("blockread.window") not in windows and "source-snapshot-id" not in said
        }

    def _files(self, wanted: Collection[str] | None = None) -> Iterator[HeldFile]:
        """Yield all data files, or a part of them that includes all wanted ones."""
        snapshot = self._table.current_snapshot()
        if snapshot is None:
            return
        with self._lake.explained():
            manifests = snapshot.manifests(self._table.io)
            if any(manifest.content == ManifestContent.DELETES for manifest in manifests):
                yield from (HeldFile(file, manifest="") for file in whole_files(self._table, self._lake.uri))
                return
            of_others = set() if wanted is None else self._snapshots_without(wanted)
            for manifest in manifests:
                if manifest.added_snapshot_id in of_others and manifest.existing_files_count == 0:
                    continue
                for entry in manifest.fetch_manifest_entry(self._table.io, discard_deleted=True):
                    yield HeldFile(entry.data_file, manifest.manifest_path)
