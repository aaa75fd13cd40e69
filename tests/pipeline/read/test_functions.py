"""Functions of users and bad records: what goes in, what comes out, and who is to blame."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from airflow_provider_blockread.errors import FunctionError, RecordError
from airflow_provider_blockread.options import (
    ArrowFunction,
    AsRead,
    FormatOption,
    JsonLines,
    Lines,
    Policies,
)
from airflow_provider_blockread.sinks.conform import without_views
from tests.pipeline.make import Pipe

pytestmark = pytest.mark.spark


def test_function_filters(here: Pipe) -> None:
    """Rows that a function leaves out are counted, not lost: records say what was read, rows what was published."""
    here.put({"a": b"\n".join(b"%d" % i for i in range(10))})
    here.function = ArrowFunction("user_functions:keep_even")
    done = here.run()

    assert here.values() == ["0", "2", "4", "6", "8"]
    assert (done.records, done.rows) == (10, 5)


def test_function_returns_none(here: Pipe) -> None:
    """A function that keeps nothing publishes nothing, and the window is proven all the same."""
    here.put({"a": b"1\n2\n"})
    here.function = ArrowFunction("user_functions:nothing")
    done = here.run()

    assert (done.status, done.records, done.rows, here.published()) == ("published", 2, 0, [])


@pytest.mark.parametrize("schema", [None, "length long"])
def test_function_changes_the_schema(here: Pipe, schema: str | None) -> None:
    """A function may return other columns and more rows; the schema is declared, or that of its first batch."""
    here.put({"a": b"1\n22\n"})
    here.function = ArrowFunction("user_functions:doubled", schema=schema)
    done = here.run()

    assert sorted(row["length"] for row in here.rows()) == [1, 1, 2, 2]
    assert (done.records, done.rows) == (2, 4)


@pytest.mark.parametrize(
    ("sink", "options"),
    [
        ("delta", {"sort_by": ["value"]}),
        ("parquet", {"partition_by": ["value"]}),
        ("csv", {}),
        ("json_lines", {}),
        ("postgres", {}),
    ],
)
def test_views_of_texts_become_texts(here: Pipe, options: dict[str, Any]) -> None:
    """Sinks sort, split and write them as any text."""
    here.put({"a.txt": b"c\n", "b.txt": b"b\na\n"})
    here.function, here.sink_options = ArrowFunction("user_functions:viewed"), options
    here.run()

    assert sorted(row["other"] for row in here.rows()) == ["a", "b", "c"]


def test_views_are_replaced_at_any_depth() -> None:
    """In a batch without rows, too; one without views is left as it is."""
    text, raw, viewed = pa.string(), pa.binary(), pa.string_view()
    plain = pa.schema(
        [
            pa.field("text", text, nullable=False),
            ("raw", raw),
            ("nested", pa.map_(text, pa.list_(pa.struct([("x", pa.list_(text, 1)), ("y", pa.large_list(text))])))),
        ],
        {"a": "b"},
    )
    nested = pa.map_(viewed, pa.list_(pa.struct([("x", pa.list_(viewed, 1)), ("y", pa.large_list(viewed))])))
    given = pa.schema([pa.field("text", viewed, nullable=False), ("raw", pa.binary_view()), ("nested", nested)])
    rows = [{"text": "a" * 20, "raw": None, "nested": [("k", [{"x": ["v"], "y": ["w", None]}, None])]}]
    for some in ([], rows, [*rows, {"text": "b", "raw": b"c", "nested": None}]):
        made = without_views(pa.RecordBatch.from_pylist(some, given.with_metadata(plain.metadata)))
        assert made.schema.equals(plain, check_metadata=True)
        assert made.equals(pa.RecordBatch.from_pylist(some, plain))

    assert without_views(made) is made


def test_declared_schema_is_enforced(here: Pipe) -> None:
    """A batch that is not of the declared schema is refused, with function, file and column named."""
    here.put({"a": b"1\n22\n"})
    here.function = ArrowFunction("user_functions:doubled", schema="length int")

    with pytest.raises(
        FunctionError, match=r"doubled on 2 records from byte 0 of file://.*/a .*'length' is int64 instead"
    ):
        here.run()


def test_schemas_agree_across_tasks(pipe: Pipe) -> None:
    """Spark tasks that return batches of different schemas are refused, since no reader could join their files."""
    pipe.put({"a": b"first\n", "b": b"second\n"})
    pipe.function = ArrowFunction("user_functions:wavering")

    with pytest.raises(FunctionError, match=r"wavering returned batches of different schemas.*return the same columns"):
        pipe.run()
    assert pipe.published() == []


def test_schemas_agree_across_groups(here: Pipe) -> None:
    """Groups that wrote different schemas are refused by the proof."""
    here.put({"a": b"first\n", "b": b"second\n"})
    here.function, here.group_bytes = ArrowFunction("user_functions:wavering"), 6

    with pytest.raises(Exception, match="groups wrote different schemas"):
        here.run()
    assert here.published() == []


@pytest.mark.parametrize("block_size", [5, 1000])
def test_function_that_raises_names_the_record(pipe: Pipe, block_size: int) -> None:
    """An exception in a function names the byte offset of the record to blame, its file and its block."""
    pipe.put({"a.txt": b"good\nfine\nbad\ngood\n"})
    pipe.function, pipe.block_size = ArrowFunction("user_functions:fails_on_bad_word"), block_size

    with pytest.raises(
        FunctionError,
        match=r"cannot bear it \(user_functions\.py, line \d+\) on the record at byte 10 of file://.*/a\.txt",
    ):
        pipe.run()
    assert pipe.published() == []


@pytest.mark.parametrize(("most", "blamed"), [("1", 2), ("3", 5), ("9", 10)])
def test_function_that_fails_on_no_record_alone(
    here: Pipe, monkeypatch: pytest.MonkeyPatch, most: str, blamed: int
) -> None:
    """The error names a batch on which it fails, and on no half of it."""
    here.put({"a": b"0\n" * 10})
    here.function = ArrowFunction("user_functions:takes_few")
    monkeypatch.setenv("MOST_RECORDS", most)

    with pytest.raises(FunctionError, match=rf"too many \(.*\) on the batch of {blamed} records from byte 0 on of"):
        here.run()


def test_function_must_return_a_batch(here: Pipe) -> None:
    """A function that returns something else is refused by name."""
    here.put({"a": b"1\n"})
    here.function = ArrowFunction("user_functions:no_batch")

    with pytest.raises(FunctionError, match="no_batch returned int"):
        here.run()


def test_place_columns(here: Pipe) -> None:
    """A record's file, block and byte offset are columns where they are asked for."""
    here.put({"a": b"0123\n56\n8", "b": b"x\n"})
    here.function, here.block_size = AsRead(columns=["_file", "_block", "_offset"]), 5
    here.run()

    found = sorted(
        (row["_file"].rpartition("/")[2], row["_block"], row["_offset"], row["value"]) for row in here.rows()
    )
    blocks = {name: min(block for file, block, _, _ in found if file == name) for name in "ab"}
    relative = [(file, block - blocks[file], offset, value) for file, block, offset, value in found]
    assert relative == [("a", 0, 0, "0123"), ("a", 1, 5, "56"), ("a", 1, 8, "8"), ("b", 0, 0, "x")]


