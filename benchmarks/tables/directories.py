"""Rows that one task writes into a directory, plain, partitioned and sorted, against a library that writes the same."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from airflow_provider_blockread.options import CsvSink, JsonLinesSink, ParquetSink, Sink
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.registry import make_sink
from airflow_provider_blockread.storage import Stores
from benchmarks.harness.lab import Lab
from benchmarks.harness.measure import Contender, Row, alternate, ratio_row

_ROW_BYTES = 256  # of the option `size`: a row for each, four million at 1 GiB
_BATCH = 65_536
_DAYS = 20
_NAME = AttemptName(window="b", generation=1, group=0, epoch=1, attempt=0)


def run(lab: Lab) -> Iterator[Row]:
    """Yield a row for each way to write."""
    rows = _rows(max(lab.size // _ROW_BYTES, 10_000))
    hive = ds.partitioning(pa.schema([("day", pa.date32())]), flavor="hive")
    yield _compared(lab, rows, "Parquet files", ParquetSink, lambda out: pq.write_table(rows, f"{out}/rows.parquet"))
    yield _compared(
        lab,
        rows,
        f"Parquet files in {_DAYS} partitions",
        lambda out: ParquetSink(out, partition_by=["day"]),
        lambda out: ds.write_dataset(rows, out, format="parquet", partitioning=hive, use_threads=False),
    )
    yield _compared(
        lab,
        rows,
        "Parquet files, sorted by two columns, in bounded memory",
        lambda out: ParquetSink(out, sort_by=["name", "id"], row_group_bytes=16 * 2**20),
        lambda out: pq.write_table(rows.sort_by([("name", "ascending"), ("id", "ascending")]), f"{out}/rows.parquet"),
        at_least=0.5,
    )
    yield _compared(lab, rows, "csv", CsvSink, lambda out: pc_csv.write_csv(rows, f"{out}/rows.csv"), at_least=0.7)
    few = rows.slice(0, rows.num_rows // 8)
    frame = pl.from_arrow(few)
    assert isinstance(frame, pl.DataFrame)  # noqa: S101 - for the type checker
    yield _compared(
        lab, few, "JSON lines", JsonLinesSink, lambda out: frame.write_ndjson(f"{out}/rows.jsonl"), at_least=None
    )


def _compared(
    lab: Lab,
    rows: pa.Table,
    what: str,
    option: Callable[[str], Sink],
    rival: Callable[[str], object],
    at_least: float | None = 0.7,
) -> Row:
    place = lab.folder("written")

    def prepare() -> None:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()

    ours = Contender(prepare=prepare, run=lambda: _write(rows, option(str(place / "out")), place))
    other = Contender(prepare=prepare, run=lambda: rival(str(place)))
    times = alternate((other, ours), lab.rounds)
    work = f"one task writes {rows.num_rows:,} rows: {what}"
    return ratio_row(work, times, (rows.num_rows, "rows"), at_least=at_least)


def _write(rows: pa.Table, option: Sink, place: Path) -> None:
    sink = make_sink(Stores(), option)
    writer = sink.writer(sink.prepare(rows.schema, str(place / "staged")), _NAME, rows.schema)
    for batch in rows.to_batches(_BATCH):
        writer.write(batch)
    if sum(file.rows for file in writer.close()) != rows.num_rows:
        msg = "rows are missing"
        raise ValueError(msg)


def _rows(number: int) -> pa.Table:
    ids = pa.array(range(number), pa.int64())
    return pa.table(
        {
            "id": ids,
            "at": ids.cast(pa.timestamp("ms")).cast(pa.timestamp("us")),
            "name": pa.array([f"customer {n * 7919 % 1000} of region {n % 7}" for n in range(number)]),
            "amount": pa.array([n / 8 for n in range(number)]),
            "day": pa.array([n * _DAYS // number for n in range(number)], pa.int32()).cast(pa.date32()),
        }
    )
