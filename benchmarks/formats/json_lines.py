"""JSON lines with a schema into Parquet at `local[2]`: `spark.read.schema(..).json` against a window.

Then the same lines with a few bad ones, which are dropped, against the clean ones.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_blockread.options import JsonLines, Policies
from benchmarks.harness.data import JSON_SCHEMA, json_line, write_lines
from benchmarks.harness.lab import Lab, Windows, require_same
from benchmarks.harness.measure import Contender, Row, alternate, ratio_row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TARGET = 2.6
_BAD_TARGET = 0.5  # of the clean speed
_COMPARED = "id, epoch_us(ts), level, ms, msg"
_SPOILT = (  # each kind is detected in another way
    lambda line: line.replace('"id": ', '"id": 1.5e', 1),
    lambda line: line[:60],
    lambda line: line.replace('"ms": ', '"ms": "many", "more": ', 1),
    lambda line: line.replace("2024-05-", "2024-55-", 1),
)


def run(lab: Lab) -> Iterator[Row]:
    """Yield a row against Spark, over half the size of the other benchmarks, and rows for bad lines."""
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
        yield ratio_row(f"{size / 1e9:.2f} GB JSON lines, typed", both, (size / 1e6, "MB"), at_least=_TARGET)
        yield _with_bad(lab, spark, source, 1000, _BAD_TARGET)
        yield _with_bad(lab, spark, source, 100, None)
    shutil.rmtree(folder)


def _with_bad(lab: Lab, spark: SparkSession, clean: Path, every: int, at_least: float | None) -> Row:
    """Return the row of a file with one bad line among `every`; the rival is this package on the clean file."""
    source = clean.with_name(f"bad-{every}.jsonl")
    size = write_lines(source, lab.size // 2, _spoiling(every))
    place, fmt, drop = lab.folder("json_lines_bad"), JsonLines(schema=JSON_SCHEMA), Policies(on_bad_record="drop")
    windows = [Windows(place / file.stem, file, fmt, spark, policies=drop) for file in (clean, source)]
    rival, ours = (Contender(prepare=window.prepare, run=window.run) for window in windows)
    both = alternate(rival, ours, lab.rounds)
    work = f"{size / 1e9:.2f} GB JSON lines, one in {every} bad, against clean ones"
    return ratio_row(work, both, (size / 1e6, "MB"), at_least=at_least)


def _spoiling(every: int) -> Callable[[int, random.Random], str]:
    def line(number: int, chance: random.Random) -> str:
        whole = json_line(number, chance)
        return whole if chance.randrange(every) else chance.choice(_SPOILT)(whole)

    return line
