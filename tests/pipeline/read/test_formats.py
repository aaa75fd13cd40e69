"""The whole job on `local[2]`: for every format, what is published is what an oracle says the files hold."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import duckdb
import pyarrow.parquet as pq
import pytest
from oracles import Records, fixed, quoted_lines, split_by, universal_lines, whole_file

from airflow_provider_blockread.cli.spark import InProcessSpark
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import (
    CustomFormat,
    Delimited,
    Fixed,
    FormatOption,
    JsonLines,
    Lines,
    ParquetSink,
    WholeFile,
)
from tests.pipeline.make import Pipe

pytestmark = pytest.mark.spark


Oracle = Callable[[bytes, int], Records]


_FILES = {
    "crlf.log": b"one\r\ntwo\r\n\r\nfour\r\n",
    "deep/er/cr.log": b"old\rmac\r\rlines",
    "no_end.log": b"first\n\n\nlast without an end",
    "bom.log": b"\xef\xbb\xbfmarked\nlines\n",
    "empty.log": b"",
    "ends.log": b"\n\n\r\n\r",
}


_QUOTED = {
    "a.txt": b'plain\n"one\nrecord\n" and more\n"x""y\n"\nlast',
    "b.txt": b"\n".join(b'"%d\n%d"' % (i, i) for i in range(20)) + b"\n",
    "c.txt": b"no quotes\nat all\n",
}


_QUOTED_FORMAT = CustomFormat(path="quoted_lines:QuotedLines")


def _expected(oracle: Oracle, files: dict[str, bytes]) -> list[bytes]:
    return sorted(
        record for data in files.values() for _, record in oracle(data, 3 if data.startswith(b"\xef\xbb\xbf") else 0)
    )


def _as_bytes(values: list[str] | list[bytes]) -> list[bytes]:
    return sorted(value.encode() if isinstance(value, str) else value for value in values)


_CASES = pytest.mark.parametrize(
    ("record_format", "oracle", "files"),
    [
        (Lines(), universal_lines, _FILES),
        (Lines(newline="lf"), split_by(b"\n"), _FILES),
        (Delimited(delimiter="||"), split_by(b"||"), {"a": b"x||y|||z||||", "b": b"|||||a|b|", "c": b"||"}),
        (Delimited(delimiter=b"abab"), split_by(b"abab"), {"a": b"1ababab2ababababab3", "b": b"ab" * 31}),
        (Delimited(delimiter="\n\n"), split_by(b"\n\n"), {"a": b"p\nq\n\n\nr\n\n\n\n\ns"}),
        (Fixed(length=5), fixed(5), {"a": b"abcde" * 9, "b": b"12345"}),
        (Fixed(length=5, short_last="keep"), fixed(5), {"a": b"abcde" * 9 + b"xy"}),
        (WholeFile(), whole_file, {"a": b"all\nof it", "b": b"x" * 100, "c": b""}),
        (_QUOTED_FORMAT, quoted_lines, _QUOTED),
    ],
    ids=lambda value: value.kind if isinstance(value, FormatOption) else None,
)


def _check(pipe: Pipe, record_format: FormatOption, oracle: Oracle, files: dict[str, bytes]) -> None:
    pipe.put(files)
    pipe.record_format = record_format
    pipe.group_bytes = max(sum(map(len, files.values())) // 2, pipe.block_size)
    done = pipe.run()

    expected = _expected(oracle, files)
    assert _as_bytes(pipe.values()) == expected
    assert done.records == done.rows == len(expected)
    assert done.status == "published"


@_CASES
def test_every_format(pipe: Pipe, record_format: FormatOption, oracle: Oracle, files: dict[str, bytes]) -> None:
    """What is published is what the format's oracle finds in the files, for tiny blocks in several groups."""
    pipe.block_size = 7
    _check(pipe, record_format, oracle, files)


@pytest.mark.parametrize("size", [1, 16, 10_000])
@_CASES
def test_block_size_does_not_matter(
    here: Pipe, record_format: FormatOption, oracle: Oracle, files: dict[str, bytes], size: int
) -> None:
    """The same for blocks of one byte, and for blocks larger than any file."""
    here.block_size = size
    _check(here, record_format, oracle, files)


def test_binary_lines(here: Pipe) -> None:
    """Bytes that are no text are published as they are where the encoding is binary."""
    here.put({"a": b"\xff\xfe\n\x00\nok"})
    here.record_format = Lines(encoding="binary")
    here.run()

    assert here.values() == [b"\x00", b"ok", b"\xff\xfe"]


def test_json_lines_are_typed(here: Pipe) -> None:
    """JSON lines come out as the schema's columns: unknown fields dropped, lacking ones null, blank lines counted."""
    here.put({"a.jsonl": b'{"id": 1, "msg": "a", "x": 2}\n\n{"id": 2}\n  \n{"msg": "c", "ts": "2026-01-02T03:04:05Z"}'})
    here.record_format = JsonLines(schema="id long, msg string, ts timestamp")
    here.block_size = 9
    done = here.run()

    rows = sorted(((r["id"] or 0), r["msg"], str(r["ts"])) for r in here.rows())
    assert rows == [(0, "c", "2026-01-02 03:04:05+00:00"), (1, "a", "None"), (2, None, "None")]
    assert (done.records, done.skipped_records) == (3, 2)


