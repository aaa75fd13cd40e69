"""Parquet files of one task attempt, on disk and in fsspec's memory store."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import FunctionError, ProofError, TransientError
from airflow_provider_blockread.exchange.model import OutputFile, Target
from airflow_provider_blockread.options import ParquetSink, TextSink
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import Writer
from airflow_provider_blockread.sinks.registry import make_sink, quarantine_of
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.backends.disk import LocalDisk
from tests.examples import examples
from tests.sinks.kinds import Bench

SCHEMA = pa.schema([pa.field("id", pa.int64()), pa.field("msg", pa.string())])


@pytest.fixture(params=["disk", "memory"])
def staging(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Yield the URI of a staging folder that is not made yet, in each store."""
    fsspec.filesystem("memory").store.clear()
    yield f"file://{tmp_path}/stage" if request.param == "disk" else "memory:///stage"
    fsspec.filesystem("memory").store.clear()


def writer(folder: str, schema: pa.Schema | None = None, **options: object) -> Writer:
    """Return a writer into a folder."""
    sink = make_sink(Stores(), ParquetSink("file:///out", **options))  # type: ignore[arg-type]
    name = AttemptName(window="ab12", generation=2, group=7, epoch=3, attempt=41)
    return sink.writer(Target(folder=folder), name, schema)


def batch(*ids: int) -> pa.RecordBatch:
    """Return a batch of these ids with a message each."""
    return pa.RecordBatch.from_pydict({"id": list(ids), "msg": [f"message {i}" for i in ids]}, schema=SCHEMA)


def rows(files: list[OutputFile]) -> list[dict[str, object]]:
    """Return all rows of files, in order."""
    found = []
    for file in files:
        with Stores().open_read(file.uri) as source:
            found += pq.read_table(source).to_pylist()
    return found


def test_the_quarantine_is_written_as_the_output_is() -> None:
    """Compression and sizes are the user's; bad records of any other sink go to Parquet files as well."""
    mine = ParquetSink("/lake/out", compression="zstd", row_group_bytes=9, work_uri="/lake/work")
    made = quarantine_of(mine, "f", "w")

    assert made == replace(mine, uri=made.uri)
    assert made.uri.startswith("/lake/work/quarantine/")
    assert isinstance(quarantine_of(TextSink("/lake/out"), "f", "w"), ParquetSink)


def test_batches_become_a_named_file_that_says_its_size_and_rows(staging: str) -> None:
    """All rows are in the file, whose name carries window, generation, group, epoch, attempt and number."""
    parquet = writer(staging)
    parquet.write(batch(1, 2))
    parquet.write(batch(3))
    files = parquet.close()

    assert [file.uri for file in files] == [f"{staging}/part-wab12-g2-00007-e3-t41-0000.parquet"]
    assert rows(files) == batch(1, 2, 3).to_pylist()
    assert (files[0].rows, files[0].size) == (3, Stores().stat(files[0].uri).size)


def test_no_rows_make_no_file(staging: str) -> None:
    """A writer that saw no rows leaves nothing."""
    parquet = writer(staging)
    parquet.write(batch())

    assert parquet.close() == []
    assert list(Stores().list_names(staging, "")) == []


def test_full_files_roll_over_and_row_groups_keep_their_size(staging: str) -> None:
    """A new file begins at `file_bytes`, a new row group at `row_group_bytes`; rows keep their order."""
    parquet = writer(staging, row_group_bytes=20_000, file_bytes=60_000)
    for start in range(0, 9000, 90):
        parquet.write(batch(*range(start, start + 90)))
    files = parquet.close()

    assert [int(file.uri[-12:-8]) for file in files] == list(range(len(files)))
    assert len(files) == 4
    assert [row["id"] for row in rows(files)] == list(range(9000))
    with Stores().open_read(files[0].uri) as source:
        groups = [pq.read_metadata(source).row_group(n).total_byte_size for n in range(3)]
    assert max(groups) < 40_000


