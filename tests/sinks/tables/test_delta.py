"""A Delta table beside other writers: what they do is seen before a commit, and never undone or doubled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from airflow_provider_blockread.errors import OptionsError, ProofError, TransientError
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import State
from airflow_provider_blockread.sinks.tables import table
from tests.sinks.kinds import Bench, racing


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A table that is not made yet."""
    return Bench("delta", str(tmp_path / "out"))


def opened(bench: Bench) -> DeltaTable:
    """Return the table."""
    return DeltaTable(bench.option.uri)


def append(bench: Bench, *values: str) -> None:
    """Append rows as another writer."""
    write_deltalake(bench.option.uri, pa.table({"value": list(values)}), mode="append")


def test_readers_see_whole_windows_at_any_version(bench: Bench) -> None:
    """Each change of a window is one version, which says whose it is; the versions before can still be read."""
    old = bench.publish("a", "b")
    new = bench.stage("c", generation=2)
    bench.apply(bench.steps(new, old))
    assert bench.undo(new) == 1

    seen = [sorted(pl.read_delta(bench.option.uri, version=n)["value"].unique()) for n in range(3)]
    assert seen == [["a", "b"], ["c"], []]
    marks = [(found["blockread.window"], found["blockread.change"]) for found in opened(bench).history()]
    assert marks == [("ab12", "8"), ("ab12", "6"), ("ab12", "3")]


@pytest.mark.parametrize("name", ["a b", "é", "a#b", "a?b", 'a"b', "a{b}", "100%"])
def test_a_folder_whose_path_a_url_escapes(tmp_path: Path, name: str) -> None:
    """Its files are found, by this package and by deltalake; polars looks for the escaped path."""
    bench = Bench("delta", str(tmp_path / name / "out"))
    old = bench.publish("a", "b")
    new = bench.stage("c", generation=2)
    steps = bench.steps(new, old)
    bench.apply(steps)

    assert opened(bench).to_pyarrow_table()["value"].to_pylist() == ["c", "c"]
    assert (bench.states(steps), bench.undo(new)) == ([State.APPLIED], 1)


def test_a_commit_that_was_made_is_not_made_again(bench: Bench) -> None:
    """A publisher that died behind its commit finds the marker, also when other writers have gone on since."""
    files = bench.publish("a")
    append(bench, "foreign")
    before = opened(bench).version()
    steps = bench.steps(files)

    assert bench.states(steps) == [State.APPLIED]
    bench.apply(steps)
    assert (opened(bench).version(), bench.values()) == (before, ["a", "a", "foreign"])


@pytest.mark.parametrize("change", ["append", "checkpoint", "clean-up", "vacuum"])
def test_the_marker_outlives_the_log(bench: Bench, change: str) -> None:
    """Neither checkpoints nor the clean-up of the log or of files makes a second commit."""
    files = bench.publish("a")
    append(bench, "foreign")
    found = opened(bench)
    if change == "append":
        append(bench, "more")
    elif change == "vacuum":
        found.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    else:
        found.create_checkpoint()
    if change == "clean-up":
        found.cleanup_metadata()
    expected = bench.values()
    bench.apply(bench.steps(files))

    assert bench.values() == expected


