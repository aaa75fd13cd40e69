"""Windows of many files into tables of files and into a directory, and commits to tables with many windows.

A rival is the library alone: one commit of the same files to a table of its own, and each footer read once, since no
commit should trust a file that it has not seen.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, Schema
from deltalake.transaction import AddAction, create_table_with_add_actions
from pyiceberg.catalog import Catalog, load_catalog

from airflow_provider_blockread.exchange.model import OutputFile, Submission
from airflow_provider_blockread.options import DeltaSink, IcebergSink, JsonLines, ParquetSink, Sink, Splitting
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import Earlier, Marker
from airflow_provider_blockread.sinks.registry import make_sink
from airflow_provider_blockread.spark.driver import Driver
from airflow_provider_blockread.spark.engines.in_process import InProcessEngine
from airflow_provider_blockread.storage.stores import Stores
from benchmarks.harness.lab import Lab, Windows
from benchmarks.harness.measure import Contender, Row, Times, alternate, limit_row, ratio_row

_FILES = 1000  # of a window
_EARLIER = 1000  # windows, at the default of the option `files`
_SCHEMA = pa.schema([("id", pa.int64()), ("msg", pa.string())])


class Library(Protocol):
    """A table format as its library alone is used."""

    def option(self, folder: Path) -> Sink:
        """Return a table of ours in an empty folder, whose files are as small as they can be."""

    def place(self, folder: Path, files: Sequence[Path]) -> Sequence[Path]:
        """Put files where a table in the folder may have them, and return where that is."""

    def create(self, folder: Path, files: Sequence[Path]) -> None:
        """Read each footer, and make a table of these files in one commit."""

    def append(self, folder: Path, file: Path, rows: int) -> None:
        """Load our table, and add a file in one commit."""


class _Delta:
    def option(self, folder: Path) -> DeltaSink:
        return DeltaSink(str(folder / "table"), file_bytes=1)

    def place(self, folder: Path, files: Sequence[Path]) -> Sequence[Path]:
        for file in files:
            os.link(file, folder / file.name)
        return [folder / file.name for file in files]

    def create(self, folder: Path, files: Sequence[Path]) -> None:
        rows = [pq.read_metadata(file).num_rows for file in files]
        adds = [self._added(file, number) for file, number in zip(files, rows, strict=True)]
        create_table_with_add_actions(str(folder), Schema.from_arrow(_SCHEMA), adds, mode="error")

    def append(self, folder: Path, file: Path, rows: int) -> None:
        table = DeltaTable(str(folder / "table"))
        table.create_write_transaction([self._added(file, rows)], mode="append", schema=table.schema())

    def _added(self, file: Path, rows: int) -> AddAction:
        return AddAction(file.name, file.stat().st_size, {}, 0, data_change=True, stats=f'{{"numRecords": {rows}}}')


class _Iceberg:
    def option(self, folder: Path) -> IcebergSink:
        return IcebergSink(
            "db.events", catalog_properties=self._properties(folder), work_uri=str(folder / "work"), file_bytes=1
        )

    def place(self, folder: Path, files: Sequence[Path]) -> Sequence[Path]:
        del folder
        return files

    def create(self, folder: Path, files: Sequence[Path]) -> None:
        for file in files:
            pq.read_metadata(file)
        catalog = self._catalog(folder)
        catalog.create_namespace_if_not_exists("db")
        made = catalog.create_table("db.events", schema=_SCHEMA)
        made.add_files([str(file) for file in files], check_duplicate_files=False)

    def append(self, folder: Path, file: Path, rows: int) -> None:
        del rows
        table = self._catalog(folder).load_table("db.events")
        table.add_files([str(file)], check_duplicate_files=False)

    def _catalog(self, folder: Path) -> Catalog:
        return load_catalog("default", **self._properties(folder))

    def _properties(self, folder: Path) -> dict[str, str]:
        return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/lake"}


_LIBRARIES: dict[str, Library] = {"Delta": _Delta(), "Iceberg": _Iceberg()}


def run(lab: Lab) -> Iterator[Row]:
    """Yield rows for a directory, and for each format of tables."""
    source = lab.folder("table_source")
    lines = (b'{"id": %d, "msg": "message %d"}\n' % (number, number) for number in range(_FILES))
    (source / "rows.jsonl").write_bytes(b"".join(lines))
    yield _into_a_directory(lab, source)
    for name, library in _LIBRARIES.items():
        yield from _into_a_table(lab, source, name, library)
        yield _after_many_windows(lab, name, library)


@dataclass(slots=True)
class _Here(Windows):
    """Windows of one file a block, read in this process."""

    def submit(self, submission: Submission, *, name: str) -> None:
        """Run the job."""
        del name
        Driver(submission=submission, engine=InProcessEngine(1)).run()


def _windows(lab: Lab, source: Path, sink: Sink, number: int) -> _Here:
    """Return a window that is read, and is to be committed."""
    made = JsonLines(schema="id long, msg string")
    return _Here(lab.folder(f"window_{number}"), source, made, splitting=Splitting(block_size=20, max_groups=1), sink=sink)


def _into_a_directory(lab: Lab, source: Path) -> Row:
    times = Times()
    for _ in range(lab.rounds):
        folder = lab.folder("directory")
        windows = _windows(lab, source, ParquetSink(str(folder / "out"), file_bytes=1), 0)
        windows.prepare()
        windows.run()
        _require(len(list((folder / "out").glob("*.parquet"))))
        times.seconds.append(windows.seconds["commit"])
    return limit_row(f"commit of {_FILES:,} files to a local directory, proof included", times, 2.0)


def _into_a_table(lab: Lab, source: Path, name: str, library: Library) -> Iterator[Row]:
    ours, rival = Times(), Times()
    for number in range(lab.rounds):
        folder, other = lab.folder("table"), lab.folder("rival")
        windows = _windows(lab, source, library.option(folder), number)
        windows.prepare()
        windows.run()
        ours.seconds.append(windows.seconds["commit"])
        files = sorted(folder.rglob("part-*.parquet"))
        _require(len(files))
        placed = library.place(other, files)
        rival.add(lambda folder=other, files=placed: library.create(folder, files))  # type: ignore[misc]
    work = f"commit of a window of {_FILES:,} files to {name}, from its claim to the end, proof included"
    shown = f"{rival.best:.2f} s, {name}'s library, and each footer once"
    yield limit_row(work, ours, min(3.0, 2 * rival.best), rival=shown)


def _after_many_windows(lab: Lab, name: str, library: Library) -> Row:
    folder = lab.folder("many")
    table = _Many(library, folder)
    earlier = max(lab.files * _EARLIER // 100_000, 10)
    for _ in range(earlier):
        table.stage()
        table.commit()
    ours = Contender(prepare=table.stage, run=table.commit)
    bare = Contender(prepare=table.stage, run=table.append)
    times = alternate((bare, ours), lab.rounds)
    work = f"commit to {name} that looks for its marker, after {earlier:,} windows, against the library's alone"
    return ratio_row(work, times, (1, "commits"), at_least=1 / 1.5)


class _Many:
    """A table that gets windows of one file; each replaces what the one before has published."""

    def __init__(self, library: Library, folder: Path) -> None:
        self._library, self._folder, self._numbers = library, folder, count(1)
        self._sink = make_sink(Stores(), library.option(folder))
        self._target = self._sink.prepare(None, "")
        self._files: list[OutputFile] = []

    def stage(self) -> None:
        self._window = f"w{next(self._numbers):011d}"
        name = AttemptName(window=self._window, generation=1, group=0, epoch=1, attempt=0)
        writer = self._sink.writer(self._target, name, _SCHEMA)
        writer.write(pa.RecordBatch.from_pydict({"id": [1], "msg": ["x"]}, schema=_SCHEMA))
        self._files = [self._sink.placed(file) for file in writer.close()]

    def commit(self) -> None:
        known = {"ledger": "benchmark", "feed": "f", "window": self._window}
        marker = Marker(**known, number=3, at=datetime.now(UTC), is_recorded=lambda *_: True)
        self._sink.apply(self._sink.steps(self._files, Earlier()), marker, lambda: None)

    def append(self) -> None:
        (file,) = self._files
        self._library.append(self._folder, Path(file.uri.removeprefix("file://")), file.rows)


def _require(files: int) -> None:
    if files != _FILES:
        msg = f"{files} files were written instead of {_FILES}"
        raise ValueError(msg)
