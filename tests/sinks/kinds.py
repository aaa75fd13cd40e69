"""Every kind of sink as tests make and fill it, and what a reader who knows nothing of this package finds there."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fsspec
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from psycopg.rows import dict_row
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from airflow_provider_blockread import testing
from airflow_provider_blockread.options import (
    SINKS,
    ArchiveSink,
    CsvSink,
    CustomSink,
    DeltaSink,
    IcebergSink,
    JsonLinesSink,
    ParquetSink,
    PostgresSink,
    TextSink,
)
from airflow_provider_blockread.sinks.log.reading import published_files, read_published
from airflow_provider_blockread.sinks.tables import table as tables
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.testing import SinkCase
from tests.postgres import own_postgres
from tests.sinks.documented import MODULE

STORES = Stores()


@dataclass(frozen=True, kw_only=True)
class Kind(SinkCase):
    """A kind of sink."""

    holds_columns: bool = True  # False: one column `value`
    early: Mapping[str, Any] = field(default_factory=dict)  # options that let a task write what it has at once
    like: str = ""  # the kind that publishes by the same code, so that one of them is enough for long tests

    def names(self, place: str) -> list[str]:
        """Return the names of the files, of which each archive is one with its index."""
        found = super().names(place)
        indexes = {f".{name}.index" for name in found}
        return [name for name in found if name not in indexes]


def _read_parquet(uri: str) -> list[dict[str, Any]]:
    with STORES.open_read(uri) as file:
        return pq.ParquetFile(file).read(use_threads=False).to_pylist()  # a thread might have the file at exit


def _read_text(uri: str) -> list[dict[str, Any]]:
    data = STORES.read_bytes(uri)
    text = gzip.decompress(data) if uri.endswith(".gz") else data
    return [{"value": line} for line in text.decode().split("\n")[:-1]]


def _read_json_lines(uri: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in STORES.read_bytes(uri).decode().split("\n")[:-1]]


def _read_csv(uri: str) -> list[dict[str, Any]]:
    text = io.StringIO(STORES.read_bytes(uri).decode(), newline="")
    return list(csv.DictReader(text, strict=True))


def _read_archive(uri: str) -> list[dict[str, Any]]:
    """Cut an archive at the places that its index names, and compare the hashes."""
    data, rows = STORES.read_bytes(uri), _read_parquet(uri.replace("/part-", "/.part-") + ".index")
    content = pa.CompressedInputStream(pa.BufferReader(data), "zstd").read() if uri.endswith(".zst") else data
    parts = [content[row["offset"] : row["offset"] + row["length"]] for row in rows]
    assert [hashlib.sha256(part).digest() for part in parts] == [row["sha256"] for row in rows]
    assert {row["output"] for row in rows} == {uri.rpartition("/")[2]}
    return [{"value": part.decode()} for part in parts]


def _read_delta(folder: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Read with polars what the table consists of, and look into its log for the names."""
    if not (Path(folder) / "_delta_log").exists():
        return [], []
    names = [Path(uri).name for uri in DeltaTable(folder).file_uris()]
    return pl.read_delta(folder).to_dicts(), names


