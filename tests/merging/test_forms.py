"""Small files merged into each form, and read back as its members."""

from __future__ import annotations

import io
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_blockread.errors import (
    BlockReadError,
    FunctionError,
    OptionsError,
    ProofError,
    RecordError,
    SourceError,
)
from airflow_provider_blockread.options import MERGED, Members, Policies, Splitting
from airflow_provider_blockread.records import make_format, read_records
from airflow_provider_blockread.records.io.seek_table import FrameSource
from airflow_provider_blockread.records.members.index import index_uri
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.steps import WindowRef, plan
from tests.pipeline.dying import Died, dying
from tests.pipeline.make import Pipe, ReadHere
from tests.sinks.kinds import KINDS, STORES, Bench

FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "parquet": ("parquet", {"audit": ("_file", "_modified")}),
    "plain": ("archive", {}),
    "separated": ("archive", {"separator": b"\n\xff"}),
    "zstd": ("archive zstd", {"separator": ""}),
}
_FILES = {
    "a": b"",
    "b/empty": b"",
    "b/plain.txt": b"\xef\xbb\xbfa\r\n",
    "c.gz": b"\x1f\x8b\x08 no stream",
    "d": bytes(range(256)) * 5000,  # more than a frame, and than what is read together
    **{f"many/{number:03}": b"%d," * number for number in range(300)},
    "z": b"",
}


def _pipe(folder: Path, form: str = "parquet", **options: Any) -> Pipe:
    folder.mkdir()
    kind, sink_options = FORMS[form]
    return Pipe(folder, ReadHere(), kind=kind, sink_options=sink_options, **options)


def _merged(folder: Path, form: str, files: dict[str, bytes], *, file_bytes: int = 2**18) -> Pipe:
    pipe = _pipe(folder, form, record_format=MERGED, merges=True)
    pipe.sink_options = {**pipe.sink_options, "file_bytes": file_bytes}
    pipe.put(files)
    return pipe


def _back(folder: Path, merged: Pipe, **options: Any) -> Pipe:
    """Return a pipe that reads what another has published."""
    pipe = _pipe(folder, record_format=Members(encoding="binary"), policies=Policies(proof="digest"), **options)
    shutil.copytree(merged.out, pipe.source, dirs_exist_ok=True)
    return pipe


