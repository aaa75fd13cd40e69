"""Compressed files in windows: one block each, beside plain ones, read to their last byte or not published at all."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
import sys
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_blockread.errors import ConflictError, SourceError
from airflow_provider_blockread.ledger.windows.exclusions import InPlan, exclude_file
from airflow_provider_blockread.options import Csv, CustomFormat, Fixed, Limits, Lines, Selection
from tests.pipeline.make import Pipe

_LINES = [f"line {number}" for number in range(400)]
_TEXT = "\n".join(_LINES).encode()
_ENCODE: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: bytes(pa.compress(data, codec="zstd", asbytes=True)),
}


def _mixed() -> dict[str, bytes]:
    """Return a window of every codec, with several members in one, and plain files."""
    halves = _TEXT[:1000], _TEXT[1000:]
    files = {f"a.log{suffix}": encode(halves[0]) + encode(halves[1]) for suffix, encode in _ENCODE.items()}
    return files | {"plain.log": _TEXT, "nothing.log": b"", "nothing.gz": gzip.compress(b"")}


def _check_mixed(pipe: Pipe) -> None:
    files = _mixed()
    pipe.put(files)
    pipe.block_size = 64
    ref = pipe.plan()
    pipe.read(ref)
    done = pipe.commit(ref)
    blocks = {path: list(rows) for path, rows in _receipts(pipe).items()}

    assert pipe.values() == sorted(_LINES * 5)
    assert (done.records, done.bytes) == (2000, sum(map(len, files.values())))
    assert ref.blocks == 5 + -(-len(_TEXT) // 64)
    assert sorted(rows[0]["stream_size"] for rows in blocks.values()) == [0, 0, *[len(_TEXT)] * 4]


def _receipts(pipe: Pipe) -> dict[int, list[dict[str, int]]]:
    """Return the receipts of all attempts, by file."""
    found: dict[int, list[dict[str, int]]] = {}
    for path in pipe.attempt_files("receipts.parquet"):
        for row in pq.read_table(path).to_pylist():
            found.setdefault(row["file"], []).append(row)
    return found


def test_a_mixed_window(here: Pipe) -> None:
    """Compressed files are one block each and give the records that plain ones in small blocks give."""
    here.group_bytes = 1500
    _check_mixed(here)


@pytest.mark.spark
def test_a_mixed_window_on_spark(pipe: Pipe) -> None:
    """The same in Spark's tasks."""
    _check_mixed(pipe)


def test_a_scan_leaves_compressed_files_out(here: Pipe) -> None:
    """A format that needs a scan needs none for what is read as a whole."""
    text = b'"a\nb"\n"c\n\n"\nd\n' * 30
    here.put({"plain.csv": text, "a.csv.gz": gzip.compress(text)})
    here.record_format = CustomFormat(path="quoted_lines:QuotedLines")
    here.block_size = 10
    done = here.run()

    assert here.values() == sorted(['"a\nb"', '"c\n\n"', "d"] * 60)
    assert (done.blocks, done.records) == (1 + len(text) // 10, 180)


def test_headers_and_offsets_of_compressed_files(here: Pipe) -> None:
    """A header is found in what was decoded."""
    here.put({"a.csv.gz": gzip.compress(b'id,name\n1,"x\ny"\n2,z\n'), "b.csv": b'id,name\n3,"x\ny"\n4,z\n'})
    here.record_format = Csv(header=True, schema="id long, name string")
    here.block_size = 5
    here.run()

    assert sorted((row["id"], row["name"]) for row in here.rows()) == [(1, "x\ny"), (2, "z"), (3, "x\ny"), (4, "z")]


@pytest.mark.sampled(4, each="suffix")
@pytest.mark.parametrize("policy", ["fail", "quarantine", "drop"])
@pytest.mark.parametrize("suffix", _ENCODE)
@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda whole: whole[:-3], r"is truncated: its \w+ data end after \d+ decoded bytes, at byte \d+"),
        (
            lambda whole: whole + b"\nmore\n",
            r"has bytes after the end of its \w+ data at byte \d+; remove them, or exclude the file",
        ),
        (lambda _: b"no codec's data\n", r"does not start as \w+ data; set compression='none', or exclude"),
        (lambda _: b"", r"is truncated: its \w+ data end after 0 decoded bytes, at byte 0"),
    ],
    ids=["cut short", "garbage", "wrong suffix", "empty"],
)
def test_a_harmed_file_publishes_nothing(
    here: Pipe, suffix: str, policy: str, harm: Callable[[bytes], bytes], message: str
) -> None:
    """Whatever happens to bad records, a harmed file fails the window by name; excluded by hand, the rest goes out."""
    here.put({"a.log": b"plain\n", f"b.log{suffix}": harm(_ENCODE[suffix](_TEXT))})
    here.with_policies(on_bad_record=policy)
    ref = here.plan()
    with pytest.raises(SourceError, match=rf"b\.log{suffix} {message}"):
        here.read(ref)
    with pytest.raises(ConflictError, match="are not done"):
        here.commit(ref)
    assert here.published() == []
    exclude_file(here.env.ledger, ref.window, here.uri(f"b.log{suffix}"), reason="harmed", who="me", plan=InPlan([0]))
    here.read(ref)
    here.commit(ref)

    assert here.values() == ["plain"]


