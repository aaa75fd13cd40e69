"""csv and JSON arrays through whole windows: blocks of a few bytes, one group or many, columns declared or inferred."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_provider_blockread.errors import FileChangedError, RecordError
from airflow_provider_blockread.options import Csv, FormatOption, JsonArray, Policies
from tests.pipeline.make import Pipe

_SCHEMA = "id long, msg string, at timestamp"


def _text(low: int, high: int, *, header: bool = True, end: str = "\n") -> bytes:
    """Rows whose second field holds newlines, quotes and delimiters."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator=end)
    if header:
        writer.writerow(["id", "msg", "at"])
    for i in range(low, high):
        writer.writerow([i, f'{i} said "hi",\n{"x" * (i % 7)}\r\n', f"2026-01-0{i % 9 + 1}T00:00:00Z"])
    return out.getvalue().encode()


def _rows(low: int, high: int) -> list[dict[str, Any]]:
    return [
        {
            "id": i,
            "msg": f'{i} said "hi",\n{"x" * (i % 7)}\r\n',
            "at": datetime(2026, 1, i % 9 + 1, tzinfo=UTC),
        }
        for i in range(low, high)
    ]


def _sorted(pipe: Pipe) -> list[dict[str, Any]]:
    return sorted(pipe.rows(), key=lambda row: row["id"])


@pytest.fixture
def rows(here: Pipe) -> Pipe:
    """Two csv files with a header each, in blocks of a few bytes."""
    here.put({"a.csv": _text(0, 20), "b.csv": _text(20, 25, end="\r\n")})
    here.record_format, here.block_size = Csv(header=True, schema=_SCHEMA), 16
    return here


@pytest.mark.slow
@pytest.mark.parametrize("block_size", [1, 13, 64, 10_000])
@pytest.mark.parametrize("group_bytes", [100, 2**30])
def test_rows_are_exact(rows: Pipe, block_size: int, group_bytes: int) -> None:
    """What is published is what Python's csv reads, whatever the blocks and groups."""
    rows.block_size, rows.group_bytes = block_size, group_bytes
    done = rows.run()

    assert _sorted(rows) == _rows(0, 25)
    assert (done.records, done.bad_records, done.proof) == (25, 0, "proven")


@pytest.mark.spark
def test_rows_on_spark(pipe: Pipe) -> None:
    """The same on Spark, for a file that spans groups and one that does not; the rebuild does not scan again."""
    pipe.put({"a.csv": _text(0, 40), "b.csv": _text(40, 45)})
    pipe.record_format, pipe.block_size, pipe.group_bytes = Csv(header=True, schema=_SCHEMA), 50, 500
    done = pipe.run()

    assert (_sorted(pipe), done.groups > 2) == (_rows(0, 45), True)
    states = {path: path.stat().st_mtime_ns for path in pipe.work.rglob("states-*.json")}
    rebuilt = pipe.run(clear_number=1)
    assert (rebuilt.generation, _sorted(pipe)) == (2, _rows(0, 45))
    assert {path: path.stat().st_mtime_ns for path in pipe.work.rglob("states-*.json")} == states


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["array", "values"])
@pytest.mark.parametrize("group_bytes", [60, 2**30])
def test_json_elements_are_exact(here: Pipe, layout: str, group_bytes: int) -> None:
    """Elements of a pretty-printed array, or values one after another, in blocks of a few bytes."""
    values = [{"id": i, "msg": 'a "]}\\' * (i % 4), "deep": [{"x": [i]}]} for i in range(20)]
    text = json.dumps(values, indent=1) if layout == "array" else "\n".join(json.dumps(v, indent=2) for v in values)
    here.put({"a.json": text.encode(), "b.json": b"[]" if layout == "array" else b""})
    here.record_format, here.block_size = JsonArray(schema="id long, msg string", layout=layout), 16
    here.group_bytes = group_bytes
    here.run()

    assert _sorted(here) == [{"id": v["id"], "msg": v["msg"]} for v in values]


@pytest.mark.slow
def test_columns_are_inferred_once(rows: Pipe) -> None:
    """Names come from the header and types from a sample; groups and rebuilds agree, and the log says so."""
    rows.record_format, rows.group_bytes = Csv(header=True), 100
    done = rows.run()
    (kept,) = rows.work.rglob("schema-*.json")
    stamp = kept.stat().st_mtime_ns
    again = rows.run(clear_number=1)
    logged = [message for message in rows.messages if "columns as found in 2 files: " in message]

    assert (done.generation, again.generation, done.groups > 2) == (1, 2, True)
    assert _sorted(rows) == _rows(0, 25)
    assert (len(logged), kept.stat().st_mtime_ns) == (1, stamp)
    assert json.loads(kept.read_bytes())["columns"]["files"] == [rows.uri("a.csv"), rows.uri("b.csv")]