@pytest.mark.parametrize("form", FORMS)
def test_files_come_back_from_what_they_are_merged_into(tmp_path: Path, form: str) -> None:
    """Byte for byte, with names and times, empty ones and each once; merged files have the size that is asked for."""
    pipe = _merged(tmp_path / "to", form, _FILES)
    merged = pipe.run()
    back = _back(tmp_path / "back", pipe)
    read = back.run()

    rows = back.rows()
    assert (merged.records, merged.files, read.records) == (len(_FILES),) * 3
    assert {row["_file"]: row["value"] for row in rows} == {pipe.uri(name): data for name, data in _FILES.items()}
    times = {pipe.uri(name): (pipe.source / name).stat().st_mtime_ns // 1000 for name in _FILES}
    assert {row["_file"]: round(row["_modified"].timestamp() * 1e6) for row in rows} == pytest.approx(times, abs=2)
    assert 3 <= merged.outputs <= 5  # one file is larger than a merged one should be


@pytest.mark.parametrize("form", FORMS)
def test_what_is_merged_is_in_the_order_of_the_plan(tmp_path: Path, form: str) -> None:
    """Merged files hold runs of the plan, oldest first, each in order; a task writes one of them."""
    pipe = _merged(tmp_path / "to", form, {f"{number:03}": b"x" * 1000 for number in range(50)}, file_bytes=10_020)
    pipe.run()
    back = _back(tmp_path / "back", pipe)
    back.run()

    files = [uri for uri in sorted(pipe.out.iterdir()) if not uri.name.startswith(".")]
    assert [row["_file"] for row in back.rows()] == [pipe.uri(f"{number:03}") for number in range(50)]
    assert [KINDS[pipe.kind].read(f"file://{file}").__len__() for file in files] == [10] * 5


@pytest.mark.parametrize(("form", "most"), [("plain", 1000), ("zstd", 1000), ("separated", 1002)])
@pytest.mark.parametrize("readers", [1, None])
def test_an_archive_is_not_larger_than_asked_for(tmp_path: Path, form: str, most: int, readers: int | None) -> None:
    """Whether a task writes one or several, with its separators; only a file that is larger has one of its own."""
    sizes = [600, 600, 399, 1, 0, *[499] * 4, 1001, 0, 1, *[1] * 250]
    files = {f"{number:03}": b"x" * size for number, size in enumerate(sizes)}
    pipe = _merged(tmp_path / "to", form, files, file_bytes=most)
    pipe.submitter = ReadHere(cores=4)  # more than readers, which then limit the tasks
    request = replace(pipe.request("w"), splitting=Splitting(max_readers=readers))
    ref = WindowRef.from_json(plan(pipe.env, request).to_json())
    pipe.read(ref)
    pipe.commit(ref)

    held = [pl.read_parquet(path)["length"].to_list() for path in sorted(pipe.out.glob(".*.index"))]
    separator = 2 if form == "separated" else 0
    packed = [sum(size + separator for size in of_archive) for of_archive in held]
    assert [size for of_archive in held for size in of_archive] == sizes
    assert [size for size in packed if size > most] == [1001 + separator]
    assert len(held) == (7 if separator else 6)


def test_an_index_says_where_each_file_is(tmp_path: Path) -> None:
    """Any reader of Parquet finds archive, offset and length."""
    pipe = _merged(tmp_path / "to", "separated", _FILES)
    pipe.run()

    index = pl.read_parquet(f"{pipe.out}/.*.index")
    found = {
        row["_file"]: (pipe.out / row["output"]).read_bytes()[row["offset"] : row["offset"] + row["length"]]
        for row in index.to_dicts()
    }
    assert found == {pipe.uri(name): data for name, data in _FILES.items()}


def test_a_rebuild_replaces_archives_and_their_indexes(tmp_path: Path) -> None:
    """A cleared window leaves one generation, with the indexes of its archives only."""
    pipe = _merged(tmp_path / "to", "plain", _FILES)
    pipe.run()
    first = {path.name for path in pipe.out.iterdir()}
    pipe.run(clear_number=1)
    second = {path.name for path in pipe.out.iterdir()}

    assert len(first) == len(second)
    assert not first & second
    assert sum(map(len, (pq.read_table(path) for path in pipe.out.glob(".*.index")))) == len(_FILES)


@pytest.mark.parametrize("form", ["plain", "zstd"])
@pytest.mark.parametrize("harm", ["changed", "truncated", "longer", "no index", "other index"])
def test_damage_is_found_when_members_are_read(tmp_path: Path, form: str, harm: str) -> None:
    """Nothing is published of an archive that is not what was merged."""
    pipe = _merged(tmp_path / "to", form, {"a": b"first" * 50, "b": b"", "c": b"second" * 50})
    pipe.run()
    (archive,) = (path for path in pipe.out.iterdir() if path.name[0] != ".")
    index, data = archive.with_name(f".{archive.name}.index"), archive.read_bytes()
    middle = len(data) // 3
    harms = {
        "changed": lambda: archive.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]),
        "truncated": lambda: archive.write_bytes(data[: len(data) // 2]),
        "longer": lambda: archive.write_bytes(data + data),
        "no index": index.unlink,
        "other index": lambda: pq.write_table(pq.read_table(index).slice(1), index),
    }
    harms[harm]()
    back = _back(tmp_path / "back", pipe)

    with pytest.raises(BlockReadError, match=r"damaged|no index|truncated|corrupt"):
        back.run()
    assert back.published() == []


def test_text_that_is_not_utf8_is_bad(tmp_path: Path) -> None:
    """Members of text are records like others, and policies decide on bad ones."""
    pipe = _merged(tmp_path / "to", "plain", {"a": b"good", "b": b"\xff", "c": "é".encode()})
    pipe.run()
    back = _back(tmp_path / "back", pipe)
    back.record_format, back.policies = Members(), Policies(on_bad_record="drop")
    back.run()

    assert {row["_file"]: row["value"] for row in back.rows()} == {pipe.uri("a"): "good", pipe.uri("c"): "é"}


def test_other_parquet_files_are_refused(tmp_path: Path) -> None:
    """Columns `value` and `_file` are needed."""
    back = _pipe(tmp_path / "back", record_format=Members())
    pl.DataFrame({"value": ["x"]}).write_parquet(back.source / "x.parquet")

    with pytest.raises(BlockReadError, match="no columns `value`, of text or bytes, and `_file`"):
        back.run()


@pytest.mark.parametrize("form", ["plain", "zstd"])
@pytest.mark.parametrize("harm", ["truncated", "no index", "other index"])
def test_what_was_harmed_is_not_published(tmp_path: Path, form: str, harm: str) -> None:
    """The proof compares archives with their indexes; once the group is read again, they are published."""
    pipe = _merged(tmp_path / "to", form, {"a": b"first" * 50, "b": b"second" * 50})
    ref = pipe.plan()
    pipe.read(ref)
    (index,) = pipe.work.rglob(".*.index")
    archive = index.with_name(index.name[1:].removesuffix(".index"))
    if harm == "truncated":
        archive.write_bytes(archive.read_bytes()[:-1])
    elif harm == "no index":
        index.unlink()
    else:
        pq.write_table(pq.read_table(index).slice(0, 1), index)

    with pytest.raises(ProofError, match="clear the group"):
        pipe.commit(ref)
    assert pipe.published() == []
    pipe.read(pipe.plan(clear_number=1), clear_number=1)
    pipe.commit(pipe.plan(clear_number=1))
    assert sorted(pipe.values()) == sorted(["first" * 50, "second" * 50])


def test_an_index_that_is_gone_stops_a_publisher(tmp_path: Path) -> None:
    """No archive appears without its index."""
    bench = Bench("archive", str(tmp_path / "out"))
    (file,) = bench.stage("x")
    STORES.remove(index_uri(file.uri))

    with pytest.raises(ProofError, match=r"is gone and .* is not published; clear the run from its plan on"):
        bench.apply(bench.steps([file]))
    assert bench.values() == []


@pytest.mark.parametrize("clear_number", [0, 1])
def test_a_half_whose_index_is_lost(tmp_path: Path, clear_number: int) -> None:
    """The error advises a clear, which takes the half back, reads its files again and publishes all."""
    pipe = _merged(tmp_path / "to", "plain", {name: name.encode() * 1000 for name in "abc"}, file_bytes=1000)
    if clear_number:
        pipe.run()
    ref = pipe.plan(clear_number=clear_number)
    pipe.read(ref, clear_number=clear_number)
    with dying("publish_file", 1), pytest.raises(Died):
        pipe.commit(ref)
    before = len(pipe.values())
    (index,) = (path for path in pipe.work.rglob(".*.index"))
    index.unlink()
    with pytest.raises(ProofError, match="clear the run from its plan on"):
        pipe.commit(ref)
    done = pipe.run(clear_number=clear_number)

    assert before == 1 + 3 * clear_number
    assert (done.status, done.generation) == ("published", clear_number + 2)
    assert pipe.values() == ["a" * 1000, "b" * 1000, "c" * 1000]
    assert len(list(pipe.out.iterdir())) == 6


def test_a_seek_table_is_needed(tmp_path: Path) -> None:
    """Of a zstd file that was restored, any place can be read; of another one, none."""
    content = bytes(range(256)) * 10_000
    files = {"a": content[:1_500_000], "b": content[1_500_000:]}
    pipe = _merged(tmp_path / "to", "zstd", files, file_bytes=2**24)
    pipe.run()
    data = b"".join(path.read_bytes() for path in pipe.out.glob("*.zst"))
    source = FrameSource(io.BytesIO(data), name="x.zst")

    assert source.size == len(content)
    for start, end in ((0, len(content)), (1_499_999, 1_500_001), (len(content) - 1, len(content)), (5, 5)):
        assert source.read(start, end) == content[start:end]
    for bad in (data[:-1], b"", b"text" * 9, data[4:]):
        with pytest.raises(SourceError, match="does not end with its seek table; restore it"):
            FrameSource(io.BytesIO(bad), name="x.zst")
    with pytest.raises(SourceError, match="cannot be decompressed at byte 0; restore it"):
        FrameSource(io.BytesIO(b"\0" + data[1:]), name="x.zst").read(0, 1)


def test_members_need_their_index() -> None:
    """A file without its path has none; an empty one has no members."""
    fmt = make_format(Members())
    with pytest.raises(RecordError, match="members are found by an index"):
        list(read_records(io.BytesIO(b"x"), 0, 1, fmt))
    assert list(read_records(io.BytesIO(b""), 0, 0, fmt)) == []


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """Other columns, before anything is read or from a function, and nulls; text and bytes are taken."""
    bench = Bench("archive", str(tmp_path / "out"))
    name = AttemptName(window="ab12", generation=1, group=0, epoch=1, attempt=0)
    with pytest.raises(OptionsError, match="choose another sink"):
        bench.sink.prepare(pa.schema([("id", pa.int64())]), str(tmp_path))
    writer = bench.sink.writer(bench.target, name, None)
    with pytest.raises(FunctionError, match="the columns are: value string, id int64"):
        writer.write(pa.RecordBatch.from_pydict({"value": ["x"], "id": [1]}))
    with pytest.raises(FunctionError, match="is null, which a file cannot represent; return bytes"):
        writer.write(pa.RecordBatch.from_pydict({"value": pa.array(["x", None])}))
    for kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
        writer.write(pa.RecordBatch.from_pydict({"value": pa.array(["x"], kind)}))

    assert [file.rows for file in writer.close()] == [4]