def test_a_codec_that_is_told_later(here: Pipe) -> None:
    """A window planned when its files passed for plain is repaired by the option alone: later blocks hold nothing."""
    data = gzip.compress(_TEXT, mtime=0)
    here.put({"a.data": data})
    here.block_size = 100
    ref = here.plan()
    assert ref.blocks > 5
    with pytest.raises(
        SourceError, match=r"a\.data starts with gzip data.* set compression='gzip', or compression='none'"
    ):
        here.read(ref)
    here.record_format = Lines(compression="gzip")
    done = here.run()

    assert (here.values(), done.generation, done.bytes) == (sorted(_LINES), 2, len(data))


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("b.log", b"PK\x03\x04abc\n", "zip"),
        ("b.log", b"PAR1\x15\x04\x15\n", "Parquet"),
        ("b.log", b"Obj\x01\x04\x16avro.schema\n", "Avro"),
        ("b.log", b"SEQ\x06!org.apache.hadoop.io.LongWritable\n", "SequenceFile"),
        ("b.log", b"\x1f\x9d\x90a\n", "compress"),
        ("b.snappy", pa.compress(b"a\nb\n", "snappy", asbytes=True), "snappy"),
        ("b.tar.gz", gzip.compress(b"a".ljust(100, b"\0"), mtime=0), "tar"),
        ("b.gz.bz2", bz2.compress(gzip.compress(b"a\n", mtime=0)), "doubly compressed gzip"),
    ],
)
def test_a_file_that_is_no_text(here: Pipe, name: str, data: bytes, what: str, *, small: bool) -> None:
    """Its bytes might pass for records, also in the middle of small files; the option says that they are."""
    here.put({"a.log": b"a\n", name: data, "c.log": b"c\n"})
    here.block_size = 64 if small else 1
    ref = here.plan()
    with pytest.raises(SourceError, match=rf"{name} is {what} data, .*compression='none'"):
        here.read(ref)
    here.selection = Selection()
    here.record_format = Lines(compression="none", encoding="binary")

    assert here.run().records == 2 + len(data.splitlines())


@pytest.mark.parametrize("small", [False, True])
def test_text_may_look_like_another_format(here: Pipe, *, small: bool) -> None:
    """Only a file that is no text for certain is refused, whatever its name is."""
    texts = [b"PAR1,ORC\nObj,SEQ\n", b"Obj\x01Id\n\x01\n", b"SEQ\x06Id\n1\n", b"PAR1\x15Id\n1\n", b"BZh91AY&SY\n1\n"]
    here.put({f"{number}.csv": text for number, text in enumerate(texts)})
    here.put({"a.zip": b"1\n", "a.tar.gz": gzip.compress(b"1\n", mtime=0)})
    here.block_size = 64 if small else 1

    assert here.run().records == 12


def test_text_of_any_encoding_may_begin_as_another_format(here: Pipe) -> None:
    """The first characters are bytes of compressed data."""
    here.put({"a.log": "\u8b1f\u0108\n".encode("utf-16-le"), "b.log": "\u9d1f\u4e90\n".encode("utf-16-le")})
    here.record_format = Lines(encoding="utf-16-le")

    assert here.run().records == 2


