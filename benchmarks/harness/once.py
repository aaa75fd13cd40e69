"""One run in a fresh Spark application: `python -m benchmarks.harness.once SIDE WORK SOURCE FOLDER` prints JSON.

`SIDE` is `spark` or `blockread`, `WORK` one of `WORKS`. Spark's own start is not timed; loading and compiling for its
first job is, for both sides.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_blockread.options import Csv, FormatOption, JsonLines, Lines
from benchmarks.harness.data import CSV_SCHEMA, JSON_SCHEMA
from benchmarks.harness.lab import Lab, Windows, require_same
from benchmarks.harness.measure import Row, Times, ratio_row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_UTC = {"spark.sql.session.timeZone": "UTC"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The same files read by both: how Spark reads them, the options for this package, the columns to compare.

    `targets` are the ratios of our speed to that of Spark and of another engine in a warm session.
    """

    theirs: Callable[[SparkSession, str], DataFrame]
    ours: FormatOption
    compared: str
    targets: Mapping[str, float]


def _csv(*, multi_line: bool, targets: Mapping[str, float]) -> Work:
    return Work(
        theirs=lambda spark, source: spark.read.schema(CSV_SCHEMA).csv(source, escape='"', multiLine=multi_line),
        ours=Csv(schema=CSV_SCHEMA),
        compared="id, user, epoch_us(ts), ms, msg",
        targets=targets,
    )


WORKS = {
    "lines": Work(
        theirs=lambda spark, source: spark.read.text(source),
        ours=Lines(),
        compared="value",
        targets={"Spark": 1.6, "polars": 0.8},
    ),
    "csv": _csv(multi_line=False, targets={"Spark": 5, "polars": 0.75}),
    "quoted_csv": _csv(multi_line=True, targets={"Spark": 6, "polars": 0.7}),
    "json_lines": Work(
        theirs=lambda spark, source: spark.read.schema(JSON_SCHEMA).json(source),
        ours=JsonLines(schema=JSON_SCHEMA),
        compared="id, epoch_us(ts), level, ms, msg",
        targets={"Spark": 3.5, "DuckDB": 0.9},
    ),
}


def main(side: str, name: str, source: str, folder: str) -> None:
    """Do one side's work and print its cost."""
    place, work = Path(folder), WORKS[name]
    with Lab(scratch=place, size=0, files=0, rounds=1).spark(cores=2, conf=_UTC) as spark:
        windows = Windows(place / "ours", Path(source), work.ours, spark)
        windows.prepare()
        spark.range(1).count()
        times = Times()
        if side == "blockread":
            times.add(windows.run)
        else:
            times.add(lambda: work.theirs(spark, source).write.mode("overwrite").parquet(str(place / "theirs")))
    print(json.dumps({"seconds": times.seconds, "cpu_seconds": times.cpu_seconds}))


def compare(lab: Lab, name: str, source: Path, what: str, at_least: float | None = None) -> Row:
    """Return the row for one source where each run is the first of its application."""
    folder = lab.folder("once")
    his, own = Times(), Times()
    for _ in range(lab.rounds):
        _measure("spark", name, source, folder, his)
        _measure("blockread", name, source, folder, own)
    require_same(folder / "theirs", folder / "ours" / "output", WORKS[name].compared)
    shutil.rmtree(folder)
    size = source.stat().st_size
    row = f"{size / 1e9:.2f} GB {what}, fresh application"
    return ratio_row(row, (his, own), (size / 1e6, "MB"), at_least=at_least)


def _measure(side: str, name: str, source: Path, folder: Path, times: Times) -> None:
    command = [sys.executable, "-m", "benchmarks.harness.once", side, name, str(source), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - this program
    if done.returncode:
        msg = f"{side} failed with code {done.returncode}: {done.stderr[-2000:]}"
        raise RuntimeError(msg)
    found = json.loads(done.stdout.splitlines()[-1])
    times.seconds += found["seconds"]
    times.cpu_seconds += found["cpu_seconds"]


if __name__ == "__main__":
    main(*sys.argv[1:])
