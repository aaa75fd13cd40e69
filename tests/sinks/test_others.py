"""A folder that others use: refused before anything is read, where readers or the other's upkeep would be harmed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import load_catalog

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import FileSource, IcebergSink
from airflow_provider_blockread.sinks import archive
from airflow_provider_blockread.sinks.directory import Directory
from airflow_provider_blockread.steps import WindowRef, plan
from airflow_provider_blockread.steps.separation import check_apart
from airflow_provider_blockread.testing.bench import BLOCK
from tests.pipeline.make import Pipe, ReadHere
from tests.sinks.kinds import KINDS, STORES, Bench, opened_iceberg

_DIRECTORIES = ("parquet", "text", "csv", "json_lines", "archive", "parquet with a log", "custom")


@pytest.mark.parametrize("kind", _DIRECTORIES)
def test_the_folder_of_a_table(tmp_path: Path, kind: str) -> None:
    """Its readers go by its log, and VACUUM deletes what that does not name; a table's sink takes it."""
    place = str(tmp_path / "table")
    delta = Bench("delta", place)
    delta.publish("a")
    with pytest.raises(OptionsError, match="is a Delta table, whose readers would not see these files"):
        Bench(kind, place)
    iceberg = Bench("iceberg", str(tmp_path / "lake"))
    iceberg.publish("a")
    with pytest.raises(OptionsError, match="is an Iceberg table"):
        Bench(kind, opened_iceberg(iceberg.place).location().removeprefix("file://"))
    (tmp_path / "stream" / "_spark_metadata").mkdir(parents=True)
    with pytest.raises(OptionsError, match="is an output of Spark's streaming"):
        Bench(kind, str(tmp_path / "stream"))

    delta.publish("b", window="w2")
    assert delta.values() == ["a", "a", "b", "b"]
    Bench(kind, str(tmp_path / "other")).publish("a")


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("csv", ("parquet", {}), {}),
        ("parquet", ("csv", {}), {}),
        ("text", ("json_lines", {}), {}),
        ("archive", ("text", {}), {}),
        ("parquet", ("parquet", {}), {"partition_by": ["value"]}),
        ("parquet", ("parquet", {"partition_by": ["day"]}), {}),
        ("parquet", ("parquet", {"partition_by": ["day"]}), {"partition_by": ["value"]}),
        ("parquet", ("parquet", {"partition_by": ["day", "a/b"]}), {"partition_by": ["day"]}),
    ],
)
def test_files_of_another_form(
    tmp_path: Path, kind: str, before: tuple[str, dict[str, Any]], after: dict[str, Any]
) -> None:
    """Readers of a folder expect one format and one kind of partitions; with that they get all windows."""
    place = str(tmp_path / "out")
    first = Bench(before[0], place, before[1])
    rows = {"value": ["x"], "day": ["d"], "a/b": ["c"], "n": ["1"]}
    columns = rows if before[1].get("partition_by") else {"value": ["x"]}
    writer = first.sink.writer(first.target, _name(), None)
    writer.write(pa.RecordBatch.from_pydict(columns))
    files = writer.close()
    first.apply(first.steps(files))
    with pytest.raises(OptionsError, match="of another format or other partitions than this sink writes"):
        refuse(kind, place, after)

    assert len(KINDS[before[0]].rows(place)) == 1
    first.undo(files)
    refuse(kind, place, after)


def refuse(kind: str, place: str, options: Mapping[str, Any] | None = None) -> None:
    """Look at a place as a plan of a new window does."""
    sink = Bench(kind, place, options).sink
    assert isinstance(sink, Directory)
    sink.refuse_others()


def _name() -> Any:
    from airflow_provider_blockread.sinks.names import AttemptName

    return AttemptName(window="ab12", generation=1, group=0, epoch=1, attempt=0)


@pytest.mark.parametrize(("kind", "other"), [("text", "gzip"), ("csv", "zstd"), ("archive", "zstd")])
def test_another_compression(tmp_path: Path, kind: str, other: str) -> None:
    """Readers tell compressions apart by the name of each file."""
    place = str(tmp_path / "out")
    Bench(kind, place).publish("a")
    refuse(kind, place, {"compression": other})
    Bench(kind, place, {"compression": other}).publish("b", window="w2")

    assert len({name.rpartition(".")[2] for name in KINDS[kind].names(place)}) == 2