def test_a_codec_that_is_taken_back(here: Pipe) -> None:
    """A file that only its name makes a compressed one is read as it is once the option says so."""
    here.put({"a.gz": b"a\nb\n"})
    ref = here.plan()
    with pytest.raises(SourceError, match="set compression='none'"):
        here.read(ref)
    here.record_format = Lines(compression="none")
    here.run()

    assert here.values() == ["a", "b"]


def test_a_compressed_file_counts_as_one_block(here: Pipe) -> None:
    """A window of at most two blocks takes two compressed files, however large they are."""
    here.put({f"{name}.gz": gzip.compress(_TEXT) for name in "abc"})
    here.block_size, here.selection = 64, Selection(limits=Limits(max_blocks=2))

    assert (here.run().files, here.run("next").files) == (2, 1)


def test_a_lost_manifest_of_compressed_files_is_restored(here: Pipe) -> None:
    """What the ledger knows of the files makes the same blocks again."""
    here.put(_mixed())
    here.block_size = 64
    ref = here.plan()
    next(iter(here.attempt_files("manifest-*.parquet"))).unlink()
    here.read(here.plan())
    here.commit(ref)

    assert here.values() == sorted(_LINES * 5)


@pytest.mark.slow
def test_bombs_are_refused(here: Pipe) -> None:
    """A file that decodes to more than the policies allow fails by name, and passes when they allow it."""
    here.put({"a.gz": gzip.compress(b"0123456789abcde\n" * (2 * 2**20), mtime=0)})
    here.record_format = Fixed(length=2**20, encoding="binary")
    here.with_policies(max_expansion=20)
    ref = here.plan()
    with pytest.raises(
        SourceError, match=r"a\.gz decodes to too much data: .* exceed max_expansion=20; raise Policies\(max_expansion="
    ):
        here.read(ref)
    here.with_policies(max_expansion=1000)

    assert here.run().records == 32


_READ_ZEROS = """
import gzip, io, sys
import psutil
from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.options import Policies
from airflow_provider_blockread.records import record_format
from airflow_provider_blockread.records.reading import bind
from airflow_provider_blockread.records.io.streaming import StreamSource
from airflow_provider_blockread.records.walking import walk_block

def bomb(line):
    return io.BytesIO(gzip.compress(line * (2**24 // len(line))) * 16)

def read(file, fmt):
    source = StreamSource(file, "gzip", name="zeros", limits=Policies(max_expansion=2000))
    bound, most, records = bind(source, fmt), 0, 0
    for chunk in walk_block(source, bound, source.data_offset, sys.maxsize):
        bound.decoder().decode(chunk)
        records += len(chunk.ends)
        most = max(most, psutil.Process().memory_info().rss)
    return records, most

fixed, lines = record_format("fixed", length=1024), record_format("lines", newline="lf")
read(io.BytesIO(gzip.compress(bytes(2**22))), fixed)
read(io.BytesIO(gzip.compress((bytes(15) + b"\\n") * 2**20)), lines)  # Arrow keeps what it takes for a first copy
zeros, before = bomb(bytes(1024)), psutil.Process().memory_info().rss
records, most = read(zeros, fixed)
print(records, (most - before) // 2**20)
records, most = read(bomb(bytes(15) + b"\\n"), lines)
print(records, (most - before) // 2**20)
try:
    read(zeros, lines)
except BlockReadError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.slow
def test_memory_stays_flat_while_zeros_are_decoded() -> None:
    """A small file of many zeros is decoded a chunk at a time; as one endless line it ends at `max_record_bytes`."""
    answer = subprocess.run([sys.executable, "-c", _READ_ZEROS], capture_output=True, text=True, check=True)
    fixed, lines, endless = answer.stdout.splitlines()

    assert fixed.split()[0] == str(256 * 1024)
    assert lines.split()[0] == str(256 * 2**16)
    assert max(int(fixed.split()[1]), int(lines.split()[1])) < 40
    assert endless.startswith("RecordError zeros: the record that starts at byte 0 is longer than max_record_bytes")