def test_a_giant_batch_is_cut_into_row_groups(staging: str) -> None:
    """One batch of many row groups' size does not make one giant row group."""
    parquet = writer(staging, row_group_bytes=20_000)
    parquet.write(batch(*range(10_000)))
    (file,) = parquet.close()

    with Stores().open_read(file.uri) as source:
        assert pq.read_metadata(source).num_row_groups >= 10
    assert [row["id"] for row in rows([file])] == list(range(10_000))


@examples(30)
@given(st.lists(st.integers(0, 40), max_size=12), st.integers(1, 2000), st.integers(1, 4000))
def test_every_row_is_written_once_whatever_the_sizes(counts: list[int], group: int, file: int) -> None:
    """For any batches and limits, rows come out once, in order, and the reported counts are the files' own."""
    parquet = writer("memory://stage", row_group_bytes=group, file_bytes=file)
    ids, start = list(range(sum(counts))), 0
    for count in counts:
        parquet.write(batch(*ids[start : start + count]))
        start += count
    files = parquet.close()

    assert [row["id"] for row in rows(files)] == ids
    assert sum(output.rows for output in files) == len(ids)
    assert all(output.rows for output in files)


@pytest.mark.parametrize("compression", ["snappy", "zstd", "gzip", "lz4", "none"])
def test_each_compression_is_the_files_own(staging: str, compression: str) -> None:
    """The option's codec is the one in the file."""
    parquet = writer(staging, compression=compression)
    parquet.write(batch(*range(100)))
    (file,) = parquet.close()

    with Stores().open_read(file.uri) as source:
        codec = pq.read_metadata(source).row_group(0).column(0).compression
    assert codec.lower() == {"none": "uncompressed"}.get(compression, compression)
    assert len(rows([file])) == 100


def test_raw_text_has_no_dictionary_and_no_statistics(staging: str) -> None:
    """The `value` column is written plainly, others with dictionary and statistics."""
    parquet = writer(staging)
    parquet.write(pa.RecordBatch.from_pydict({"value": ["a", "b"], "host": ["x", "x"]}))
    (file,) = parquet.close()

    with Stores().open_read(file.uri) as source:
        columns = [pq.read_metadata(source).row_group(0).column(n) for n in range(2)]
    assert [(c.has_dictionary_page, c.is_stats_set) for c in columns] == [(False, False), (True, True)]


@pytest.mark.parametrize(
    ("second", "difference"),
    [
        ({"id": pa.array([1])}, "column 'msg' is missing"),
        ({"id": pa.array([1]), "msg": pa.array(["x"]), "more": pa.array([1])}, "column 'more' is not in it"),
        ({"msg": pa.array(["x"]), "id": pa.array([1])}, "columns come as msg, id instead of id, msg"),
        ({"id": pa.array([1]), "msg": pa.array([2])}, "column 'msg' is int64 instead of string"),
    ],
)
def test_a_batch_of_another_schema_is_refused(staging: str, second: dict[str, pa.Array], difference: str) -> None:
    """The first batch's schema binds all others, and an error names what differs."""
    parquet = writer(staging)
    parquet.write(batch(1))

    with pytest.raises(FunctionError, match=difference):
        parquet.write(pa.RecordBatch.from_pydict(second))


def test_a_declared_schema_binds_the_first_batch_too(staging: str) -> None:
    """A declared schema is enforced from the start, nulls where there must be none included."""
    strict = pa.schema([pa.field("id", pa.int64(), nullable=False), SCHEMA.field("msg")])
    parquet = writer(staging, strict)
    parquet.write(batch(1))

    with pytest.raises(FunctionError, match="column 'id' holds nulls"):
        parquet.write(pa.RecordBatch.from_pydict({"id": [None], "msg": ["x"]}, schema=SCHEMA))
    assert rows(parquet.close()) == batch(1).to_pylist()


def test_metadata_of_a_schema_does_not_matter(staging: str) -> None:
    """Batches that differ in metadata only (pandas adds some) go into one file."""
    parquet = writer(staging)
    parquet.write(batch(1))
    parquet.write(batch(2).replace_schema_metadata({"pandas": "{}"}))

    assert len(rows(parquet.close())) == 2


