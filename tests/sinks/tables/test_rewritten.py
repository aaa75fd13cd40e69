"""Windows whose rows other writers have put into other files: deleted by `_window` where that was chosen."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from airflow_provider_blockread.errors import OptionsError, ProofError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.options import DeltaSink
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import Change, State
from tests.sinks.kinds import Bench, opened_iceberg, racing, rewrite_iceberg

_OPTIONS = {"audit": ["_window"], "on_rewritten": "delete_rows"}


@pytest.fixture(params=["delta", "iceberg"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """A table of each format whose rows are deleted where files were rewritten."""
    return Bench(request.param, str(tmp_path / "out"), _OPTIONS)


def stage(bench: Bench, *values: str, window: str = "w1", generation: int = 1) -> list[OutputFile]:
    """Return a file of each value, twice, with the column of windows, as a task adds it."""
    bench.marker = bench.marker_of(window, generation)
    files = []
    for attempt, value in enumerate(values):
        name = AttemptName(window=window, generation=generation, group=0, epoch=1, attempt=attempt)
        writer = bench.sink.writer(bench.target, name, None)
        writer.write(pa.RecordBatch.from_pydict({"value": [value] * 2, "_window": [window] * 2}))
        files += writer.close()
    return files


def publish(bench: Bench, *values: str, window: str = "w1") -> list[OutputFile]:
    """Publish a window and return its files."""
    files = stage(bench, *values, window=window)
    bench.apply(bench.steps(files))
    return files


def compact(bench: Bench) -> None:
    """Put all rows into one file, as another writer."""
    if bench.kind == "delta":
        DeltaTable(bench.option.uri).optimize.compact()
    else:
        rewrite_iceberg(bench.place)


def append(bench: Bench, *values: str) -> None:
    """Append rows of no window, as another writer."""
    rows = pa.table({"value": list(values), "_window": pa.nulls(len(values), pa.string())})
    if bench.kind == "delta":
        write_deltalake(bench.option.uri, rows, mode="append")
    else:
        opened_iceberg(bench.place).append(rows)


def delete(bench: Bench, value: str) -> None:
    """Delete rows, as another writer."""
    if bench.kind == "delta":
        DeltaTable(bench.option.uri).delete(f"value = '{value}'")
    else:
        opened_iceberg(bench.place).delete(f"value == '{value}'")


def versions(bench: Bench) -> int:
    """Return how many commits the table has seen."""
    if bench.kind == "delta":
        return DeltaTable(bench.option.uri).version() + 1
    return len(opened_iceberg(bench.place).metadata.metadata_log) + 1


def shown(bench: Bench) -> Counter[tuple[str, str | None]]:
    """Return what a reader finds."""
    return Counter((row["value"], row["_window"]) for row in bench.case.rows(bench.place))


def test_a_compacted_window_is_replaced(bench: Bench) -> None:
    """In one commit its rows go out of a file that they share with others, and nothing else does; not a second time."""
    old = publish(bench, "a", "b")
    publish(bench, "other", window="w2")
    append(bench, "foreign")
    compact(bench)
    new = stage(bench, "c", generation=2)
    steps, before = bench.steps(new, old), versions(bench)
    made = bench.sink.apply(steps, bench.marker, lambda: None)

    expected = Counter({("c", "w1"): 2, ("other", "w2"): 2, ("foreign", None): 1})
    assert (shown(bench), versions(bench) - before) == (expected, 1)
    assert bench.states(steps) == [State.APPLIED]
    again = bench.sink.apply(steps, bench.marker, lambda: None)
    assert (shown(bench), again) == (expected, made)


def test_a_compacted_window_is_undone(bench: Bench) -> None:
    """And a second undo, or a late publisher, finds nothing to do."""
    old = publish(bench, "a", "b")
    publish(bench, "other", window="w2")
    compact(bench)
    earlier, marker = bench.placed(old), bench.marker_of("w1", change=Change.WITHDRAW)
    assert [bench.sink.undo(earlier, marker) for _ in range(2)] == [2, 0]

    assert shown(bench) == Counter({("other", "w2"): 2})


@pytest.mark.parametrize("writer", ["compaction", "append"])
def test_another_commit_in_between(bench: Bench, monkeypatch: pytest.MonkeyPatch, writer: str) -> None:
    """The rows are looked for again in what the table consists of then."""
    old = publish(bench, "a", "b")
    publish(bench, "other", window="w2")
    compact(bench)
    append(bench, "foreign")
    new = stage(bench, "c", generation=2)
    racing(monkeypatch, lambda: compact(bench) if writer == "compaction" else append(bench, "more"))
    bench.apply(bench.steps(new, old))

    more = Counter({("more", None): 1}) if writer == "append" else Counter()
    assert shown(bench) == more + Counter({("c", "w1"): 2, ("other", "w2"): 2, ("foreign", None): 1})
    found = list(Path(bench.place).rglob("rest-*.parquet"))
    assert len(found) == (1 if bench.kind == "delta" else 0)  # the one that was written for nothing is gone


def test_what_a_rebuild_keeps_comes_back_by_its_file(bench: Bench) -> None:
    """Files of the window that are live, or were compacted, are there once; the rest of its rows is gone."""
    old = publish(bench, "a", "b")
    compact(bench)
    new = stage(bench, "c", generation=2)
    bench.apply(bench.steps([old[0], *new], old))

    assert shown(bench) == Counter({("a", "w1"): 2, ("c", "w1"): 2})
    steps = bench.sink.steps(
        [bench.sink.placed(file) for file in (old[0], *stage(bench, "d", generation=3))],
        bench.placed([old[0], *new], 2),
    )
    delete(bench, "c")
    with pytest.raises(ProofError, match=r"holds 2 rows of window w1 by _window, not 4 as published"):
        bench.apply(steps)


def test_rows_that_are_not_those_that_were_published(bench: Bench) -> None:
    """Some were deleted: nothing is changed; with a version that has them all it goes on."""
    old = publish(bench, "a", "b")
    publish(bench, "other", window="w2")
    compact(bench)
    version = versions(bench) - 1
    snapshot = None if bench.kind == "delta" else opened_iceberg(bench.place).current_snapshot()
    delete(bench, "a")
    steps, before = bench.steps(stage(bench, "c", generation=2), old), versions(bench)
    with pytest.raises(ProofError, match=r"holds 2 rows of window w1 by _window, not 4 as published.*restore"):
        bench.apply(steps)
    assert (versions(bench), shown(bench)) == (before, Counter({("b", "w1"): 2, ("other", "w2"): 2}))
    assert not list(Path(bench.place).rglob("rest-*.parquet"))

    if snapshot is None:
        DeltaTable(bench.option.uri).restore(version)
    else:
        opened_iceberg(bench.place).manage_snapshots().rollback_to_snapshot(snapshot.snapshot_id).commit()
    bench.apply(steps)
    assert shown(bench) == Counter({("c", "w1"): 2, ("other", "w2"): 2})


@pytest.mark.parametrize("change", ["rebuild", "undo"])
def test_rows_of_which_none_is_left(bench: Bench, change: str) -> None:
    """Where some were deleted, a window goes on as soon as the rest is, too: it is published anew, or undone."""
    old = publish(bench, "a", "b")
    publish(bench, "other", window="w2")
    compact(bench)
    delete(bench, "a")
    steps = bench.steps(stage(bench, "c", generation=2), old) if change == "rebuild" else []
    earlier, marker = bench.placed(old), bench.marker_of("w1", change=Change.WITHDRAW)

    def go_on() -> None:
        if change == "rebuild":
            bench.apply(steps)
        else:
            bench.sink.undo(earlier, marker)

    with pytest.raises(ProofError, match=r"restore a version .*, or delete the rest of them there, then retry"):
        go_on()
    delete(bench, "b")
    for _ in range(2):
        go_on()

    assert shown(bench) == Counter({("other", "w2"): 2} | ({("c", "w1"): 2} if change == "rebuild" else {}))


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_it_is_offered_where_the_column_is_there(tmp_path: Path, kind: str) -> None:
    """Without the option a rebuild is refused; with it the same files are published."""
    plain = Bench(kind, str(tmp_path / "out"), {"audit": ["_window"]})
    old = publish(plain, "a", "b")
    compact(plain)
    steps = plain.steps(stage(plain, "c", generation=2), old)
    with pytest.raises(ProofError, match=r"no longer consists of .*set on_rewritten='delete_rows'.*clear the run"):
        plain.apply(steps)
    chosen = Bench(kind, plain.place, _OPTIONS)
    chosen.marker = plain.marker
    chosen.apply(steps)

    assert shown(chosen) == Counter({("c", "w1"): 2})


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_table_without_the_column(tmp_path: Path, kind: str) -> None:
    """The refusal says so, with the option too."""
    bench = Bench(kind, str(tmp_path / "out"), _OPTIONS)
    old = bench.publish("a", "b")
    compact(bench)
    with pytest.raises(ProofError, match="has no column _window, by which they could be deleted"):
        bench.apply(bench.steps(bench.stage("c", generation=2), old))

    assert bench.values() == ["a", "a", "b", "b"]


@pytest.mark.parametrize("columns", [["_window"], ["day"], ["_window", "day"]])
def test_partitions_keep_their_rows(tmp_path: Path, columns: list[str]) -> None:
    """A file is written again in its own partition; one of the window's own partition goes as it is."""
    for kind in ("delta", "iceberg"):
        bench = Bench(kind, str(tmp_path / kind), {**_OPTIONS, "partition_by": columns})
        files: dict[str, list[OutputFile]] = {"w1": [], "w2": []}
        for window, written in files.items():
            for attempt, days in enumerate((["mon", "a=b é"], ["mon", None])):
                name = AttemptName(window=window, generation=1, group=0, epoch=1, attempt=attempt)
                writer = bench.sink.writer(bench.target, name, None)
                rows: dict[str, Any] = {"value": ["x", "y"], "day": days, "_window": [window] * 2}
                writer.write(pa.RecordBatch.from_pydict(rows))
                written.extend(writer.close())
            bench.marker = bench.marker_of(window)
            bench.apply(bench.steps(written))
        compact(bench)
        bench.sink.undo(bench.placed(files["w1"]), bench.marker_of("w1", change=Change.WITHDRAW))

        # polars fails on tables of which some files hold the partition columns and others have them in their path.
        there = (
            DeltaTable(bench.place).to_pyarrow_table().to_pylist() if kind == "delta" else bench.case.rows(bench.place)
        )
        found = Counter((row["value"], row["day"], row["_window"]) for row in there)
        assert found == Counter({("x", "mon", "w2"): 2, ("y", "a=b é", "w2"): 1, ("y", None, "w2"): 1})