@pytest.mark.parametrize("header", [True, False])
def test_files_without_rows_say_nothing_of_columns(here: Pipe, *, header: bool) -> None:
    """Empty and blank files come first, more than are sampled; the first file with rows decides."""
    blank = {f"a{number}.csv": b"\n#c\n\n" if header else b"#c\n" for number in range(10)}
    here.put({"0.csv": b"", "1.csv": codecs.BOM_UTF8, "2.csv.gz": gzip.compress(b"\n"), **blank})
    here.put({"b.csv": b"id,msg\n1,x\n" if header else b"1,x\n"})
    here.record_format = Csv(header=header, comment="#")
    here.with_policies(on_bad_record="quarantine")
    here.run()

    assert [tuple(row.values()) for row in here.rows()] == [(1, "x")]


@pytest.mark.parametrize("files", [{"a.csv": b"", "b.csv": b""}, {"a.csv": b"", "b.csv": b"#\n", "c.csv": b"\n#"}])
def test_nothing_but_empty_files_publish_nothing(here: Pipe, files: dict[str, bytes]) -> None:
    """Without a row or header there is nothing to infer: the window is proven, published without files, and says so."""
    here.put(files)
    here.record_format = Csv(header=True, comment="#")
    done = here.run()

    assert (done.status, done.files, done.records, done.outputs, here.published()) == (
        "published",
        len(files),
        0,
        0,
        [],
    )
    assert any("is proven: 0 records" in message for message in here.messages)
    assert any("is published: 0 files in" in message for message in here.messages)


@pytest.mark.slow
def test_columns_without_a_header(here: Pipe) -> None:
    """Without a header columns are numbered; what the sample did not show is a bad record later on."""
    here.put({"a.csv": b"1,x\n" * 400_000, "b.csv": b"2,y\nthree,z\n"})
    here.record_format = Csv()
    here.policies = Policies(on_bad_record="quarantine")
    done = here.run()

    assert done.bad_records == 0
    assert {row["_c0"] for row in here.rows()} == {"1", "2", "three"}


def test_types_that_differ_from_the_window_before_are_named(here: Pipe) -> None:
    """The log says what to declare; columns that are new, or of the same type, are no trouble, nor are idle runs."""
    here.record_format = Csv(header=True)
    here.put({"a.csv": b"id,part,day\n1,2,2026-01-02\n"})
    first = here.run("one")
    for number in range(10):
        here.plan(f"idle {number}")
    here.put({"b.csv": b"id,part,day\nx,2.5,2026-01-03\n"})
    here.run("two")
    here.put({"c.csv": b"id,part,more\ny,3.5,1\n"})
    here.run("three")

    warnings = [message for message in here.warnings if "other types" in message]
    assert len(warnings) == 1
    assert f"than in window {first.window}: 'id' string instead of int64, 'part' double instead of int64" in warnings[0]
    assert "Declare types for all windows, such as schema='id long, part long, day date'" in warnings[0]


@pytest.mark.slow
def test_only_a_sample_decides(here: Pipe) -> None:
    """A value beyond the sample that does not fit its column is a bad record."""
    here.put({"a.csv": b"1,x\n" * 400_000 + b"three,z\n"})
    here.record_format, here.policies = Csv(), Policies(on_bad_record="quarantine")
    done = here.run()

    assert (done.records, done.bad_records) == (400_001, 1)
    assert {row["_c0"] for row in here.rows()} == {1}


@pytest.mark.slow
def test_another_format_infers_again(rows: Pipe) -> None:
    """A corrected option makes a new generation with columns of its own."""
    rows.record_format = Csv(header=False)
    rows.run()
    rows.record_format = Csv(header=True)
    done = rows.run(clear_number=1)

    assert (done.generation, len(list(rows.work.rglob("schema-*.json")))) == (2, 2)
    assert _sorted(rows) == _rows(0, 25)


def test_headers_that_differ_cannot_be_inferred(here: Pipe) -> None:
    """The file whose header differs from those before it is named, and what would read them together."""
    here.put({"a.csv": b"a,b\n1,x\n", "b.csv": b"b,a\ny,2\n"})
    here.record_format = Csv(header=True)
    with pytest.raises(
        RecordError, match=r"^feed feed window \w+: .*inferred, .*b\.csv: .*headers of.*differ.*by_name"
    ):
        here.run()
    here.record_format = Csv(header=True, columns="by_name")
    here.run()

    assert sorted((row["a"], row["b"]) for row in here.rows()) == [(1, "x"), (2, "y")]


