"""Typed csv into Parquet at `local[2]`: `spark.read.schema(..).csv` against a window; bad rows; and the scan alone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq

from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.records import ByteSource, make_format
from airflow_provider_blockread.records.reading import bind
from airflow_provider_blockread.sinks.columnar.encodings import choose_encodings
from benchmarks.harness import once, warm
from benchmarks.harness.bad import bad_rows
from benchmarks.harness.data import CSV_SCHEMA, csv_row, quoted_csv_row, write_lines
from benchmarks.harness.lab import Lab
from benchmarks.harness.measure import Contender, Row, alternate, ratio_row

_SCAN_TARGET = 1000  # MB/s
_FIRST_ROWS, _LARGER = 2**20, 1.05
_SPOILT = (  # each kind is detected in another way
    lambda row: row.replace(",", ",1.5e", 1),
    lambda row: row.rpartition(",")[0],
    lambda row: f"{row},more",
    lambda row: row.replace("2024-05-", "2024-55-", 1),
)
_BLOCK = 64 * 2**20


def run(lab: Lab) -> Iterator[Row]:
    """Yield rows for plain csv, for newlines in quotes, for bad rows among a quarter of the size, and for the scan."""
    folder = lab.folder("csv")
    plain, quoted = folder / "plain" / "requests.csv", folder / "quoted" / "requests.csv"
    write_lines(plain, lab.size, csv_row)
    write_lines(quoted, lab.size, quoted_csv_row)
    works = (("csv", plain, "csv without quotes, typed"), ("quoted_csv", quoted, "csv with newlines in quotes, typed"))
    for name, source, what in () if lab.quick else works:
        yield once.compare(lab, name, source, what)
    with lab.spark(cores=2, conf={"spark.sql.session.timeZone": "UTC"}) as spark:
        for name, source, what in works:
            yield warm.compare(lab, spark, name, source, what)
        yield from bad_rows(lab, spark, Csv(schema=CSV_SCHEMA), csv_row, _SPOILT)
    for source in (plain, quoted):
        yield _scan(lab, source)
    yield _encodings(lab, plain)
    shutil.rmtree(folder)


def _scan(lab: Lab, source: Path) -> Row:
    size = source.stat().st_size
    with source.open("rb") as file:
        (times,) = alternate([Contender(run=lambda: _scan_all(ByteSource(file)))], lab.rounds)
    rate = size / 1e6 / times.best
    return Row(
        work=f"scan of {size / 1e9:.2f} GB {source.parent.name} csv, one core",
        rival="",
        ours=times.show(size / 1e6, "MB"),
        target=f">= {_SCAN_TARGET:,} MB/s",
        met=rate >= _SCAN_TARGET,
    )


def _encodings(lab: Lab, source: Path) -> Row:
    """Return the row of the columns of a csv file, encoded as a sink chooses to, against Arrow's defaults."""
    folder, names = lab.folder("encodings"), [column.split()[0] for column in CSV_SCHEMA.split(", ")]
    table = pyarrow.csv.read_csv(source, pyarrow.csv.ReadOptions(column_names=names))
    options = {"default": {}, "chosen": choose_encodings(table[:_FIRST_ROWS], "snappy")}
    files = {name: folder / f"{name}.parquet" for name in options}
    sides = [Contender(run=partial(pq.write_table, table, files[name], **given)) for name, given in options.items()]
    size = table.nbytes / 1e6
    row = ratio_row(
        f"Parquet of {size:,.0f} MB of csv columns", alternate(sides, lab.rounds), (size, "MB"), at_least=0.95
    )
    default, ours = (files[name].stat().st_size / 1e6 for name in options)
    small = ours <= default * _LARGER
    return replace(
        row,
        rival=f"default encodings: {row.rival}, {default:,.0f} MB",
        ours=f"{row.ours}, {ours:,.0f} MB",
        target=f"{row.target}, <= {_LARGER:g} x as large",
        met=small and row.met,
    )


def _scan_all(source: ByteSource) -> None:
    """Find the state at the file's end as a window does, by composing a map for each block."""
    fmt = bind(source, make_format(Csv(schema=CSV_SCHEMA)))
    state = fmt.initial_state
    for start in range(source.data_offset, source.size, _BLOCK):
        state = fmt.scan(source, start, min(start + _BLOCK, source.size))(state)
    if state != fmt.initial_state:
        msg = f"the scan says that the file ends in state {state}"
        raise ValueError(msg)
