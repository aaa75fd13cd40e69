"""Windows of many files into tables of files and into a directory, and commits to tables with many windows.

A rival is the library alone: one commit of the same files to a table of its own, and each footer read once, since no
commit should trust a file that it has not seen.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, Schema
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.io.pyarrow import parquet_files_to_data_files

from airflow_provider_blockread.exchange.model import OutputFile, Submission
from airflow_provider_blockread.options import DeltaSink, IcebergSink, JsonLines, ParquetSink, Sink, Splitting
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import Change, Earlier, Marker
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

    def commit(self, folder: Path, file: OutputFile, replaced: OutputFile | None) -> None:
        """Load our table, and add a file in one commit, in the place of another one that is known to be there."""


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

    def commit(self, folder: Path, file: OutputFile, replaced: OutputFile | None) -> None:
        table = DeltaTable(str(folder / "table"))
        actions: list[AddAction | RemoveAction] = [self._added(_path(file), file.rows)]
        actions += [RemoveAction(_path(replaced).name, data_change=True, deletion_timestamp=0)] if replaced else []
        table.create_write_transaction(actions, mode="append", schema=table.schema())

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

    def commit(self, folder: Path, file: OutputFile, replaced: OutputFile | None) -> None:
        table = self._catalog(folder).load_table("db.events")
        if replaced is None:
            table.add_files([file.uri], check_duplicate_files=False)
            return
        new, old = parquet_files_to_data_files(table.io, table.metadata, iter([file.uri, replaced.uri]))
        old.spec_id = table.metadata.default_spec_id
        with table.transaction() as change, change.update_snapshot().overwrite() as update:
            update.append_data_file(new)
            update.delete_data_file(old)

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
        yield from _after_many_windows(lab, name, library)


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
    return _Here(
        lab.folder(f"window_{number}"), source, made, splitting=Splitting(block_size=20, max_groups=1), sink=sink
    )


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


def _after_many_windows(lab: Lab, name: str, library: Library) -> Iterator[Row]:
    folder = lab.folder("many")
    table = _Many(library, folder)
    earlier = max(lab.files * _EARLIER // 100_000, 10)
    for _ in range(earlier):
        table.stage()
        table.commit()
    for what, generation in (("adds a window", 1), ("replaces a window's files", 2)):
        prepare = partial(table.stage, generation)
        times = alternate([Contender(prepare=prepare, run=run) for run in (table.bare, table.commit)], lab.rounds)
        work = f"commit to {name} that looks for its marker and {what}, after {earlier:,} windows"
        yield ratio_row(f"{work}, against the library's alone", times, (1, "commits"), at_least=1 / 1.5)


class _Many:
    """A table that gets windows of one file."""

    def __init__(self, library: Library, folder: Path) -> None:
        self._library, self._folder, self._numbers = library, folder, count(1)
        self._sink = make_sink(Stores(), library.option(folder))
        self._target = self._sink.prepare(None, "")
        self._files: dict[int, list[OutputFile]] = {}  # by generation

    def stage(self, generation: int = 1) -> None:
        """Write the file of a new window; where it is to replace one, the window's first generation is published."""
        self._window, self._files = f"w{next(self._numbers):011d}", {}
        for number in range(1, generation + 1):
            if self._files:
                self.commit()
            self._files[number] = self._written(number)

    def commit(self) -> None:
        """Publish the newest generation."""
        newest = max(self._files)
        number = Marker.number_of(newest, Change.PUBLISH)
        marker = Marker(
            ledger="benchmark",
            feed="f",
            window=self._window,
            number=number,
            at=datetime.now(UTC),
            is_recorded=lambda *_: True,
        )
        before = {number: files for number, files in self._files.items() if number < newest}
        earlier = Earlier(before, max(before, default=None))
        self._sink.apply(self._sink.steps(self._files[newest], earlier), marker, lambda: None)

    def bare(self) -> None:
        """Commit the same by the library alone."""
        new, *old = [file for number in sorted(self._files, reverse=True) for file in self._files[number]]
        self._library.commit(self._folder, new, next(iter(old), None))

    def _written(self, generation: int) -> list[OutputFile]:
        name = AttemptName(window=self._window, generation=generation, group=0, epoch=1, attempt=0)
        writer = self._sink.writer(self._target, name, _SCHEMA)
        writer.write(pa.RecordBatch.from_pydict({"id": [1], "msg": ["x"]}, schema=_SCHEMA))
        return [self._sink.placed(file) for file in writer.close()]


def _path(file: OutputFile) -> Path:
    return Path(file.uri.removeprefix("file://"))


def _require(files: int) -> None:
    if files != _FILES:
        msg = f"{files} files were written instead of {_FILES}"
        raise ValueError(msg)
