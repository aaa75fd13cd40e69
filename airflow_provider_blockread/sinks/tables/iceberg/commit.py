"""The commit to an Iceberg table: files, columns and the marker in one transaction."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

from pyiceberg.manifest import DataFile, ManifestFile
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import SUPPORTED_TABLE_FORMAT_VERSION, TableMetadata
from pyiceberg.table.update import TableUpdate
from pyiceberg.table.update.snapshot import UpdateSnapshot

from airflow_provider_blockread.sinks.evolution import Evolution
from airflow_provider_blockread.sinks.protocol import Marker
from airflow_provider_blockread.sinks.tables.format import WINDOW, Deletion, Files
from airflow_provider_blockread.sinks.tables.iceberg.files import data_files
from airflow_provider_blockread.storage import Stores

#: The key of a snapshot's summary that says how its commit has changed the schema.
EVOLVED = "blockread.schema"

_PREFIX = "blockread."
_MAPPING = "schema.name-mapping.default"


class HeldFile(NamedTuple):
    """A data file of a table, as its manifest describes it."""

    file: DataFile
    manifest: str  # the path of that manifest; empty if it is not known


class Change(Transaction):
    """A transaction that applies each update to the metadata once; the library reapplies all of them at each access."""

    _computed: tuple[tuple[TableUpdate, ...], TableMetadata] | None = None

    @property
    def table_metadata(self) -> TableMetadata:
        """The table's metadata with all updates so far."""
        if self._computed is None or self._computed[0] is not self._updates:
            self._computed = self._updates, super().table_metadata
        return self._computed[1]


def commit_files(
    change: Transaction, stores: Stores, files: Files, removed: list[HeldFile], marker: Marker, new: Evolution
) -> Table:
    """Commit the files, the columns that they need and the marker, and return the new table.

    Raises:
        ProofError: when the columns of a file have different ids than the table's.
    """
    noted = marker.noted
    if new:
        noted[EVOLVED] = str(new)
        with change.update_schema() as schema:
            schema.union_by_name(new.fields)
    metadata = change.table_metadata
    kept = {property_of(marker): str(marker.number)}
    if _MAPPING not in metadata.properties:  # readers need it for files without ids
        kept[_MAPPING] = metadata.schema().name_mapping.model_dump_json()
    change.set_properties(kept)
    if files.delete:
        _delete_rows(change, files.delete, noted)
    if files.add or removed:
        added = list(data_files(stores, metadata, files.add))
        _replace_files(change.update_snapshot(snapshot_properties=noted), removed, added)
    settled = [name for name, value in metadata.properties.items() if _is_settled(name, value, marker)]
    if settled:
        change.remove_properties(*settled)
    return change.commit_transaction()


def _replace_files(snapshot: UpdateSnapshot, removed: list[HeldFile], added: list[DataFile]) -> None:
    """Remove and add files; only the manifests of removed files are read, while the library would read all of them."""
    paths = {held.manifest for held in removed}

    def reads(_: int) -> Callable[[ManifestFile], bool]:
        return lambda manifest: manifest.manifest_path in paths

    with snapshot.overwrite() if removed else snapshot.fast_append() as update:
        for file in added:
            update.append_data_file(file)
        for held in removed:
            update.delete_data_file(held.file)
        if "" not in paths:
            update._build_manifest_evaluator = reads  # type: ignore[assignment,method-assign]  # noqa: SLF001


def _delete_rows(change: Transaction, deletion: Deletion, noted: dict[str, str]) -> None:
    """Delete all rows of a window, including those in its own files, in snapshots of the same commit."""
    known = {one.snapshot_id for one in change.table_metadata.snapshots}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about missing rows and rewritten files: the check below covers both
        change.delete(f"{WINDOW} == '{deletion.window}'", snapshot_properties=noted)
    made = [one.summary for one in change.table_metadata.snapshots if one.snapshot_id not in known]
    rows = [(one["deleted-records"] or "0", one["added-records"] or "0") for one in made if one is not None]
    deletion.check(sum(int(deleted) - int(added) for deleted, added in rows), ".".join(change._table.name()))  # noqa: SLF001


def unwritable(table: Table, name: str) -> str:
    """Return in words why pyiceberg cannot commit to a table, or an empty string if it can."""
    if table.format_version <= SUPPORTED_TABLE_FORMAT_VERSION:
        return ""
    return (
        f"{name} has version {table.format_version} of Iceberg's format, which this pyiceberg does not write; install"
        " one that does, or choose another table"
    )


def version_of(table: Table) -> str:
    """Return the id of the newest snapshot, or an empty string without one."""
    snapshot = table.current_snapshot()
    return "" if snapshot is None else str(snapshot.snapshot_id)


def property_of(marker: Marker) -> str:
    """Return the name of the property that is the marker of a window."""
    return f"{_PREFIX}{marker.ledger}.{marker.window}"


def _is_settled(name: str, value: str, marker: Marker) -> bool:
    """Return whether a property is the marker of another window's change that the same ledger has recorded."""
    start = f"{_PREFIX}{marker.ledger}."
    if not name.startswith(start) or name == property_of(marker):
        return False
    number = number_of(value)  # another writer may have set the property
    return number is not None and marker.is_recorded(name.removeprefix(start), number)


def number_of(text: str | None) -> int | None:
    """Return the number of a marker, or None if the property does not hold one."""
    return int(text) if text is not None and text.isdecimal() else None