def test_a_harmless_commit_in_between(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer's rows are kept, and the commit is made on top of them."""
    old = bench.publish("a")
    new = bench.stage("b", generation=2)
    racing(monkeypatch, lambda: append(bench, "foreign"))
    bench.apply(bench.steps(new, old))

    assert bench.values() == ["b", "b", "foreign"]


def test_two_publishers_at_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second commit of one change finds the first one's marker."""
    old = bench.publish("a")
    steps = bench.steps(bench.stage("b", generation=2), old)
    racing(monkeypatch, lambda: bench.apply(steps))
    bench.apply(steps)

    assert (opened(bench).version(), bench.values()) == (1, ["b", "b"])


def test_two_windows_make_the_table_at_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that comes second appends to what the first one has made."""
    other = bench.steps(bench.stage("other", window="cd34"))
    other_marker = bench.marker
    mine = bench.steps(bench.stage("mine"))
    racing(monkeypatch, lambda: bench.sink.apply(other, other_marker, lambda: None))
    bench.apply(mine)

    assert bench.values() == ["mine", "mine", "other", "other"]


@pytest.mark.parametrize("moment", ["before", "in between"])
def test_a_compaction_takes_the_files_away(bench: Bench, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """A rebuild is refused in words, nothing is doubled; with a version that has the files, it goes on."""
    old = bench.publish("a", "b")
    new = bench.stage("c", generation=2)
    steps = bench.steps(new, old)
    if moment == "before":
        opened(bench).optimize.compact()
    else:
        racing(monkeypatch, opened(bench).optimize.compact)
    for _ in range(2):
        with pytest.raises(ProofError, match=r"no longer consists of part-wab12-g1-.*restore a version"):
            bench.apply(steps)
    with pytest.raises(ProofError, match="no longer consists of"):
        bench.sink.undo(bench.placed(old), bench.marker)
    assert bench.values() == ["a", "a", "b", "b"]

    opened(bench).restore(0)
    bench.apply(steps)
    assert bench.values() == ["c", "c"]


def test_a_file_whose_rows_were_compacted_away_is_not_carried_over(bench: Bench) -> None:
    """What a rebuild keeps is never added a second time."""
    old = bench.publish("a", "b")
    opened(bench).optimize.compact()

    with pytest.raises(ProofError, match="no longer consists of"):
        bench.apply(bench.steps([old[0], *bench.stage("c", generation=2)], old))
    assert bench.values() == ["a", "a", "b", "b"]


def test_a_table_that_stays_busy(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """After many tries it is given up, for a later retry."""
    bench.publish("a")
    monkeypatch.setattr(table, "_TRIES", 2)
    monkeypatch.setattr(table, "_LONGEST_S", 0.0)
    changes = table.Table._changes

    def looked(self: Any, *arguments: Any) -> Any:
        found = changes(self, *arguments)
        append(bench, "foreign")
        return found

    steps = bench.steps(bench.stage("b", window="cd34"))
    with monkeypatch.context() as busy:
        busy.setattr(table.Table, "_changes", looked)
        with pytest.raises(TransientError, match="retry when they are done"):
            bench.apply(steps)
    bench.apply(steps)

    assert bench.values() == ["a", "a", "b", "b", "foreign", "foreign"]


@pytest.mark.parametrize(
    ("rows", "problem", "fixed"),
    [
        ({"other": ["x"]}, "has no column 'value'; add it to the table", {"other": ["x"], "value": ["y"]}),
        ({"value": [1]}, "has column 'value' as long, not string", {"value": ["y"]}),
    ],
)
def test_a_table_of_another_schema(bench: Bench, rows: dict[str, Any], problem: str, fixed: dict[str, Any]) -> None:
    """Refused before anything is read where the columns are known, else at the commit; a corrected table takes it."""
    write_deltalake(bench.option.uri, pa.table(rows))
    schema = pa.schema([("value", pa.string())])
    with pytest.raises(OptionsError, match=problem):
        bench.sink.prepare(schema, "")
    steps = bench.steps(bench.stage("a"))
    with pytest.raises(ProofError, match=problem):
        bench.apply(steps)

    write_deltalake(bench.option.uri, pa.table(fixed), mode="overwrite", schema_mode="overwrite")
    bench.apply(steps)
    assert bench.values() == ["a", "a", "y"]


def test_a_column_that_must_not_be_null(bench: Bench) -> None:
    """A table that needs a column which the output lacks is refused."""
    needed = pa.schema([pa.field("value", pa.string()), pa.field("id", pa.int64(), nullable=False)])
    write_deltalake(bench.option.uri, pa.table({"value": ["x"], "id": [1]}, schema=needed))

    with pytest.raises(OptionsError, match="needs column 'id', which may not be null; add it to the output"):
        bench.sink.prepare(pa.schema([("value", pa.string())]), "")
    bench.sink.prepare(needed, "")


@pytest.mark.parametrize(
    ("properties", "constraints", "partitions", "problem"),
    [
        ({"delta.columnMapping.mode": "name"}, {}, None, "uses column mapping"),
        ({}, {"short": "value <> 'long'"}, None, "has a constraint 'short'"),
        ({}, {}, ["value"], "is partitioned by value"),
    ],
)
def test_a_table_whose_rules_files_cannot_keep(
    bench: Bench, properties: dict[str, str], constraints: dict[str, str], partitions: list[str] | None, problem: str
) -> None:
    """Rows that would break a promise of the table are not published."""
    schema = pa.schema([("value", pa.string()), ("id", pa.int64())])
    made = DeltaTable.create(bench.option.uri, schema, partition_by=partitions, configuration=properties)
    if constraints:
        made.alter.add_constraint(constraints)

    with pytest.raises(OptionsError, match=problem):
        bench.sink.prepare(pa.schema([("value", pa.string())]), "")


def test_an_append_only_table(bench: Bench) -> None:
    """It takes windows, but gives none back until its property says so."""
    made = Bench("delta", bench.place, {"properties": {"delta.appendOnly": "true"}})
    files = made.publish("a")
    with pytest.raises(ProofError, match=r"append-only.*set its property delta\.appendOnly to false, then retry"):
        made.undo(files)
    opened(made).alter.set_table_properties({"delta.appendOnly": "false"})

    assert (made.undo(files), made.values()) == (1, [])


def test_a_column_with_nan_has_no_bounds(bench: Bench) -> None:
    """Readers sort NaN above all numbers: they would skip the file, or take the bound for the greatest value."""
    name = AttemptName(window="ab12", generation=1, group=0, epoch=1, attempt=0)
    writer = bench.sink.writer(bench.target, name, None)
    writer.write(pa.record_batch({"x": [1.0, float("nan"), None], "y": pa.array([2.5, None, 3], pa.float32())}))
    bench.apply(bench.steps(writer.close()))

    (found,) = pa.table(opened(bench).get_add_actions(flatten=True)).to_pylist()
    assert [found[f"{bound}.{column}"] for column in "xy" for bound in ("min", "max", "null_count")] == [
        None, None, 1, 2.5, 3.0, 1,
    ]  # fmt: skip
