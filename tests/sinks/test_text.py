"""Text files: lines come back as they were, or are refused by name."""

from __future__ import annotations

import bz2
import gzip
import lzma
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import FunctionError, OptionsError, ProofError, RecordError, RowError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import ArrowFunction, Csv, Escaped, JsonLines, Lines, TextSink
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import Writer
from airflow_provider_blockread.sinks.registry import make_sink
from airflow_provider_blockread.steps.upkeep.withdrawing import undo
from airflow_provider_blockread.testing.bench import BLOCK
from tests.pipeline.make import Pipe, ReadHere
from tests.sinks.kinds import STORES, Bench

DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "none": bytes,
    "gzip": gzip.decompress,
    "bzip2": bz2.decompress,
    "xz": lzma.decompress,
    "zstd": lambda data: pa.input_stream(pa.BufferReader(data), "zstd").read(),
}


def bench(folder: str, **options: object) -> Bench:
    """Return a text sink."""
    return Bench("text", folder, options)


def writer(made: Bench, schema: pa.Schema | None = None) -> Writer:
    """Return the writer of a task attempt."""
    name = AttemptName(window="ab12", generation=2, group=7, epoch=3, attempt=41)
    return made.sink.writer(made.target, name, schema)


def batch(*values: bytes | str | None, of: pa.DataType | None = None) -> pa.RecordBatch:
    """Return a batch of values."""
    return pa.RecordBatch.from_pydict({"value": pa.array(values, of or pa.binary())})


@pytest.mark.parametrize("compression", DECODERS)
def test_each_compression_is_read_by_others(tmp_path: Path, compression: str) -> None:
    """Its own program decodes a file, which its suffix names; the rows are counted without it."""
    made = bench(str(tmp_path / "out"), compression=compression, terminator="\r\n")
    text = writer(made)
    for _ in range(3):
        text.write(batch(b"a", b"", b"b\n"), BLOCK)
    (file,) = text.close()
    codec = {"none": "", "gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst"}[compression]

    assert file.uri.endswith(f"/part-wab12-g2-00007-e3-t41-0000.txt{codec}")
    assert DECODERS[compression](STORES.read_bytes(file.uri)) == b"a\r\n\r\nb\n\r\n" * 3
    assert made.sink.count(file) == file.rows == 9


def test_a_file_a_block_says_which(tmp_path: Path) -> None:
    """Each block that has rows has a file, named by its number in hex behind the attempt."""
    made = bench(str(tmp_path / "out"), per="block")
    text = writer(made)
    for number in (9, 9, 10, 11, 4095):
        text.write(batch(*[b"x"] * (number != 11)), number)
    files = text.close()

    names = [file.uri.rpartition("-t41-")[2] for file in files]
    assert names == ["0000-b9.txt", "0001-ba.txt", "0002-bfff.txt"]
    assert [file.rows for file in files] == [2, 1, 1]
    assert [made.sink.placed(file).uri.rpartition("/")[2] for file in files] == [
        file.uri.rpartition("/")[2] for file in files
    ]


@pytest.mark.parametrize("of", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])
def test_all_types_of_text_are_written(tmp_path: Path, of: pa.DataType) -> None:
    """Slices too, which begin within their buffers."""
    made = bench(str(tmp_path / "out"))
    text = writer(made)
    text.write(batch("x", "ä", "", "y", of=of).slice(1, 2), BLOCK)
    (file,) = text.close()

    assert STORES.read_bytes(file.uri) == "ä\n\n".encode()


_BYTES = st.binary(max_size=6) | st.text("ab\r\n", max_size=6).map(str.encode)


