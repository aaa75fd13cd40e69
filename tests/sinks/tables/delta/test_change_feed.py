"""The change data feed of a Delta table: what a commit adds is inserted, and what it removes is deleted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from airflow_provider_blockread.exchange.model import OutputFile
from tests.sinks.kinds import Bench

_FEED = {"delta.enableChangeDataFeed": "true"}


def stage(bench: Bench, value: str, generation: int) -> list[OutputFile]:
    """Return files with two rows, as tasks write them."""
    bench.marker = bench.marker_of(generation=generation)
    writer = bench.writer(generation=generation)
    writer.write(pa.RecordBatch.from_pydict({"value": [value] * 2, "day": ["1", None], "_window": ["ab12"] * 2}))
    return writer.close()


def changes(bench: Bench, version: int) -> Counter[tuple[str, str | None, str]]:
    """Return the changes of a version: value, day and kind."""
    rows = pa.table(DeltaTable(bench.place).load_cdf(version, version).read_all()).to_pylist()
    return Counter((row["value"], row["day"], row["_change_type"]) for row in rows)


@pytest.mark.parametrize("partition_by", [[], ["day"], ["day", "_window"]])
@pytest.mark.parametrize("is_compacted", [False, True])
def test_a_rebuild_deletes_and_inserts(tmp_path: Path, partition_by: list[str], *, is_compacted: bool) -> None:
    """Deleted rows have the values of their partition, whether they go by file or by the column of windows."""
    options = {"properties": _FEED, "partition_by": partition_by, "audit": ["_window"], "on_rewritten": "delete_rows"}
    bench = Bench("delta", str(tmp_path / "out"), options)
    old = stage(bench, "a", 1)
    bench.apply(bench.steps(old))
    if is_compacted:
        DeltaTable(bench.place).optimize.z_order(["value"])
    bench.apply(bench.steps(stage(bench, "b", 2), old))

    deleted = {("a", day, "delete"): 1 for day in ("1", None)}
    inserted = {("b", day, "insert"): 1 for day in ("1", None)}
    assert changes(bench, DeltaTable(bench.place).version()) == Counter(deleted | inserted)
