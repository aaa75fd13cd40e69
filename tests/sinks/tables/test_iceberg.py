"""An Iceberg table beside other writers, its marker, its catalogs, and secrets that are not stored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyiceberg
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table

from airflow_provider_blockread.errors import OptionsError, ProofError, TransientError
from airflow_provider_blockread.options import IcebergSink
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.registry import make_sink
from tests.sinks.kinds import STORES, Bench, opened_iceberg, racing


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A table that is not made yet."""
    return Bench("iceberg", str(tmp_path / "out"))


def opened(bench: Bench) -> Table:
    """Return the table."""
    return opened_iceberg(bench.place)


def markers(bench: Bench) -> dict[str, str]:
    """Return the markers that the table has as properties, by their windows."""
    return {k.removeprefix("blockread.l."): v for k, v in opened(bench).properties.items() if "blockread" in k}


def append(bench: Bench, *values: str) -> None:
    """Append rows as another writer."""
    opened(bench).append(pa.table({"value": list(values)}))


def test_a_commit_is_one_snapshot_that_says_whose_it_is(bench: Bench) -> None:
    """Publish, replace and undo are one each; the property of the window follows."""
    old = bench.publish("a", "b")
    assert markers(bench) == {"ab12": "3"}
    new = bench.stage("c", generation=2)
    bench.apply(bench.steps(new, old))
    assert bench.undo(new) == 1

    found = [snapshot.summary.additional_properties for snapshot in opened(bench).snapshots() if snapshot.summary]
    assert [(noted["blockread.window"], noted["blockread.change"]) for noted in found] == [
        ("ab12", "3"),
        ("ab12", "6"),
        ("ab12", "8"),
    ]
    assert (markers(bench), bench.values()) == ({"ab12": "8"}, [])


def test_what_others_have_added_is_not_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much other windows and writers have added, publishing reads no manifest, and a rebuild only its own."""
    old = bench.publish("a", window="w1")
    own = opened(bench).metadata.current_snapshot_id
    for number in range(2, 6):
        bench.publish("x", window=f"w{number}")
    append(bench, "foreign")
    read: list[int] = []
    fetch = ManifestFile.fetch_manifest_entry

    def counted(self: ManifestFile, *arguments: Any, **options: Any) -> Any:
        read.append(self.added_snapshot_id)
        return fetch(self, *arguments, **options)

    monkeypatch.setattr(ManifestFile, "fetch_manifest_entry", counted)
    bench.publish("y", window="w9")
    assert read == []
    bench.apply(bench.steps(bench.stage("b", window="w1", generation=2), old))
    if tuple(map(int, pyiceberg.__version__.split(".")[:2])) >= (0, 12):  # before, the library itself reads all of them
        assert set(read) == {own}

    assert bench.values() == sorted(["b"] * 2 + ["x"] * 8 + ["y"] * 2 + ["foreign"])


def test_what_snapshots_that_expired_have_added_is_not_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Publishing reads no manifest where nothing says any more whose it is, and a rebuild finds its own."""
    bench.publish("x", window="w1")
    old = bench.publish("a", window="w2")
    append(bench, "foreign")
    expired = [one.snapshot_id for one in opened(bench).snapshots()[:-1]]
    opened(bench).maintenance.expire_snapshots().by_ids(expired).commit()
    with monkeypatch.context() as patch:
        patch.setattr(ManifestFile, "fetch_manifest_entry", None)
        bench.publish("y", window="w9")
    bench.apply(bench.steps(bench.stage("b", window="w2", generation=2), old))

    assert bench.values() == ["b", "b", "foreign", "x", "x", "y", "y"]


def test_markers_go_when_the_ledger_has_recorded_them(bench: Bench) -> None:
    """The next commit of another window drops them; until then an expired snapshot makes no second commit."""
    bench.publish("a")
    recorded: list[str] = []
    bench.stage("b", window="cd34")
    marker = replace(bench.marker, is_recorded=lambda window, _: window in recorded)
    bench.sink.apply(bench.steps(bench.stage("b", window="cd34")), marker, lambda: None)
    assert set(markers(bench)) == {"ab12", "cd34"}
    recorded.append("ab12")
    marker = replace(marker, window="ef56")
    bench.sink.apply(bench.steps(bench.stage("c", window="ef56")), marker, lambda: None)

    assert set(markers(bench)) == {"cd34", "ef56"}


