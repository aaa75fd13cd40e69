"""Publishing staged files into a directory, on disk and in fsspec's memory store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_blockread.errors import ExchangeError, ProofError, SourceError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.options import ParquetSink
from airflow_provider_blockread.sinks import (
    ParquetWriter,
    StagedName,
    footer_rows,
    output_name,
    publish_file,
    remove_file,
    sweep,
    target_uri,
)
from airflow_provider_blockread.storage import Stores


@pytest.fixture(params=["disk", "memory"])
def sink(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ParquetSink]:
    """Yield an output directory that is not made yet, in each store."""
    fsspec.filesystem("memory").store.clear()
    yield ParquetSink(f"{tmp_path}/out" if request.param == "disk" else "memory://out/", file_bytes=1)
    fsspec.filesystem("memory").store.clear()


def stage(sink: ParquetSink, window: str = "ab12", generation: int = 1, files: int = 2) -> list[OutputFile]:
    """Return files that a group left in staging, two rows each."""
    folder = f"{sink.work_area}/stage"
    name = StagedName(folder=folder, window=window, generation=generation, group=0, epoch=1, attempt=0)
    writer = ParquetWriter(Stores(), sink, name)
    for number in range(files):
        writer.write(pa.RecordBatch.from_pydict({"value": [f"{window} {generation}", str(number)]}))
    return writer.close()


def publish(sink: ParquetSink, files: list[OutputFile]) -> list[str]:
    """Publish files and return where they are."""
    for file in files:
        publish_file(Stores(), file.uri, target_uri(sink.uri, file.uri), file.size)
    return [target_uri(sink.uri, file.uri) for file in files]


def published(sink: ParquetSink) -> list[str]:
    """Return the names in the output."""
    return sorted(uri.rpartition("/")[2] for uri, _ in Stores().list_names(sink.uri, ""))


def test_published_files_lie_in_the_output_under_their_own_names(sink: ParquetSink) -> None:
    """Publishing brings whole files directly into the directory, and can be repeated."""
    files = stage(sink)
    first = publish(sink, files)

    assert publish(sink, files) == first
    assert published(sink) == [output_name(file.uri) for file in files]
    assert [footer_rows(Stores(), uri) for uri in first] == [2, 2]


def test_a_crash_between_move_and_record_is_repaired_by_repeating(sink: ParquetSink) -> None:
    """A file whose source is gone because it is published already counts as published."""
    files = stage(sink)
    publish(sink, files)
    for file in files:
        Stores().remove(file.uri)
    publish(sink, files)

    assert len(published(sink)) == 2


def test_a_file_in_neither_place_is_an_error(sink: ParquetSink) -> None:
    """A staged file that was lost before it was published names both places."""
    (file,) = stage(sink, files=1)
    Stores().remove(file.uri)

    with pytest.raises(ProofError, match=r"is gone and .* is not published; clear the run"):
        publish(sink, [file])


def test_an_overtaken_publisher_finds_nothing_to_move(sink: ParquetSink) -> None:
    """A file that a newer generation removed stays away, on stores too whose moves leave the source behind."""
    (file,) = stage(sink, files=1)
    (target,) = publish(sink, [file])
    remove_file(Stores(), target, file.uri)

    with pytest.raises(ProofError, match="is gone"):
        publish(sink, [file])
    assert published(sink) == []


def test_a_truncated_file_never_reaches_the_output(sink: ParquetSink) -> None:
    """A staged file of another size than its writer reported is refused, before readers could see it."""
    (file,) = stage(sink, files=1)
    Stores().write_bytes_atomic(file.uri, Stores().read_bytes(file.uri)[:-1])

    with pytest.raises(SourceError, match=f"instead of {file.size}"):
        publish(sink, [file])
    assert published(sink) == []


@pytest.mark.parametrize("name", ["x.parquet", "part-wab-g1-00000-e1-t0-0000.parquet.tmp", "part-00000-uuid.parquet"])
def test_only_names_of_a_writer_are_published(sink: ParquetSink, name: str) -> None:
    """What no group's writer named is refused."""
    with pytest.raises(ExchangeError, match="will not be published"):
        target_uri(sink.uri, f"{sink.work_area}/stage/{name}")


