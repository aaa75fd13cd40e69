"""JSON lines with a schema into Parquet at `local[2]`: `spark.read.schema(..).json` against a window."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from airflow_provider_blockread.options import JsonLines
from benchmarks.data import JSON_SCHEMA, json_line, write_lines
from benchmarks.lab import Lab, Windows, require_same
from benchmarks.measure import Contender, Row, alternate, ratio_row

_TARGET = 2.6
_COMPARED = "id, epoch_us(ts), level, ms, msg"


def run(lab: Lab) -> Iterator[Row]:
    """Yield one row, over half the size of the other benchmarks."""
    folder = lab.folder("json_lines")
    source = folder / "source" / "events.jsonl"
    size = write_lines(source, lab.size // 2, json_line)
    theirs = folder / "theirs"
    with lab.spark(cores=2, conf={"spark.sql.session.timeZone": "UTC"}) as spark:
        ours = Windows(folder / "ours", source, JsonLines(schema=JSON_SCHEMA), spark)
        rival = Contender(
            prepare=lambda: shutil.rmtree(theirs, ignore_errors=True),
            run=lambda: spark.read.schema(JSON_SCHEMA).json(str(source)).write.parquet(str(theirs)),
        )
        both = alternate(rival, Contender(prepare=ours.prepare, run=ours.run), lab.rounds)
    require_same(theirs, ours.output, _COMPARED)
    shutil.rmtree(folder)
    yield ratio_row(f"{size / 1e9:.2f} GB JSON lines, typed", both, (size / 1e6, "MB"), at_least=_TARGET)
