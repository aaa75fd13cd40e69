"""What a table format does: it keeps the state of a table, and changes the files of one state in one commit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.exchange.model import FieldIds, OutputFile
from airflow_provider_blockread.sinks.protocol import Applied, Marker


class TableChangedError(Exception):
    """Another writer has committed since the state was loaded; load it again."""


#: The column with the id of a row's window.
WINDOW = "_window"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """Rows of a window, by their column `_window`, which are in files of other writers."""

    window: str
    rows: int  # of the window, in whichever files

    def check(self, found: int, table: str) -> None:
        """Refuse to delete other than these rows.

        Raises:
            ProofError: with both numbers.
        """
        if found != self.rows:
            msg = (
                f"{table} holds {found:,} rows of window {self.window} by {WINDOW}, not {self.rows:,} as published:"
                " another writer has changed them, so none is deleted; restore a version of the table that has them,"
                " then retry"
            )
            raise ProofError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """What one commit changes."""

    add: Sequence[OutputFile]
    remove: Sequence[OutputFile]
    schema: pa.Schema | None  # of the files to add
    delete: Deletion | None = None  # all rows of a window but those in files to add, which may be there already


class Snapshot(Protocol):
    """One state of a table, on which a commit may be made."""

    version: str
    columns: tuple[str, ...]  # their names
    needed: tuple[str, ...]  # names of those that may not be null

    @property
    def field_ids(self) -> FieldIds | None:
        """What the columns of its files carry; None if they carry none."""

    def marker(self, marker: Marker) -> int | None:
        """Return the number of the newest change of the marker's window that the table holds."""

    def live(self, files: Collection[str]) -> set[str]:
        """Return which of these files the table consists of."""

    def is_ours(self) -> bool:
        """Return whether it consists of any file that a feed published."""

    def refuse(self, schema: pa.Schema) -> str:
        """Return in words why the table cannot take such rows, even if its schema is changed; empty if it can."""

    def schema_changes(self, marker: Marker) -> str:
        """Return in words how the commit of a marker, the newest of its window, has changed the schema."""

    def commit(self, files: Files, marker: Marker) -> Applied:
        """Change the files in one commit with the marker, and return what it has made of the table.

        Raises:
            ProofError: when it holds other rows than are to be deleted.
            TableChangedError: when the table is not in this state any more; nothing was changed then.
        """


class TableFormat(Protocol):
    """How a table keeps its state; all errors of its library are translated."""

    uri: str  # by which people name the table
    field_ids: FieldIds | None  # of a table that is not made yet

    def location(self) -> str | None:
        """Return the folder where data files belong; None if they are only staged."""

    def load(self) -> Snapshot | None:
        """Return the newest state; None if the table is not made yet."""

    def create(self, files: Files, marker: Marker) -> Applied:
        """Make the table with these files in one commit with the marker.

        Raises:
            TableChangedError: when it is there already.
        """
