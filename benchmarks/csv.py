"""Typed csv into Parquet at `local[2]`: `spark.read.schema(..).csv` against a window; and the scan for quotes alone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.records import ByteSource, make_format
from airflow_provider_blockread.records.reading import bind
from benchmarks.data import CSV_SCHEMA, csv_row, quoted_csv_row, write_lines
from benchmarks.lab import Lab, Windows, require_same
from benchmarks.measure import Contender, Row, Times, alternate, ratio_row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PLAIN_TARGET = 6
_QUOTED_TARGET = 8
_SCAN_TARGET = 1000  # MB/s
_BLOCK = 64 * 2**20
_COMPARED = "id, user, epoch_us(ts), ms, msg"


def run(lab: Lab) -> Iterator[Row]:
    """Yield rows for plain csv and for newlines in quotes, over a quarter of the size of the other benchmarks."""
    folder = lab.folder("csv")
    plain, quoted = folder / "plain" / "requests.csv", folder / "quoted" / "requests.csv"
    write_lines(plain, lab.size // 4, csv_row)
    write_lines(quoted, lab.size // 4, quoted_csv_row)
    with lab.spark(cores=2, conf={"spark.sql.session.timeZone": "UTC"}) as spark:
        yield _compare(lab, spark, plain, multi_line=False)
        yield _compare(lab, spark, quoted, multi_line=True)
    for source in (plain, quoted):
        yield _scan(lab, source)
    shutil.rmtree(folder)


def _compare(lab: Lab, spark: SparkSession, source: Path, *, multi_line: bool) -> Row:
    folder = lab.folder("csv_windows")
    theirs, ours = folder / "theirs", Windows(folder / "ours", source, Csv(schema=CSV_SCHEMA), spark)
    rival = Contender(
        prepare=lambda: shutil.rmtree(theirs, ignore_errors=True),
        run=lambda: (
            spark.read.schema(CSV_SCHEMA).csv(str(source), escape='"', multiLine=multi_line).write.parquet(str(theirs))
        ),
    )
    both = alternate(rival, Contender(prepare=ours.prepare, run=ours.run), lab.rounds)
    require_same(theirs, ours.output, _COMPARED)
    shutil.rmtree(folder)
    size = source.stat().st_size
    what = "with newlines in quotes" if multi_line else "without quotes"
    target = _QUOTED_TARGET if multi_line else _PLAIN_TARGET
    return ratio_row(f"{size / 1e9:.2f} GB csv {what}, typed", both, (size / 1e6, "MB"), at_least=target)


def _scan(lab: Lab, source: Path) -> Row:
    size, times = source.stat().st_size, Times()
    with source.open("rb") as file:
        for number in range(lab.rounds + 1):
            (times if number else Times()).add(lambda: _scan_all(ByteSource(file)))
    rate = size / 1e6 / times.best
    return Row(
        work=f"scan of {size / 1e9:.2f} GB {source.parent.name} csv, one core",
        rival="",
        ours=times.show(size / 1e6, "MB"),
        target=f">= {_SCAN_TARGET:,} MB/s",
        met=rate >= _SCAN_TARGET,
    )


def _scan_all(source: ByteSource) -> None:
    """Find the state at the file's end as a window does: a map for each block, composed."""
    fmt = bind(source, make_format(Csv(schema=CSV_SCHEMA)))
    state = fmt.initial_state
    for start in range(source.data_offset, source.size, _BLOCK):
        state = fmt.scan(source, start, min(start + _BLOCK, source.size))(state)
    if state != fmt.initial_state:
        msg = f"the scan says that the file ends in state {state}"
        raise ValueError(msg)
