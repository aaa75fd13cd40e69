"""The protocol of table formats: a format keeps the state of a table, and changes its files in one commit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.exchange.model import FieldIds, OutputFile
from airflow_provider_blockread.sinks.protocol import Applied, Marker


class TableChangedError(Exception):
    """Another writer has committed since the state was loaded, which must be loaded again."""


#: The column with the id of a row's window.
WINDOW = "_window"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """The deletion of a window's rows, found by their column `_window`, from files of other writers."""

    window: str
    rows: int  # of the window, in any files

    def check(self, found: int, table: str) -> None:
        """Refuse to delete any other number of rows, unless there are none left.

        Raises:
            ProofError: with both numbers.
        """
        if found not in {0, self.rows}:
            msg = (
                f"{table} holds {found:,} rows of window {self.window} by {WINDOW}, not {self.rows:,} as published:"
                " another writer has changed them, so none is deleted; restore a version of the table that has them, or"
                " delete the rest of them there, then retry"
            )
            raise ProofError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The changes of one commit."""

    add: Sequence[OutputFile]
    remove: Sequence[OutputFile]
    schema: pa.Schema | None  # of the files to add
    delete: Deletion | None = None  # all rows of a window except those in `add`, which may be there already


class Snapshot(Protocol):
    """One state of a table, on which a commit may be made."""

    version: str
    columns: tuple[str, ...]  # names
    needed: tuple[str, ...]  # names of columns that may not be null

    @property
    def field_ids(self) -> FieldIds | None:
        """The ids that the columns of its files carry, or None if they carry no ids."""

    def marker(self, marker: Marker) -> int | None:
        """Return the number of the newest change of the marker's window that the table holds."""

    def live(self, files: Collection[str]) -> set[str]:
        """Return which of these files the table consists of."""

    def is_ours(self) -> bool:
        """Return whether any of its files was published by a feed."""

    def refuse(self, schema: pa.Schema | None) -> str:
        """Return why the table cannot accept such rows even if its schema is changed, or an empty string if it can.

        Without a schema, return why it cannot accept any rows.
        """

    def schema_changes(self, marker: Marker) -> str:
        """Return in words how the commit of a marker, the newest one of its window, has changed the schema."""

    def check(self, files: Files) -> None:
        """Refuse changes that no commit to this table can make.

        Raises:
            OptionsError: when its library cannot write it.
            ProofError: when the table allows no such change.
        """

    def commit(self, files: Files, marker: Marker) -> Applied:
        """Change the files in one commit with the marker, and return the table's new version and schema changes.

        Raises:
            ProofError: when the rows to delete are not those that the table holds.
            TableChangedError: when the table is no longer in this state; nothing was changed then.
        """


class TableFormat(Protocol):
    """How a table's state is loaded and created; all errors of the format's library are translated."""

    uri: str  # the table's name in messages
    field_ids: FieldIds | None  # of a table that does not exist yet

    def location(self) -> str | None:
        """Return the folder where data files belong, or None if they are only staged."""

    def check_creation(self) -> None:
        """Refuse options by which no table can be created, and an account that may not create it.

        Raises:
            OptionsError: naming the option, or the rights.
        """

    def load(self) -> Snapshot | None:
        """Return the newest state, or None if the table does not exist yet."""

    def create(self, files: Files, marker: Marker) -> Applied:
        """Create the table with these files in one commit with the marker, and return its version.

        Raises:
            TableChangedError: when it exists already.
        """
