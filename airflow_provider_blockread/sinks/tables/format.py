"""What a table format does: it keeps the state of a table, and changes the files of one state in one commit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.sinks.protocol import Marker


class TableChangedError(Exception):
    """Another writer has committed since the state was loaded; load it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """What one commit changes."""

    add: Sequence[OutputFile]
    remove: Sequence[OutputFile]
    schema: pa.Schema | None  # of the files to add


class Snapshot(Protocol):
    """One state of a table, on which a commit may be made."""

    version: str
    columns: tuple[str, ...]  # their names

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

    def commit(self, files: Files, marker: Marker) -> str:
        """Change the files in one commit with the marker, and return its version.

        Raises:
            TableChangedError: when the table is not in this state any more; nothing was changed then.
        """


class TableFormat(Protocol):
    """How a table keeps its state; all errors of its library are translated."""

    uri: str  # by which people name the table

    def location(self) -> str | None:
        """Return the folder where data files belong; None if they are only staged."""

    def load(self) -> Snapshot | None:
        """Return the newest state; None if the table is not made yet."""

    def create(self, files: Files, marker: Marker) -> str:
        """Make the table with these files in one commit with the marker, and return its version.

        Raises:
            TableChangedError: when it is there already.
        """
