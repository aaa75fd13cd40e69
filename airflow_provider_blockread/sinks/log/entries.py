"""The log of a directory: which files each window consists of, and which columns the directory has.

Nothing in it is ever changed. An entry of a window carries the number of its change, and the newest one counts, so an
overtaken publisher that writes its entry late changes nothing that readers see. An undo is an entry without files. The
columns are those of all schemas that were ever added, in any order.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.sinks.evolution import Evolution
from airflow_provider_blockread.sinks.log.columns import Columns, wider
from airflow_provider_blockread.sinks.plain import plain
from airflow_provider_blockread.sinks.protocol import Change, Earlier, Marker
from airflow_provider_blockread.storage import Stores, uris
from airflow_provider_blockread.storage.at_once import answers

#: The folder of the log in its directory; Spark, Hive and Arrow skip names that begin with an underscore.
LOG_FOLDER = "_blockread"


class PublishedLog:
    """The log of a directory.

    Args:
        stores: opens the directory.
        uri: the canonical URI of the directory.
        evolves: whether rows may change its columns.
    """

    def __init__(self, stores: Stores, uri: str, *, evolves: bool = False) -> None:
        self._stores, self._uri, self._evolves = stores, uri, evolves
        self.folder = uris.child(uri, LOG_FOLDER)
        self.windows = uris.child(self.folder, "windows")
        self.schemas = uris.child(self.folder, "schemas")

    def exists(self) -> bool:
        """Return whether anything was ever logged."""
        return self._stores.exists(self.folder)

    def files(self) -> list[str]:
        """Return the URIs of all published files; the files of each window come from a single change.

        Raises:
            ProofError: when an entry names a file outside the directory.
        """
        newest = {uris.name_of(uri).rpartition("-")[0]: uri for uri in self._entries()}  # a window's newest comes last
        texts = self._texts(list(newest.values()))
        files = [uris.canonical(uris.child(self._uri, row["path"])) for text in texts for row in _files(text)]
        for uri in files:
            if uris.relative_to(uri, self._uri) is None:
                msg = f"{self.windows} names {uri}, which is outside of {self._uri}; remove that entry, which is forged"
                raise ProofError(msg)
        return files

    def columns(self) -> Columns | None:
        """Return the columns of the directory, or None if nothing was published yet.

        Raises:
            ProofError: when two publishers have added a column with two types at once.
        """
        return self._columns(self._schemas())

    def has_entry(self, marker: Marker) -> bool:
        """Return whether a change of a window is logged."""
        return self._stores.holds_file(self._entry(marker))

    def add_entry(self, files: Sequence[OutputFile], marker: Marker) -> None:
        """Log that a window consists of these files, which replaces what its earlier entries say."""
        self._write(marker, [(str(uris.relative_to(file.uri, self._uri)), file.size, file.rows) for file in files])

    def withdraw(self, outputs: Earlier, marker: Marker) -> None:
        """Log that a window is undone, or that what lost generations have half published is taken back."""
        if self.has_entry(marker):
            return
        before = b""
        if marker.change is Change.TAKE_BACK:
            numbers = (Marker.number_of(number, Change.PUBLISH) for number in outputs.files)
            halves = {self._entry(replace(marker, number=number)) for number in numbers}
            kept = [uri for uri in self._entries(marker.window) if uri not in halves]
            before = self._stores.read_bytes(kept[-1]) if kept else b""
        self._write(marker, [(row["path"], row["size"], row["rows"]) for row in _files(before)])

    def compared(self, rows: Columns) -> tuple[str, Evolution]:
        """Return the reason why the directory refuses rows, empty if it does not, and how its columns change."""
        return self._compared(self._schemas(), rows)

    def add_columns(self, rows: Columns, marker: Marker) -> str:
        """Log the columns of rows that the directory lacks, and return the change in words.

        Raises:
            ProofError: when the directory does not accept such rows.
        """
        there = self._schemas()
        problem, evolution = self._compared(there, rows)
        if problem:
            raise ProofError(problem)
        if not evolution:
            return next((str(found["changes"]) for found in there if _is_of(found, marker)), "")
        changes = str(evolution) if there else ""
        mine = uris.child(self.schemas, f"{len(there):06d}-{marker.window}-{marker.number}.json")
        self._stores.write_bytes_atomic(mine, _described(rows, marker, changes))
        others = [found for found in self._schemas() if not _is_of(found, marker)]
        problem, _ = self._compared(others, rows)
        if problem:  # another publisher has added other columns at the same time
            self._stores.remove(mine)
            raise ProofError(problem)
        return changes

    def _compared(self, schemas: list[dict[str, Any]], rows: Columns) -> tuple[str, Evolution]:
        there = self._columns(schemas)
        if there is None:
            return "", Evolution(added=tuple(rows.schema))
        return there.compared(rows, self._uri, evolves=self._evolves)

    def _columns(self, schemas: Iterable[dict[str, Any]]) -> Columns | None:
        known: dict[str, pa.DataType] = {}
        partition_by: list[str] | None = None
        for found in schemas:
            partition_by = found["partition_by"]
            for field in pa.ipc.read_schema(pa.BufferReader(base64.b64decode(found["schema"]))):
                both = wider(known.get(field.name, field.type), field.type)
                if both is None:
                    msg = (
                        f"{self._uri}: two publishers have added column {field.name!r} at the same time, as"
                        f" {known[field.name]} and as {field.type}; undo one of the windows, and delete its file in"
                        f" {self.schemas}"
                    )
                    raise ProofError(msg)
                known[field.name] = both
        return None if partition_by is None else Columns(schema=pa.schema(known), partition_by=tuple(partition_by))

    def _schemas(self) -> list[dict[str, Any]]:
        names = sorted(uri for uri, _ in self._stores.list_names(self.schemas) if uri.endswith(".json"))
        return [json.loads(text) for text in self._texts(names)]

    def _entries(self, window: str = "") -> list[str]:
        """Return the URIs of entries; those of a window are in order, the newest last."""
        prefix = f"{window}-" if window else ""
        return sorted(uri for uri, _ in self._stores.list_names(self.windows, prefix) if uri.endswith(".jsonl"))

    def _entry(self, marker: Marker) -> str:
        return uris.child(self.windows, f"{marker.window}-{marker.number:010d}.jsonl")

    def _write(self, marker: Marker, files: Sequence[tuple[str | None, int, int]]) -> None:
        of_change = {"window": marker.window, "change": marker.number}
        rows = [of_change | {"path": path, "size": size, "rows": n} for path, size, n in files or [(None, 0, 0)]]
        lines = "".join(f"{json.dumps(row)}\n" for row in rows)
        self._stores.write_bytes_atomic(self._entry(marker), lines.encode())

    def _texts(self, places: Sequence[str]) -> Iterator[bytes]:
        return answers(self._stores, places, self._stores.read_bytes)


def _described(rows: Columns, marker: Marker, changes: str) -> bytes:
    schema = pa.schema([pa.field(field.name, plain(field.type)) for field in rows.schema])
    described = {
        "window": marker.window,
        "change": marker.number,
        "changes": changes,
        "columns": {field.name: str(field.type) for field in schema},
        "partition_by": list(rows.partition_by),
        "schema": base64.b64encode(schema.serialize().to_pybytes()).decode(),
    }
    return json.dumps(described, indent=1).encode()


def _is_of(schema: dict[str, Any], marker: Marker) -> bool:
    return (schema["window"], schema["change"]) == (marker.window, marker.number)


def _files(text: bytes) -> list[dict[str, Any]]:
    """Return the files of an entry; one without files has a row without a path."""
    return [row for row in map(json.loads, text.splitlines()) if row["path"]]
