"""JSON lines with a schema into Parquet at `local[2]`: `spark.read.schema(..).json` against a window; and bad lines."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from airflow_provider_blockread.options import JsonLines
from benchmarks.harness import warm
from benchmarks.harness.bad import bad_rows
from benchmarks.harness.data import JSON_SCHEMA, json_line, write_lines
from benchmarks.harness.lab import Lab
from benchmarks.harness.measure import Row

_SPOILT = (  # each kind is detected in another way
    lambda line: line.replace('"id": ', '"id": 1.5e', 1),
    lambda line: line[:60],
    lambda line: line.replace('"ms": ', '"ms": "many", "more": ', 1),
    lambda line: line.replace("2024-05-", "2024-55-", 1),
)


def run(lab: Lab) -> Iterator[Row]:
    """Yield a row beside other engines, and rows for bad lines among a quarter of the size."""
    folder = lab.folder("json_lines")
    source = folder / "source" / "events.jsonl"
    write_lines(source, lab.size, json_line)
    with lab.spark(cores=2, conf={"spark.sql.session.timeZone": "UTC"}) as spark:
        yield warm.compare(lab, spark, "json_lines", source, "JSON lines, typed")
        yield from bad_rows(lab, spark, JsonLines(schema=JSON_SCHEMA), json_line, _SPOILT)
    shutil.rmtree(folder)