def test_a_commit_whose_snapshot_expired_is_not_made_again(bench: Bench) -> None:
    """The property outlives the snapshot."""
    files = bench.publish("a")
    append(bench, "foreign")
    first = opened(bench).snapshots()[0].snapshot_id
    opened(bench).maintenance.expire_snapshots().by_id(first).commit()
    bench.apply(bench.steps(files))

    assert bench.values() == ["a", "a", "foreign"]


def test_a_property_that_another_writer_has_changed(bench: Bench) -> None:
    """What is no number is no marker: the snapshot says that the commit was made, and nothing is dropped."""
    steps = bench.steps(bench.stage("a"))
    bench.apply(steps)
    with opened(bench).transaction() as change:
        change.set_properties({"blockread.l.ab12": "mine", "blockread.l.ef56": "mine"})
    bench.apply(steps)
    assert bench.values() == ["a", "a"]
    bench.sink.apply(bench.steps(bench.stage("b", window="cd34")), replace(bench.marker, window="cd34"), lambda: None)
    assert markers(bench) == {"ab12": "mine", "ef56": "mine", "cd34": "3"}


def test_a_harmless_commit_in_between(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer's rows are kept, and its retries stay as they are."""
    old = bench.publish("a")
    racing(monkeypatch, lambda: append(bench, "foreign"))
    bench.apply(bench.steps(bench.stage("b", generation=2), old))

    assert bench.values() == ["b", "b", "foreign"]
    assert not [name for name in opened(bench).properties if "retry" in name]


def test_two_publishers_at_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second commit of one change finds the first one's marker, also when both make the table."""
    steps = bench.steps(bench.stage("a"))
    racing(monkeypatch, lambda: bench.apply(steps))
    bench.apply(steps)
    assert (bench.values(), len(opened(bench).snapshots())) == (["a", "a"], 1)


def test_files_in_a_manifest_that_another_writer_merged(bench: Bench) -> None:
    """They are found where a foreign snapshot carries them on, and a rebuild replaces them."""
    old = bench.publish("a")
    with opened(bench).transaction() as change:
        change.set_properties({"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "1"})
    append(bench, "foreign")
    assert len(opened(bench).inspect.manifests()) == 1

    bench.apply(bench.steps(bench.stage("b", generation=2), old))
    assert bench.values() == ["b", "b", "foreign"]


def test_files_that_another_writer_took_out_and_added_again(bench: Bench) -> None:
    """A snapshot that says which one it was made from may add our files: a cherry-pick does."""
    old = bench.publish("a")
    opened(bench).delete()
    picked = str(opened(bench).snapshots()[0].snapshot_id)
    opened(bench).add_files([file.uri for file in old], snapshot_properties={"source-snapshot-id": picked})
    assert bench.values() == ["a", "a"]

    bench.apply(bench.steps(bench.stage("b", generation=2), old))
    assert bench.values() == ["b", "b"]


def test_rows_that_another_writer_rewrote(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rebuild is refused in words, nothing is doubled; with a snapshot that has the files, it goes on."""
    old = bench.publish("a", "b")
    first = opened(bench).snapshots()[0].snapshot_id
    steps = bench.steps(bench.stage("c", generation=2), old)
    racing(monkeypatch, lambda: opened(bench).overwrite(pa.table({"value": ["a", "a", "b", "b"]})))
    for _ in range(2):
        with pytest.raises(ProofError, match=r"no longer consists of part-wab12-g1-.*restore a version"):
            bench.apply(steps)
    assert bench.values() == ["a", "a", "b", "b"]

    opened(bench).manage_snapshots().rollback_to_snapshot(first).commit()
    bench.apply(steps)
    assert bench.values() == ["c", "c"]


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"other": ["x"]}, "has no column 'value'; add it"),
        ({"value": [1]}, r"has column 'value' as long, not string; cast it"),
    ],
)
def test_a_table_of_another_schema(bench: Bench, columns: dict[str, Any], problem: str) -> None:
    """Refused before anything is read where the columns are known, else at the commit."""
    option = bench.option
    assert isinstance(option, IcebergSink)
    with load_catalog(option.catalog, **option.catalog_properties) as catalog:
        catalog.create_namespace_if_not_exists("db")
        catalog.create_table(option.uri, schema=pa.table(columns).schema)
    with pytest.raises(OptionsError, match=problem):
        bench.sink.prepare(pa.schema([("value", pa.string())]), "")
    with pytest.raises(ProofError, match=problem):
        bench.apply(bench.steps(bench.stage("a")))

    held = opened(bench).schema().as_arrow()
    bench.sink.prepare(held, "")  # the output without the column, or cast to the table's type
    with opened(bench).update_schema() as change:
        change.union_by_name(pa.schema([("value", held.field(0).type if "value" in columns else pa.string())]))
    bench.sink.prepare(opened(bench).schema().as_arrow(), "")  # and with the column, once the table has it


def test_a_column_with_nan_has_no_bounds(bench: Bench) -> None:
    """By them, and without a count of NaN, a reader that deletes what is small would delete the file as a whole."""
    for number, values in enumerate([[1.0, float("nan"), 3.0], [1.0, 2.0]]):
        writer = bench.sink.writer(
            bench.target, AttemptName(window=f"w{number}", generation=1, group=0, epoch=1, attempt=0), None
        )
        writer.write(pa.record_batch({"x": values}))
        bench.marker = replace(bench.marker, window=f"w{number}")
        bench.apply(bench.steps(writer.close()))
    table = opened(bench)
    bounds = sorted(len(task.file.lower_bounds or {}) for task in table.scan().plan_files())
    table.delete("x <= 5")

    assert bounds == [0, 1]
    assert str(table.scan().to_arrow()["x"].to_pylist()) == "[nan]"


def test_a_namespace_is_created_whatever_the_catalog_says_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Hive metastore refuses a table with a location of its own by an error that does not name the namespace."""
    bench, make = Bench("iceberg", str(tmp_path / "out"), {"location": str(tmp_path / "own")}), SqlCatalog.commit_table

    def as_hive(catalog: SqlCatalog, *given: Any) -> Any:
        if not catalog.namespace_exists("db"):
            msg = "InvalidObjectException(message=db)"
            raise RuntimeError(msg)
        return make(catalog, *given)

    monkeypatch.setattr(SqlCatalog, "commit_table", as_hive)
    bench.apply(bench.steps(bench.stage("a")))

    assert bench.values() == ["a", "a"]


def test_a_catalog_that_cannot_be_loaded(bench: Bench) -> None:
    """The error names the table, and a corrected catalog works."""
    option = bench.option
    assert isinstance(option, IcebergSink)
    wrong = replace(option, catalog_properties=option.catalog_properties | {"type": "no such"})
    with pytest.raises(OptionsError, match=r"pyiceberg cannot load this catalog.*correct its properties"):
        make_sink(STORES, wrong).prepare(None, "")

    assert make_sink(STORES, option).is_empty()


def test_a_catalog_that_is_down(bench: Bench) -> None:
    """A retry may succeed, and the password of its URL is not shown."""
    option = bench.option
    assert isinstance(option, IcebergSink)
    away = {"uri": "sqlite:////nowhere/secret-word.db"}
    asked = make_sink(STORES, replace(option, catalog_conn_id="c"), access={"c": away})
    with pytest.raises(TransientError, match="cannot be reached") as found:
        asked.prepare(None, "")

    assert "secret-word" not in str(found.value)


def test_the_command_line_names_a_catalog_as_pyiceberg_does() -> None:
    """What is no option of the sink is a property of the catalog."""
    texts = {"type": "sql", "uri": "sqlite:///c.db", "warehouse": "/lake", "file_bytes": "1000"}
    made = IcebergSink.from_texts("db.events", texts)

    assert (made.uri, made.file_bytes, made.work_area) == ("db.events", 1000, "/lake.blockread")
    assert made.catalog_properties == {"type": "sql", "uri": "sqlite:///c.db", "warehouse": "/lake"}