@given(batches=st.lists(st.lists(_BYTES, max_size=4), max_size=3), end=_BYTES, codec=st.sampled_from(sorted(DECODERS)))
def test_lines_come_back_or_are_refused(batches: list[list[bytes]], end: bytes, codec: str) -> None:
    """A reader that ends lines at the leftmost terminators finds all values; the one that it would not is named."""
    assume(end)
    fsspec.filesystem("memory").store.clear()
    made = bench("memory://out", terminator=end, compression=codec)
    text = writer(made)
    written: list[bytes] = []
    for values in batches:
        lost = [place for place, value in enumerate(values) if (value + end).find(end) != len(value)]
        if lost:
            with pytest.raises(RowError, match="holds the terminator") as refused:
                text.write(batch(*values), BLOCK)
            assert refused.value.row == lost[0]
            assert repr(values[lost[0]]) in str(refused.value)
        else:
            text.write(batch(*values), BLOCK)
            written += values
    files = text.close()
    data = b"".join(DECODERS[codec](STORES.read_bytes(file.uri)) for file in files)

    assert data.split(end)[: len(written)] == written
    assert data == b"".join(value + end for value in written)
    assert sum(made.sink.count(file) for file in files) == sum(file.rows for file in files) == len(written)


@given(data=st.text("ab", max_size=40).map(str.encode), end=st.sampled_from([b"a", b"ab", b"aa", b"aba"]))
def test_lines_are_counted_across_chunks(data: bytes, end: bytes) -> None:
    """Whatever bytes are read at once, and however terminators overlap, as many lines are found as in one piece."""
    made = bench("memory://out", terminator=end)
    STORES.write_bytes_atomic("memory://out/x", data)
    *lines, rest = data.split(end)
    output = OutputFile(uri="memory://out/x", size=len(data), rows=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("airflow_provider_blockread.sinks.text._CHUNK", 3)
        if rest:
            with pytest.raises(ProofError, match="does not end with its terminator"):
                made.sink.count(output)
        else:
            assert made.sink.count(output) == len(lines)


def test_a_null_is_refused(tmp_path: Path) -> None:
    """No line says it: an empty one is an empty text."""
    with pytest.raises(RowError, match="is null") as refused:
        writer(bench(str(tmp_path / "out"))).write(batch(b"x", None), BLOCK)

    assert refused.value.row == 1


@pytest.mark.parametrize("columns", [{"value": [1]}, {"text": ["x"]}, {"value": ["x"], "more": ["y"]}])
def test_other_columns_are_refused(tmp_path: Path, columns: dict[str, list[object]]) -> None:
    """Before anything is read where they are known, or else when they are written."""
    rows = pa.RecordBatch.from_pydict(columns)
    made = bench(str(tmp_path / "out"))

    with pytest.raises(FunctionError, match="one column `value` of text or bytes"):
        writer(made).write(rows, BLOCK)
    with pytest.raises(OptionsError, match="one column `value` of text or bytes"):
        make_sink(STORES, made.option).prepare(rows.schema, "stage")


@pytest.mark.parametrize("compression", DECODERS)
def test_a_truncated_file_is_not_counted(tmp_path: Path, compression: str) -> None:
    """The error names it, whether its terminator is cut off or its codec's end."""
    made = bench(str(tmp_path / "out"), compression=compression)
    text = writer(made)
    text.write(batch(b"x", b"y"), BLOCK)
    (file,) = text.close()
    STORES.write_bytes_atomic(file.uri, STORES.read_bytes(file.uri)[:-1])

    with pytest.raises(ProofError, match=file.uri):
        made.sink.count(file)


@pytest.mark.slow
def test_a_line_longer_than_memory_allows_is_counted(tmp_path: Path) -> None:
    """What is held does not grow with a line."""
    made = bench(str(tmp_path / "out"))
    long = tmp_path / "long"
    with long.open("wb") as file:
        file.truncate(2**31)
        file.seek(0, 2)
        file.write(b"\n")
    before = _peak()

    assert made.sink.count(OutputFile(uri=str(long), size=2**31 + 1, rows=1)) == 1
    assert _peak() - before < 64 * 2**10  # KiB


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.parametrize("options", [{"terminator": ""}, {"compression": "lz4"}, {"per": "file"}])
def test_options_that_mean_nothing_are_refused(options: dict[str, str]) -> None:
    """An empty terminator, an unknown codec, another unit."""
    with pytest.raises(OptionsError, match="text: "):
        TextSink("out", **options)  # type: ignore[arg-type]


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    """A pipeline into text, without Spark."""
    made = Pipe(folder=tmp_path, submitter=ReadHere(), kind="text")
    yield made
    made.close()


def test_a_record_with_the_terminator_inside_is_named(pipe: Pipe) -> None:
    """The window publishes nothing and says where; with another terminator the same records are published."""
    pipe.record_format = Escaped(unescape=True)
    pipe.put({"a.txt": b"one\ntwo\\\nlines\n"})
    ref = pipe.plan()

    with pytest.raises(RecordError, match=r"record at byte 4 of .*two\\nlines.* holds the terminator") as refused:
        pipe.read(ref)
    assert "feed feed window" in str(refused.value)
    assert pipe.published() == []
    pipe.sink_options = {"terminator": "\0"}
    pipe.run(clear_number=1)
    (name,) = pipe.published()
    assert (pipe.out / name).read_bytes() == b"one\0two\nlines\0"


def test_a_null_is_named(pipe: Pipe) -> None:
    """So is a record without text; a function returns some for it."""
    pipe.record_format = JsonLines(schema="value string")
    pipe.put({"a.txt": b'{"value": "x"}\n{"value": null}\n'})
    with pytest.raises(RecordError, match=r"record at byte 15 of .* is null, .*; return text from a function"):
        pipe.read(pipe.plan())
    pipe.function = ArrowFunction("tests.crash.as_lines:as_lines")
    pipe.run(clear_number=1)

    assert pipe.values() == ['{"value": "x"}', '{"value": null}']


@pytest.mark.parametrize("harmed", [b"x\ny", b"x\ny\n?", b"x\ny\nz\n", b"x y\n"])
def test_a_staged_file_that_was_harmed(pipe: Pipe, harmed: bytes) -> None:
    """Nothing is published; the group is cleared, as the message says, and the window is published."""
    pipe.put({"a.txt": b"x\ny\n"})
    ref = pipe.plan()
    pipe.read(ref)
    (staged,) = pipe.work.rglob("data/*")
    staged.write_bytes(harmed)
    with pytest.raises(ProofError, match=r"clear the group's task to read it again"):
        pipe.commit(ref)
    assert pipe.published() == []
    pipe.read(ref, clear_number=1)

    assert (pipe.commit(ref).rows, pipe.values()) == (2, ["x", "y"])


def test_bytes_that_are_no_text_come_through(pipe: Pipe) -> None:
    """Lines are published byte for byte, empty ones too, and an empty file publishes none."""
    pipe.record_format = Lines(encoding="binary", newline="lf")
    pipe.block_size = 3
    data = b"\xff\xfe\0\n\n\r\n \xc3\x28\n"
    pipe.put({"a.bin": data, "b.bin": b""})
    done = pipe.run()

    assert done.rows == 4
    assert b"".join((pipe.out / name).read_bytes() for name in pipe.published()) == data


def test_a_rebuild_into_another_sink_takes_the_earlier_files_away(pipe: Pipe) -> None:
    """Whatever sinks come one after another at a place, readers find the last generation alone; an undo leaves none."""
    pipe.put({"a.txt": b"x\ny\n"})
    pipe.run()
    for number, (kind, suffix) in enumerate([("parquet", ".parquet"), ("text", ".txt")], start=1):
        pipe.kind = kind
        pipe.run(clear_number=number)
        assert [Path(name).suffix for name in pipe.published()] == [suffix]
        assert pipe.values() == ["x", "y"]
    undo(pipe.env, get_window(pipe.env.ledger, "w"), who="me")

    assert pipe.published() == []


def test_columns_are_refused_before_anything_is_read(pipe: Pipe) -> None:
    """Typed csv has no lines; a function makes them."""
    pipe.record_format = Csv(schema="id long, msg string")
    pipe.put({"a.csv": b"1,x\n"})
    ref = pipe.plan()
    with pytest.raises(OptionsError, match="the columns are: id int64, msg string"):
        pipe.read(ref)
    assert pipe.attempt_files("job.json") == []
    pipe.function = ArrowFunction("tests.crash.as_lines:as_lines")
    pipe.run(clear_number=1)

    assert pipe.values() == ['{"id": 1, "msg": "x"}']