def test_the_output_is_flat_wherever_staging_lies(sink: ParquetSink) -> None:
    """The target depends on the staged file's name alone."""
    name = "part-wab12-g1-00000-e1-t0-0000.parquet"

    assert target_uri(sink.uri, f"s3://elsewhere/deep/{name}") == f"{Stores().canonical(sink.uri)}/{name}"


def test_a_sweep_removes_unlisted_files_of_its_window_only(sink: ParquetSink) -> None:
    """Of the window, only listed files stay; other windows and foreign files are not touched."""
    old, new = publish(sink, stage(sink)), publish(sink, stage(sink, generation=2))
    other = publish(sink, stage(sink, window="ab1"))
    output = Stores().canonical(sink.uri)
    for foreign in ("part-00000.parquet", "_SUCCESS", ".part-wab12-g1-00000-e1-t0-0000.parquet.1f.tmp"):
        Stores().write_bytes_atomic(f"{output}/{foreign}", b"x")
    removed = sweep(Stores(), sink.uri, "ab12", new)

    leftover = f"{output}/.part-wab12-g1-00000-e1-t0-0000.parquet.1f.tmp"
    assert removed == sorted([leftover, *old])
    names = [uri.rpartition("/")[2] for uri in [*new, *other]]
    assert published(sink) == sorted([*names, "part-00000.parquet", "_SUCCESS"])
    assert sweep(Stores(), sink.uri, "ab12", names) == []
    assert sweep(Stores(), f"{sink.uri}-absent", "ab12", []) == []


def test_removing_a_file_can_be_repeated(sink: ParquetSink) -> None:
    """A file of an earlier generation is removed once, and again without complaint."""
    (uri,) = publish(sink, stage(sink, files=1))
    remove_file(Stores(), uri)
    remove_file(Stores(), uri)

    assert published(sink) == []


@pytest.mark.parametrize("damage", ["missing", "empty", "truncated", "no footer", "foreign"])
def test_a_damaged_file_is_refused_by_name(sink: ParquetSink, damage: str) -> None:
    """A file that is gone, cut, or something else entirely gives an error that names it."""
    (file,) = stage(sink, files=1)
    content = Stores().read_bytes(file.uri)
    wrong = {
        "empty": b"",
        "truncated": content[: len(content) // 2],
        "no footer": content[:-20] + b"\xff" * 12 + content[-8:],
        "foreign": b"a" * 1000,
    }
    if damage == "missing":
        Stores().remove(file.uri)
    else:
        Stores().write_bytes_atomic(file.uri, wrong[damage])

    with pytest.raises(ProofError, match=file.uri):
        footer_rows(Stores(), file.uri)


def test_readers_meet_an_ordinary_directory_at_any_moment(tmp_path: Path) -> None:
    """Between any two steps, pyarrow and DuckDB read whole files of the output, and never anything of staging."""
    sink = ParquetSink(str(tmp_path / "out"), file_bytes=1)
    (tmp_path / "out").mkdir()
    old = publish(sink, stage(sink, files=3))
    new = stage(sink, generation=2, files=3)
    steps = [lambda f=f: publish(sink, [f]) for f in new] + [lambda u=u: remove_file(Stores(), u) for u in old]
    seen = []
    for step in steps:
        step()
        query = f"select count(*) from read_parquet('{tmp_path}/out/**/*.parquet')"  # noqa: S608 - the test's own path
        ((count,),) = duckdb.sql(query).fetchall()
        assert pq.read_table(sink.uri).num_rows == count
        seen.append(count)

    assert seen == [8, 10, 12, 10, 8, 6]
