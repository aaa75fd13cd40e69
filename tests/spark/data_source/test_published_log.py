"""How Spark reads a directory by its log: the lines of docs/sinks.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airflow_provider_blockread.sinks.protocol import Change
from tests.sinks.kinds import Bench

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_PAGE = Path(__file__).parents[3] / "docs" / "sinks.md"


def test_spark_reads_text_that_the_log_names(spark: SparkSession, tmp_path: Path) -> None:
    """By the same lines, with another reader at their end."""
    bench = Bench("text with a log", str(tmp_path / "out"))
    old = bench.publish("a", "b")
    bench.apply(bench.steps(bench.stage("x", generation=2), old))
    Path(bench.place, "part-stray.txt").write_text("stray\n")
    rows = _documented()(spark, bench.place, lambda reader, files: reader.text(files))

    assert sorted(row.value for row in rows.collect()) == bench.values() == ["x", "x"]


def _documented() -> Any:
    """Return the function on the page."""
    (lines,) = [
        text for text in re.findall(r"```python\n(.*?)```", _PAGE.read_text(), re.DOTALL) if "spark.sql" in text
    ]
    names: dict[str, Any] = {}
    exec(lines, names)  # noqa: S102 - what people copy
    return names["published"]


def test_spark_reads_what_the_log_names(spark: SparkSession, tmp_path: Path) -> None:
    """The newest change of each window, and none that is undone, whatever else is in the directory."""
    bench = Bench("parquet with a log", str(tmp_path / "out"))
    old = bench.publish("a", "b")
    bench.apply(bench.steps(bench.stage("x", generation=2), old))
    gone = bench.publish("gone", window="w2")
    bench.sink.undo(bench.placed(gone), bench.marker_of("w2", change=Change.WITHDRAW))
    Path(bench.place, "part-stray.parquet").write_bytes(next(Path(bench.place).glob("*.parquet")).read_bytes())
    rows = _documented()(spark, bench.place)

    assert sorted(row.value for row in rows.collect()) == bench.values() == ["x", "x"]
