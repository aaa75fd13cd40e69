"""Every kind of sink as tests make and fill it, and what a reader who knows nothing of this package finds there."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from psycopg.rows import dict_row
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.options import (
    SINKS,
    CsvSink,
    DeltaSink,
    IcebergSink,
    JsonLinesSink,
    ParquetSink,
    PostgresSink,
    Sink,
    TextSink,
)
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import Change, Earlier, Marker, State, Step
from airflow_provider_blockread.sinks.registry import make_sink
from airflow_provider_blockread.storage import Stores
from tests.postgres import own_postgres

STORES = Stores()


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of sink."""

    option: Callable[..., Sink]
    read: Callable[[str], list[dict[str, Any]]]  # the rows of a file
    holds_columns: bool = True  # False: one column `value`
    early: Mapping[str, Any] = field(default_factory=dict)  # options that let a task write what it has at once
    table: Callable[[str], tuple[list[dict[str, Any]], list[str]]] | None = None  # rows and names of files, by a reader
    like: str = ""  # the kind that publishes by the same code, so that one of them is enough for long tests
    in_folder: bool = True  # False: readers find nothing at the place, and files are only staged

    def rows(self, folder: str) -> list[dict[str, Any]]:
        """Return the rows of all files in a folder but hidden ones, or of the table there."""
        if self.table is not None:
            return self.table(folder)[0]
        files = [uri for uri, _ in STORES.list_names(folder) if uri.rpartition("/")[2][0] not in "._"]
        inner = [uri for uri in STORES.list_folders(folder) if "=" in uri.rpartition("/")[2]]
        return [row for uri in files for row in self.read(uri)] + [row for uri in inner for row in self.rows(uri)]

    def names(self, folder: str) -> list[str]:
        """Return the names of all files in a folder, or of those that a table there consists of."""
        if self.table is not None:
            return sorted(self.table(folder)[1])
        path = Path(folder)
        return sorted(found.name for found in path.rglob("*") if found.is_file()) if path.exists() else []


def _read_parquet(uri: str) -> list[dict[str, Any]]:
    with STORES.open_read(uri) as file:
        return pq.read_table(file).to_pylist()


def _read_text(uri: str) -> list[dict[str, Any]]:
    data = STORES.read_bytes(uri)
    text = gzip.decompress(data) if uri.endswith(".gz") else data
    return [{"value": line} for line in text.decode().split("\n")[:-1]]


def _read_json_lines(uri: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in STORES.read_bytes(uri).decode().split("\n")[:-1]]


def _read_csv(uri: str) -> list[dict[str, Any]]:
    text = io.StringIO(STORES.read_bytes(uri).decode(), newline="")
    return list(csv.DictReader(text, strict=True))