def test_the_index_of_an_archive_has_few_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the batches of members are."""
    monkeypatch.setattr(archive, "_INDEX_ROWS", 4)
    bench = Bench("archive", str(tmp_path / "out"))
    writer = bench.sink.writer(bench.target, _name(), None)
    for _ in range(9):
        writer.write(pa.RecordBatch.from_pydict({"value": ["a"]}), BLOCK)
    (file,) = writer.close()

    with STORES.open_read(archive.index_uri(file.uri)) as index:
        assert [pq.read_metadata(index).row_group(number).num_rows for number in range(3)] == [4, 4, 1]


def test_files_of_someone_else(tmp_path: Path) -> None:
    """Rows of others would be read among those of this output; beside files of other kinds is no harm."""
    place = tmp_path / "out"
    place.mkdir()
    pq.write_table(pa.table({"id": [1]}), place / "users.parquet")
    with pytest.raises(OptionsError, match=r"holds users\.parquet, which no feed has published.*choose a folder"):
        refuse("parquet", str(place))
    (place / "users.parquet").rename(place / "_users.parquet")
    (place / "readme.md").write_text("text")

    refuse("parquet", str(place))
    Bench("parquet", str(place)).publish("a")
    refuse("parquet", str(place))
    Bench("parquet", str(tmp_path / "own")).publish("a")


def test_a_plan_looks_at_its_output(tmp_path: Path) -> None:
    """Nothing is listed or frozen for a new window; with another folder the same window is planned."""
    pipe = Pipe(tmp_path, ReadHere())
    pipe.put({"a.txt": b"a\n"})
    pipe.out.mkdir()
    (pipe.out / "users.parquet").write_bytes(b"PAR1")
    with pytest.raises(OptionsError, match="choose a folder for this output alone"):
        pipe.run()
    assert not pipe.work.exists() or not list(pipe.work.rglob("*.parquet"))
    pipe.out_name = "own"
    pipe.run()
    assert pipe.values() == ["a"]
    pipe.close()


@pytest.mark.parametrize("pattern", ["out/*/*.parquet", "**/*.parquet", "out/day=*/*"])
def test_a_partitioned_sink_inside_of_the_source(tmp_path: Path, pattern: str) -> None:
    """What is published would be read again, also by a pattern that fits only the files of partitions."""
    pipe = Pipe(tmp_path, ReadHere(), sink_options={"partition_by": ["day"]})
    request = pipe.request("w")
    pipe.close()
    sink = request.generation.sink
    inside = replace(request, source=FileSource(str(tmp_path), pattern=pattern))
    with pytest.raises(OptionsError, match=r"the (output|staging) .* is in the source"):
        check_apart(inside, sink)

    check_apart(replace(request, source=FileSource(str(tmp_path), pattern="in/*.parquet")), sink)


@pytest.mark.parametrize(
    "pattern", ["out/db/events/data/*.parquet", "elsewhere/data/*.parquet", "elsewhere/**/*.json", "**/snap-*.avro"]
)
def test_an_iceberg_table_inside_of_the_source(tmp_path: Path, pattern: str) -> None:
    """Where the catalog has it, and not the options; what a commit writes beside the files would be read, too."""
    pipe = Pipe(tmp_path, ReadHere(), kind="iceberg")
    pipe.put({"a.txt": b"a\n"})
    sink = pipe.request("w").generation.sink
    assert isinstance(sink, IcebergSink)
    if "elsewhere" in pattern:
        with load_catalog(sink.catalog, **sink.catalog_properties) as catalog:
            catalog.create_namespace("db")
            place = f"file://{tmp_path}/elsewhere"
            catalog.create_table(sink.uri, schema=pa.schema([("value", pa.string())]), location=place)

    def planned(own: str) -> WindowRef:
        request = pipe.request("w")
        return plan(pipe.env, replace(request, source=FileSource(str(tmp_path), pattern=[own, "in/*.txt"])))

    with pytest.raises(OptionsError, match=r"the (output|table's metadata) .* is in the source.*leaves it out"):
        planned(pattern)
    assert planned("nothing/*").files == 1
    pipe.close()
