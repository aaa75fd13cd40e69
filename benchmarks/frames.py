"""DataFrame functions over typed csv at `local[2]`: a window that stages its records against `spark.read.csv`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

from airflow_provider_blockread.options import Csv, DataFrameFunction
from benchmarks.harness.data import CSV_SCHEMA, csv_row, write_lines
from benchmarks.harness.lab import Lab, Windows, require_same
from benchmarks.harness.measure import Contender, Row, alternate, ratio_row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def aggregate(records: DataFrame) -> DataFrame:
    """Return a row for each of a thousand users."""
    return records.selectExpr("user % 1000 AS who", "ms", "msg").groupBy("who").agg({"ms": "max", "msg": "max"}).toDF(
        "who", "ms", "msg"
    )  # fmt: skip


def filtered(records: DataFrame) -> DataFrame:
    """Return one record in a hundred."""
    return records.filter("user % 100 = 7")


def self_join(records: DataFrame) -> DataFrame:
    """Return each record's time beside that of the record before."""
    before = records.selectExpr("id + 1 AS id", "ts AS before").dropDuplicates()  # the file repeats its rows
    return records.select("id", "ts").join(before, "id")


#: The columns by which results are compared.
WORKS = {aggregate: "who, ms, msg", filtered: "id, user, ms, msg", self_join: "id, epoch_us(ts), epoch_us(before)"}


def run(lab: Lab) -> Iterator[Row]:
    """Yield a row for each function, over a quarter of the size of the other benchmarks."""
    folder = lab.folder("frames")
    source, size = folder / "in" / "requests.csv", lab.size // 4
    write_lines(source, size, csv_row)
    with lab.spark(cores=2, conf={"spark.sql.session.timeZone": "UTC"}) as spark:
        for function, compared in WORKS.items():
            theirs, option = folder / "theirs", DataFrameFunction(f"{__name__}:{function.__name__}")
            ours = Windows(folder / "ours", source, Csv(schema=CSV_SCHEMA), spark, function=option)
            rival = Contender(
                prepare=lambda: shutil.rmtree(theirs, ignore_errors=True),  # noqa: B023 - called in this round
                run=lambda: function(spark.read.csv(str(source), schema=CSV_SCHEMA)).write.parquet(str(theirs)),  # noqa: B023
            )
            both = alternate([rival, ours], lab.rounds)
            require_same(theirs, ours.output, compared)
            what = (
                f"{source.stat().st_size / 1e9:.2f} GB csv, typed, {function.__name__.replace('_', '-')} of a DataFrame"
            )
            yield ratio_row(what, both, (source.stat().st_size / 1e6, "MB"))
    shutil.rmtree(folder)