def test_a_window_of_empty_files(here: Pipe) -> None:
    """Files without a byte hold no rows, and no columns that could be asked for."""
    here.put({"a.csv": b"", "b.csv": b""})
    here.record_format = Csv(header=True)

    assert (here.run().records, here.rows()) == (0, [])


def test_a_changed_sample_follows_the_policy(rows: Pipe) -> None:
    """A file that changed since the plan fails the sample as it fails a read, or is excluded."""
    rows.record_format = Csv(header=True)
    ref = rows.plan()
    rows.put({"a.csv": b"another,header\n1,2\n"})
    with pytest.raises(FileChangedError, match=r"a\.csv is no longer the version that was planned"):
        rows.read(ref)
    rows.with_policies(on_changed="exclude")
    done = rows.run()

    assert (done.excluded, _sorted(rows)) == (1, _rows(20, 25))


@pytest.mark.parametrize(
    ("record_format", "data", "error", "message"),
    [
        (Csv(schema="a long, b string"), b'1,x\n2,"y\n3,z\n', RecordError, r"quote that opened at byte 6 .*not closed"),
        (
            Csv(schema="a long", header=True),
            b'a,"b\n1\n',
            RecordError,
            r"header at byte 0 .*quote that opened at byte 2 ",
        ),
        (Csv(schema="a long"), "1\n2\n".encode("utf-16-le"), RecordError, r"NUL byte.*UTF-16"),
        (Csv(schema="a long, b long"), b"1,2\n3\n", RecordError, r"at byte 4 of .*a block 0 .*: 1 field, expected 2"),
        (Csv(schema="a long"), b"1\nx\n", RecordError, r"record at byte 2 of .*on_bad_record"),
        (Csv(schema="a long", header=True), b"b\n1\n", RecordError, r"/a: the header has columns 'b' where the schema"),
        (JsonArray(schema="a long"), b'[{"a": 1}, {"a": 2}', RecordError, r"/a ends inside .* byte 11: close the"),
        (JsonArray(schema="a long"), b'[{"a": 1}] more', RecordError, r"/a: .*text at byte 11 follows the `\]`"),
        (JsonArray(schema="a long"), b'[{"a": 1}, 7]', RecordError, r"record at byte 11 of .*a block 0"),
    ],
    ids=["quote", "quote in header", "nul", "fields", "value", "header", "open array", "behind array", "no object"],
)
def test_bad_input_is_named_and_nothing_published(
    here: Pipe, record_format: FormatOption, data: bytes, error: type[Exception], message: str
) -> None:
    """The error says where and why; nothing is published."""
    here.put({"a": data})
    here.record_format = record_format
    with pytest.raises(error, match=message):
        here.run()

    assert here.published() == []


def test_one_bad_row_costs_only_itself(here: Pipe) -> None:
    """Bad rows between good ones are quarantined with their bytes, and their neighbours published."""
    here.put({"a.csv": b'1,a\nx,b\n2,"c\nc"\n3\n4,d,e\n\n5,f\n"6'})
    here.record_format, here.block_size = Csv(schema="id long, msg string"), 5
    here.policies = Policies(on_bad_record="quarantine")
    done = here.run()

    assert [(row["id"], row["msg"]) for row in _sorted(here)] == [(1, "a"), (2, "c\nc"), (5, "f")]
    assert (done.records, done.bad_records) == (8, 5)


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("schema", [None, "c0 string"])
def test_more_columns_than_the_policy_allows_are_refused_by_their_place(
    here: Pipe,
    header: bool,  # noqa: FBT001
    compressed: bool,  # noqa: FBT001
    schema: str | None,
) -> None:
    """The error names file and byte, whichever step reads it first; a schema gives the width of files without one."""
    text = b"# two\n" + b",".join(b"c%d" % number for number in range(12)) + b"\n" + b"1,2\n"
    name = "a.csv.gz" if compressed else "a.csv"
    here.put({name: gzip.compress(text) if compressed else text})
    here.record_format = Csv(header=header, comment="#", schema=schema, columns="by_name" if header else "equal")
    here.with_policies(max_columns=10, on_bad_record="drop")
    if schema is not None and not header:
        assert here.run().bad_records == 2
        return
    what = "header" if header else "row"
    with pytest.raises(RecordError, match=rf"{name}: the {what} at byte 6 has 12 columns, more than max_columns=10;"):
        here.run()
    here.with_policies(max_columns=12)
    assert here.run(clear_number=1).proof == "proven"