@pytest.mark.parametrize("columns", [[], ["a", "a"]])
def test_a_batch_that_no_table_can_hold_is_refused(staging: str, columns: list[str]) -> None:
    """No columns, or two of one name, are an error of the function."""
    with pytest.raises(FunctionError, match="return batches with distinct columns"):
        writer(staging).write(pa.RecordBatch.from_arrays([pa.array([1])] * len(columns), names=columns))


def test_times_are_kept_to_the_microsecond_or_refused(staging: str) -> None:
    """Nanosecond columns are stored as microseconds, which Spark reads; finer values are an error, never cut."""
    parquet = writer(staging)
    parquet.write(pa.RecordBatch.from_pydict({"at": pa.array([1000], pa.timestamp("ns"))}))
    (file,) = parquet.close()
    with Stores().open_read(file.uri) as source:
        assert pq.read_schema(source).field("at").type == pa.timestamp("us")

    fine = writer(staging)
    nested = pa.array([[1001]], pa.list_(pa.timestamp("ns")))
    fine.write(pa.RecordBatch.from_pydict({"at": nested}))
    with pytest.raises(FunctionError, match="cast it in the function"):
        fine.close()
    fine.abort()


def test_abort_leaves_nothing(staging: str) -> None:
    """An aborted attempt removes its finished files and the open one."""
    parquet = writer(staging, row_group_bytes=2_000, file_bytes=5_000)
    for start in range(0, 1000, 10):
        parquet.write(batch(*range(start, start + 10)))
    assert list(Stores().list_names(staging, ""))
    parquet.abort()

    assert list(Stores().list_names(staging, "")) == []


def test_a_failing_disk_is_worth_another_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full device gives an error that names the file and may pass."""
    full = Path("/dev/full")
    monkeypatch.setattr(LocalDisk, "open_write", lambda _disk, _path: full.open("wb"))
    parquet = writer(str(tmp_path), compression="none", row_group_bytes=1)
    with pytest.raises(TransientError, match="cannot be written"):
        parquet.write(batch(*range(10**5)))
    parquet.abort()


def test_small_slices_do_not_keep_their_source_in_memory(tmp_path: Path) -> None:
    """A function that returns a few rows of each large batch does not fill the memory."""
    parquet = writer(str(tmp_path))
    gc.collect()
    before = pa.total_allocated_bytes()
    for number in range(100):
        large = pa.RecordBatch.from_pydict({"value": [f"{number:01000d}"] * 1000})
        parquet.write(large.slice(500, 1))
        del large

    assert pa.total_allocated_bytes() - before < 5 * 10**6
    assert [row["value"] for row in rows(parquet.close())] == [f"{number:01000d}" for number in range(100)]


@pytest.mark.parametrize("damage", ["empty", "truncated", "no footer", "foreign"])
def test_a_damaged_file_is_refused_by_name(staging: str, damage: str) -> None:
    """A file that is cut, or something else entirely, gives an error that names it."""
    parquet = writer(staging)
    parquet.write(batch(1, 2))
    (file,) = parquet.close()
    content = Stores().read_bytes(file.uri)
    wrong = {
        "empty": b"",
        "truncated": content[: len(content) // 2],
        "no footer": content[:-20] + b"\xff" * 12 + content[-8:],
        "foreign": b"a" * 1000,
    }
    Stores().write_bytes_atomic(file.uri, wrong[damage])

    with pytest.raises(ProofError, match=file.uri):
        make_sink(Stores(), ParquetSink("file:///out")).count(file)


def test_readers_meet_an_ordinary_directory_at_any_moment(tmp_path: Path) -> None:
    """Between any two steps, pyarrow and DuckDB read whole files of the output, and never anything of staging."""
    bench = Bench("parquet", str(tmp_path / "out"))
    old = bench.publish("a", "b", "c")
    new = bench.stage("a", "b", "c", generation=2)
    seen = []
    for step in bench.steps(new, old):
        bench.apply([step])
        query = f"select count(*) from read_parquet('{tmp_path}/out/**/*.parquet')"  # noqa: S608 - the test's own path
        ((count,),) = duckdb.sql(query).fetchall()
        assert pq.read_table(bench.option.uri).num_rows == count
        seen.append(count)

    assert seen == [8, 10, 12, 10, 8, 6]