def test_many_small_files(pipe: Pipe) -> None:
    """Hundreds of small files over several groups are each read exactly once."""
    random.seed(7)
    files = {
        f"d{i % 7}/f{i}.txt": b"\n".join(b"%d-%d" % (i, j) for j in range(random.randrange(4))) for i in range(300)
    }
    pipe.put(files)
    pipe.group_bytes = sum(map(len, files.values())) // 3
    done = pipe.run()

    assert _as_bytes(pipe.values()) == _expected(universal_lines, files)
    assert (done.files, done.groups) == (300, 4)


def test_state_chain_in_one_group(pipe: Pipe) -> None:
    """A format that needs a scan reads a file of one group in one application: a scan stage, then a read stage."""
    pipe.put(_QUOTED)
    pipe.record_format, pipe.block_size = _QUOTED_FORMAT, 4
    ref = pipe.plan()
    pipe.read(ref)

    assert not ref.needs_scan
    assert len(pipe.attempt_files("job.json")) == 1
    pipe.commit(ref)
    assert _as_bytes(pipe.values()) == _expected(quoted_lines, _QUOTED)


def test_states_of_files_that_span_groups(pipe: Pipe) -> None:
    """A file that spans groups has its states found once, by the scan step; each group then starts in its own."""
    pipe.put(_QUOTED)
    pipe.record_format, pipe.block_size, pipe.group_bytes = _QUOTED_FORMAT, 4, 16
    ref = pipe.plan()
    assert (ref.needs_scan, ref.groups > 3) == (True, True)
    pipe.read(ref)
    scanned_at = get_window(pipe.env.ledger, ref.window).scanned_at
    pipe.pass_seconds(5)
    pipe.read(ref)

    assert sum("scanned already" in message for message in pipe.messages) == 1
    assert scanned_at is not None
    assert get_window(pipe.env.ledger, ref.window).scanned_at == scanned_at
    pipe.commit(ref)
    assert _as_bytes(pipe.values()) == _expected(quoted_lines, _QUOTED)
    states = pq.read_table(pipe.attempt_files("receipts.parquet")[1])
    assert set(states["entry_state"].to_pylist()) == {0, 1}


@pytest.mark.parametrize("compression", ["zstd", "gzip", "lz4", "none"])
def test_compression(here: Pipe, compression: str) -> None:
    """Files are compressed as the option says."""
    here.put({"a": b"hello\n" * 100})
    here.sink_options = {"compression": compression}
    here.run()

    column = pq.read_metadata(here.out / here.published()[0]).row_group(0).column(0)
    assert column.compression == {"none": "UNCOMPRESSED"}.get(compression, compression.upper())


def test_digest_does_not_depend_on_splitting(here: Pipe) -> None:
    """The digest of a window is the same however its files were split."""
    here.put(_FILES)
    here.with_policies(proof="digest")
    digests = set()
    for size in (3, 11, 10_000):
        here.feed, here.block_size = f"feed {size}", size
        here.run()
        receipts = [pq.read_table(p) for p in sorted(here.work.glob(f"feed-{size}*/**/receipts.parquet"))]
        digests.add(sum(value for table in receipts for value in table["digest"].to_pylist()) % 2**64)

    assert len(digests) == 1
    assert digests != {0}


def test_readers_see_whole_files_only(pipe: Pipe, spark: InProcessSpark) -> None:
    """While a rebuild is published, PyArrow, DuckDB and Spark read the directory without ever meeting a half file."""
    lines = [f"line {i}" for i in range(200)]
    pipe.put({f"f{i}.txt": "\n".join(lines[i * 20 : (i + 1) * 20]).encode() for i in range(10)})
    pipe.group_bytes, pipe.block_size = 300, 200
    pipe.run()
    ref = pipe.plan(clear_number=1)
    pipe.read(ref, clear_number=1)
    done, seen, failures = threading.Event(), [], []

    def poll() -> None:
        connection = duckdb.connect()
        while not done.is_set():
            try:
                query = f"SELECT count(DISTINCT value) FROM read_parquet('{pipe.out}/**/*.parquet')"  # noqa: S608
                before = sorted(pipe.out.rglob("*.parquet"))
                count = connection.execute(query).fetchone()[0]
                if sorted(pipe.out.rglob("*.parquet")) == before:  # a listing may miss what comes while it is made
                    seen.append(count)
            except duckdb.IOException as error:
                if "No such file" not in str(error):  # listed, then replaced: any directory of files has that
                    failures.append(error)
            except duckdb.Error as error:
                failures.append(error)

    reader = threading.Thread(target=poll)
    reader.start()
    try:
        pipe.commit(ref)
    finally:
        done.set()
        reader.join()

    assert failures == []
    assert set(seen) <= {200}
    assert pipe.values() == sorted(lines)
    spark_rows = spark._started().context._jvm.org.apache.spark.sql.SparkSession.builder().getOrCreate().read()
    assert spark_rows.parquet(str(pipe.out)).count() == 200
    assert all("-g2-" in name for name in pipe.published())


def test_work_area_is_beside_the_output(here: Pipe) -> None:
    """Nothing but data files of the published generation is in the output; it may be in the source's parent."""
    here.put({"a": b"1\n"})
    here.run()

    assert [name.endswith(".parquet") for name in here.published()] == [True]
    assert not ParquetSink(str(here.out)).work_area.startswith(f"{here.out}/")