def _read_delta(folder: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Read with polars what the table consists of, and look into its log for the names."""
    if not (Path(folder) / "_delta_log").exists():
        return [], []
    names = [Path(uri).name for uri in DeltaTable(folder).file_uris()]
    return pl.read_delta(folder).to_dicts(), names


def iceberg(place: str, **options: Any) -> IcebergSink:
    """Return a table in a catalog of its own, whose tables are in a folder at the place."""
    catalog = {"type": "sql", "uri": f"sqlite:///{place}.catalog.db", "warehouse": f"file://{place}"}
    return IcebergSink("db.events", catalog_properties=catalog, **({"work_uri": f"{place}.blockread"} | options))


def opened_iceberg(place: str) -> Table:
    """Return that table, as another program loads it."""
    option = iceberg(place)
    return load_catalog(option.catalog, **option.catalog_properties).load_table(option.uri)


def _read_iceberg(place: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Read with polars what the table consists of, and let pyiceberg plan a scan for the names."""
    try:
        table = opened_iceberg(place)
    except NoSuchTableError:
        return [], []
    names = [Path(task.file.file_path).name for task in table.scan().plan_files()]
    return pl.scan_iceberg(table).collect().to_dicts() if names else [], names


def postgres(place: str, **options: Any) -> PostgresSink:
    """Return a table that has its name from the place, in a database that all tests share."""
    table = f"t{hashlib.sha256(place.encode()).hexdigest()[:16]}"
    return PostgresSink(f"public.{table}", url=own_postgres(), **({"work_uri": f"{place}.blockread"} | options))


def _read_postgres(place: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Read by SQL what the table holds, but for the column of windows, and from which files it came."""
    _, name = postgres(place).uri.split(".")
    with psycopg.connect(own_postgres(), row_factory=dict_row) as connection:
        if connection.execute("SELECT to_regclass(%s) AS oid", (name,)).fetchone() == {"oid": None}:
            return [], []
        rows = connection.execute(f"SELECT * FROM {name}").fetchall()  # noqa: S608 - a digest
        files = connection.execute("SELECT files FROM blockread_windows WHERE table_name = %s", (name,)).fetchall()
    held = [{column: value for column, value in row.items() if column != "_window"} for row in rows]
    return held, [Path(uri).name for found in files for uri in found["files"]]


os.environ.setdefault("POLARS_ICEBERG_PLANNER", "pyiceberg")  # else it warns that another one is not installed


#: By the names of `SINKS`, each of which must be here.
KINDS: Mapping[str, Kind] = {
    "parquet": Kind(option=ParquetSink, read=_read_parquet, early={"row_group_bytes": 8}),
    "delta": Kind(option=DeltaSink, read=_read_parquet, early={"row_group_bytes": 8}, table=_read_delta),
    "iceberg": Kind(option=iceberg, read=_read_parquet, early={"row_group_bytes": 8}, table=_read_iceberg),
    "postgres": Kind(
        option=postgres, read=_read_parquet, early={"row_group_bytes": 8}, table=_read_postgres, in_folder=False
    ),
    "json_lines": Kind(option=JsonLinesSink, read=_read_json_lines, like="text"),
    "csv": Kind(option=CsvSink, read=_read_csv, like="text"),
    "text": Kind(option=TextSink, read=_read_text, holds_columns=False),
    "text gzip a block": Kind(
        option=partial(TextSink, compression="gzip", per="block"), read=_read_text, holds_columns=False
    ),
}

assert set(SINKS) == {name.partition(" ")[0] for name in KINDS}


#: The number of the block that rows are of.
BLOCK = 5


@dataclass
class Bench:
    """A sink, and how tests fill it."""

    kind: str
    place: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the sink."""
        self.option: Sink = KINDS[self.kind].option(self.place, **self.options)
        self.sink = make_sink(STORES, self.option)
        self.target = self.sink.prepare(None, f"{self.option.work_area}/stage")
        self.marker = self.marker_of()

    @property
    def is_table(self) -> bool:
        """Whether one commit publishes all files of a window."""
        return KINDS[self.kind].table is not None

    def marker_of(self, window: str = "ab12", generation: int = 1, change: Change = Change.PUBLISH) -> Marker:
        """Return the marker of a change."""
        number = Marker.number_of(generation, change)
        return Marker(
            ledger="l", feed="f", window=window, number=number, at=datetime.now(UTC), is_recorded=lambda *_: True
        )

    def stage(self, *values: str, window: str = "ab12", generation: int = 1) -> list[OutputFile]:
        """Return a file of each value, twice, as tasks leave them; what is applied next is of this generation."""
        self.marker = self.marker_of(window, generation)
        files = []
        for attempt, value in enumerate(values):
            name = AttemptName(window=window, generation=generation, group=0, epoch=1, attempt=attempt)
            writer = self.sink.writer(self.target, name, None)
            writer.write(pa.RecordBatch.from_pydict({"value": [value, value]}), BLOCK)
            files += writer.close()
        return files

    def placed(self, files: Sequence[OutputFile], generation: int = 1) -> Earlier:
        """Return what a generation has published."""
        return Earlier({generation: [self.sink.placed(file) for file in files]} if files else {})

    def steps(self, new: Sequence[OutputFile], earlier: Sequence[OutputFile] = ()) -> list[Step]:
        """Return the steps that publish staged files in the place of others, of the first generation."""
        return self.sink.steps([self.sink.placed(file) for file in new], self.placed(earlier))

    def apply(self, steps: Sequence[Step]) -> None:
        """Take steps."""
        self.sink.apply(steps, self.marker, lambda: None)

    def undo(self, files: Sequence[OutputFile]) -> int:
        """Take away what the newest generation published."""
        generation = self.marker.number // len(Change)
        return self.sink.undo(
            self.placed(files, generation), self.marker_of(generation=generation, change=Change.WITHDRAW)
        )

    def publish(self, *values: str, window: str = "ab12", generation: int = 1) -> list[OutputFile]:
        """Publish files and return them as they were staged."""
        files = self.stage(*values, window=window, generation=generation)
        self.apply(self.steps(files))
        return files

    def values(self) -> list[str]:
        """Return what a reader finds."""
        return sorted(row["value"] for row in KINDS[self.kind].rows(self.place))

    def states(self, steps: Sequence[Step]) -> list[State]:
        """Return what is known of each step."""
        return [self.sink.state(step, self.marker) for step in steps]
