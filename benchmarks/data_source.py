"""Queries on `spark.read.format("blockread")` against Spark's own readers, alternately in one session of two cores."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_blockread.spark import register
from benchmarks.harness.data import CSV_SCHEMA, JSON_SCHEMA, json_line, log_line, quoted_csv_row, write_lines
from benchmarks.harness.lab import Lab
from benchmarks.harness.measure import Contender, Row, alternate, ratio_row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CONF = {"spark.python.unix.domain.socket.enabled": "true", "spark.sql.session.timeZone": "UTC"}
_LENGTH, _OCTETS = "sum(length(value))", "sum(octet_length(value))"
_ALL = "bit_xor(xxhash64(*)), count(*)"  # of every value, so that no column is left out, and results can be compared
_LINES_TARGET, _CSV_TARGET, _JSON_TARGET = 0.9, 3, 1.5


def run(lab: Lab) -> Iterator[Row]:
    """Yield rows for lines, for csv of a quarter of the size, and for JSON lines of half of it."""
    folder = lab.folder("data_source")
    lines, csv, json = (folder / name for name in ("requests.log", "requests.csv", "events.jsonl"))
    write_lines(lines, lab.size, log_line)
    write_lines(csv, lab.size // 4, quoted_csv_row)
    write_lines(json, lab.size // 2, json_line)
    with lab.spark(cores=2, conf=_CONF) as spark:
        register(spark)
        text, ours = spark.read.text(str(lines)), _ours(spark, lines)
        yield _compare(lab, lines, f"lines, {_LENGTH}", (text, ours), _LENGTH, _LINES_TARGET)
        yield _compare(lab, lines, f"lines, {_OCTETS}", (text, ours), _OCTETS, None)
        theirs = spark.read.csv(str(csv), schema=CSV_SCHEMA, multiLine=True, escape='"')
        ours = _ours(spark, csv, CSV_SCHEMA, format="csv")
        yield _compare(lab, csv, "csv, newlines in quotes, typed", (theirs, ours), _ALL, _CSV_TARGET)
        theirs = spark.read.json(str(json), schema=JSON_SCHEMA)
        ours = _ours(spark, json, JSON_SCHEMA, format="json_lines")
        yield _compare(lab, json, "JSON lines, typed", (theirs, ours), _ALL, _JSON_TARGET)
    shutil.rmtree(folder)


def _ours(spark: SparkSession, file: Path, schema: str | None = None, **options: str) -> DataFrame:
    reader = spark.read.format("blockread").options(**options)
    return (reader if schema is None else reader.schema(schema)).load(str(file))


def _compare(
    lab: Lab, file: Path, what: str, frames: tuple[DataFrame, DataFrame], query: str, at_least: float | None
) -> Row:
    found: list[set[object]] = [set(), set()]

    def contender(side: int) -> Contender:
        answer = frames[side].selectExpr(*query.split(", "))
        return Contender(run=lambda: found[side].add(answer.first()))

    both = alternate([contender(0), contender(1)], lab.rounds)
    if found[0] != found[1] or len(found[0]) != 1:
        msg = f"results differ: Spark has {found[0]}, blockread {found[1]}; no times are printed"
        raise ValueError(msg)
    size = file.stat().st_size
    return ratio_row(f"data source: {size / 1e9:.2f} GB {what}", both, (size / 1e6, "MB"), at_least=at_least)