def _read_log(folder: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Read what the log of a directory names."""
    if not (Path(folder) / "_blockread").exists():
        return [], []
    found = read_published(folder)
    return found.to_table().to_pylist(), [Path(name).name for name in found.files]


def _logged(read: Callable[[str], list[dict[str, Any]]]) -> Callable[[str], tuple[list[dict[str, Any]], list[str]]]:
    """Return how to read the files that the log of a directory names."""

    def table(folder: str) -> tuple[list[dict[str, Any]], list[str]]:
        if not (Path(folder) / "_blockread").exists():
            return [], []
        files = published_files(folder)
        return [row for file in files for row in read(f"file://{file}")], [Path(file).name for file in files]

    return table


def iceberg(place: str, **options: Any) -> IcebergSink:
    """Return a table in a catalog of its own, whose tables are in a folder at the place."""
    catalog = {"type": "sql", "uri": f"sqlite:///{place}.catalog.db", "warehouse": f"file://{place}"}
    return IcebergSink("db.events", catalog_properties=catalog, **({"work_uri": f"{place}.blockread"} | options))


@cache
def _catalog_schema(place: str) -> str:
    """Return the URL of a catalog in a schema of its own, in the database that all tests share."""
    server, name = own_postgres(), f"c{hashlib.sha256(place.encode()).hexdigest()[:16]}"
    with psycopg.connect(server) as connection:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {name}")
    url = server.replace("postgresql:", "postgresql+psycopg:")
    return f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}"


def iceberg_on_postgres(place: str, **options: Any) -> IcebergSink:
    """Return a table in a catalog on PostgreSQL."""
    made = iceberg(place, **options)
    return replace(made, catalog_properties={**made.catalog_properties, "uri": _catalog_schema(place)})


def opened_iceberg(place: str, make: Callable[[str], IcebergSink] = iceberg) -> Table:
    """Return that table, as another program loads it; its catalog is closed with it."""
    option = make(place)
    catalog = load_catalog(option.catalog, **option.catalog_properties)
    try:
        table = catalog.load_table(option.uri)
    except NoSuchTableError:
        catalog.close()
        raise
    weakref.finalize(table, catalog.close)
    return table


def rewrite_iceberg(place: str) -> None:
    """Put all rows of that table into files of another writer."""
    table = opened_iceberg(place)
    table.overwrite(table.scan().to_arrow())


def _read_iceberg(place: str, make: Callable[[str], IcebergSink] = iceberg) -> tuple[list[dict[str, Any]], list[str]]:
    """Read with polars what the table consists of, and let pyiceberg plan a scan for the names."""
    try:
        table = opened_iceberg(place, make)
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


def _read_arrow(uri: str) -> list[dict[str, Any]]:
    with STORES.open_read(uri) as file:
        return pa.ipc.open_file(file).read_all().to_pylist()


os.environ.setdefault("POLARS_ICEBERG_PLANNER", "pyiceberg")  # else it warns that another one is not installed


#: By the names of `SINKS`, each of which must be here.
KINDS: Mapping[str, Kind] = {
    "parquet": Kind(option=ParquetSink, read=_read_parquet, early={"row_group_bytes": 8}),
    "parquet with a log": Kind(
        option=partial(ParquetSink, log=True), read=_read_parquet, early={"row_group_bytes": 8}, table=_read_log
    ),
    "delta": Kind(option=DeltaSink, read=_read_parquet, early={"row_group_bytes": 8}, table=_read_delta),
    "iceberg": Kind(option=iceberg, read=_read_parquet, early={"row_group_bytes": 8}, table=_read_iceberg),
    "iceberg on postgres": Kind(
        option=iceberg_on_postgres,
        read=_read_parquet,
        early={"row_group_bytes": 8},
        table=partial(_read_iceberg, make=iceberg_on_postgres),
        like="iceberg",
    ),
    "postgres": Kind(
        option=postgres, read=_read_parquet, early={"row_group_bytes": 8}, table=_read_postgres, in_folder=False
    ),
    "json_lines": Kind(option=JsonLinesSink, read=_read_json_lines, like="text"),
    "csv": Kind(option=CsvSink, read=_read_csv, like="text"),
    "text with a log": Kind(
        option=partial(TextSink, log=True), read=_read_text, holds_columns=False, like="text", table=_logged(_read_text)
    ),
    "csv with a log": Kind(option=partial(CsvSink, log=True), read=_read_csv, like="text", table=_logged(_read_csv)),
    "json_lines with a log": Kind(
        option=partial(JsonLinesSink, log=True), read=_read_json_lines, like="text", table=_logged(_read_json_lines)
    ),
    "text": Kind(option=TextSink, read=_read_text, holds_columns=False),
    "archive": Kind(option=ArchiveSink, read=_read_archive, holds_columns=False, like="text"),
    "archive zstd": Kind(
        option=partial(ArchiveSink, compression="zstd", separator="--"),
        read=_read_archive,
        holds_columns=False,
        like="text",
    ),
    "text gzip a block": Kind(
        option=partial(TextSink, compression="gzip", per="block"), read=_read_text, holds_columns=False
    ),
    "custom": Kind(
        option=partial(CustomSink, path=f"{MODULE}:ArrowDirectory", suffix=".arrow"), read=_read_arrow, like="text"
    ),
}

assert set(SINKS) == {name.partition(" ")[0] for name in KINDS}


class Bench(testing.Bench):
    """A sink of a kind, and how tests fill it."""

    def __init__(self, kind: str, place: str, options: Mapping[str, Any] | None = None) -> None:
        """Make the sink."""
        super().__init__(KINDS[kind], place, options)
        self.kind = kind


@contextmanager
def opened(kind: str, store: str = "memory") -> Iterator[Bench]:
    """Give a sink whose place is not made yet, and is gone afterwards."""
    fsspec.filesystem("memory").store.clear()
    with TemporaryDirectory() as folder:
        on_disk = store == "disk" or KINDS[kind].table is not None
        yield Bench(kind, f"{folder}/out" if on_disk else "memory://out/")
    fsspec.filesystem("memory").store.clear()


def racing(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object], table: type[Any] = tables.Table) -> None:
    """Let something happen once, between the reading of a table and the commit."""
    left = [act]
    changes = table._changes

    def read(self: Any, *arguments: Any) -> Any:
        found = changes(self, *arguments)
        if left:
            left.pop()()
        return found

    monkeypatch.setattr(table, "_changes", read)