def test_files_without_statistics_and_of_other_columns(tmp_path: Path) -> None:
    """Files of other writers that say nothing of their rows are looked into; those before the column hold none."""
    bench = Bench("delta", str(tmp_path / "out"), _OPTIONS)
    write_deltalake(
        bench.option.uri, pa.table({"value": ["early"]}), configuration={"delta.dataSkippingNumIndexedCols": "0"}
    )
    write_deltalake(bench.option.uri, pa.table({"value": ["x"], "_window": ["w0"]}), mode="append", schema_mode="merge")
    old = publish(bench, "a", "b")
    compact(bench)
    bench.apply(bench.steps(stage(bench, "c", generation=2), old))

    assert shown(bench) == Counter({("early", None): 1, ("x", "w0"): 1, ("c", "w1"): 2})


def test_values_are_written_again_as_they_were(tmp_path: Path) -> None:
    """All types that a table holds, nulls and nested ones too."""
    bench = Bench("delta", str(tmp_path / "out"), _OPTIONS)
    table = pa.table(
        {
            "value": ["a", None],
            "at": pa.array([1, None], pa.timestamp("us", "UTC")),
            "d": pa.array(["1.25", None]).cast(pa.decimal128(20, 2)),
            "s": pa.array([{"x": [1, None]}, None]),
            "m": pa.array([[("k", 1.5)], None], pa.map_(pa.string(), pa.float64())),
        }
    )
    for window in ("w1", "w2"):
        bench.marker = bench.marker_of(window)
        writer = bench.sink.writer(
            bench.target, AttemptName(window=window, generation=1, group=0, epoch=1, attempt=0), None
        )
        writer.write(table.append_column("_window", pa.array([window] * 2)).to_batches()[0])
        files = writer.close()
        bench.apply(bench.steps(files))
    compact(bench)
    before = [row for row in bench.case.rows(bench.place) if row["_window"] == "w1"]
    earlier, marker = bench.placed(files), bench.marker_of("w2", change=Change.WITHDRAW)
    bench.sink.undo(earlier, marker)

    assert bench.case.rows(bench.place) == before
    (file,) = DeltaTable(bench.option.uri).file_uris()
    assert pq.read_metadata(file).num_rows == 2


def test_it_needs_the_column() -> None:
    """Which the audit column gives."""
    with pytest.raises(OptionsError, match="needs the column _window; add it to audit"):
        DeltaSink("lake", on_rewritten="delete_rows")

    assert DeltaSink("lake", on_rewritten="delete_rows", audit=["_window"]).deletes_rows
    assert DeltaSink("lake", on_rewritten="delete_rows", partition_by=["_window"]).deletes_rows