_BAD_TEXT = b"good\n\xff\xfebad\nfine\n"


_BAD_JSON = b'{"id": 1}\n{"id": \n{"id": 3}\n'


@pytest.mark.parametrize(
    ("record_format", "data", "offset"),
    [(Lines(), _BAD_TEXT, 5), (JsonLines(schema="id long"), _BAD_JSON, 10)],
    ids=["utf-8", "json"],
)
class TestBadRecords:
    """What is no record of the format fails, is kept apart or is dropped, and is always counted."""

    def test_fail(self, here: Pipe, record_format: FormatOption, data: bytes, offset: int) -> None:
        """By default the record fails the read, named by file, block and byte."""
        here.put({"a.txt": data})
        here.record_format, here.block_size = record_format, 6

        with pytest.raises(
            RecordError, match=rf"record at byte {offset} of file://.*/a\.txt block \d+ .*on_bad_record"
        ):
            here.run()
        assert (here.published(), here.state()) == ([], "reading")

    def test_drop(self, here: Pipe, record_format: FormatOption, data: bytes, offset: int) -> None:
        """A dropped record is counted."""
        del offset
        here.put({"a.txt": data})
        here.record_format, here.block_size, here.policies = record_format, 6, Policies(on_bad_record="drop")
        done = here.run()

        assert (done.records, done.bad_records, done.rows, len(here.rows())) == (3, 1, 2, 2)

    def test_quarantine(self, pipe: Pipe, record_format: FormatOption, data: bytes, offset: int) -> None:
        """A quarantined record is kept with its bytes, place and reason, outside the output."""
        pipe.put({"a.txt": data})
        pipe.record_format, pipe.block_size, pipe.policies = record_format, 6, Policies(on_bad_record="quarantine")
        done = pipe.run()

        kept = ds.dataset([str(p) for p in pipe.work.rglob("quarantine/**/*.parquet")]).to_table().to_pylist()
        assert (done.records, done.bad_records, len(pipe.rows())) == (3, 1, 2)
        assert [(row["path"], row["offset"], row["bytes"]) for row in kept] == [
            (pipe.uri("a.txt"), offset, data[offset : data.index(b"\n", offset)])
        ]
