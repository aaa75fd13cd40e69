"""Files that hold more than policies allow, and schemas and formats that are not known: each is read in the end."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_provider_blockread.errors import OptionsError, RecordError, TransientError
from airflow_provider_blockread.options import CustomFormat
from airflow_provider_blockread.records import ByteSource, make_format, read_records, record_format
from airflow_provider_blockread.records.columns.schema import parse_schema
from airflow_provider_blockread.records.walking import first_start
from tests.remedies.data.desk import Desk

FORMAT = """
import numpy as np
from airflow_provider_blockread.records import BaseFormat, Walk

class Format(BaseFormat):
    def __init__(self, *, width=1):
        self.width = width

    def for_file(self, source):
        return self

    def cut(self, source, offset, state):
        return min(-(-offset // self.width) * self.width, source.size)

    def walk(self, buffer, *, final):
        ends = np.arange(1, len(buffer) // self.width + 1, dtype=np.int64) * self.width
        return Walk(ends=ends, nexts=ends)
"""


@pytest.mark.parametrize(
    ("data", "name", "says", "small", "large"),
    [
        (b"x" * 3000 + b"\n", "a.txt", "the record that starts at byte 0 is longer than max_record_bytes=1000",
         "max_record_bytes=1000", "max_record_bytes=3000"),
        (b"1,2,3\n", "a.csv", "has 3 columns, more than max_columns=2", "max_columns=2", "max_columns=3"),
        (gzip.compress(b"one\n" * 1000, mtime=0), "a.gz", "exceed max_decoded_bytes=1000", "max_decoded_bytes=1000",
         "max_decoded_bytes=4000"),
        (gzip.compress(b"x\n" * 10**7, mtime=0), "a.gz", "exceed max_expansion=20", "max_expansion=20",
         "max_expansion=2000"),
    ],
    ids=["a record", "columns", "decoded bytes", "expansion"],
)  # fmt: skip
def test_what_a_policy_refuses_is_read_when_it_is_raised(
    desk: Desk, data: bytes, name: str, says: str, small: str, large: str
) -> None:
    """By the policy that the message names, in the window that failed."""
    desk.put({name: data})
    read = ["--block-size", "2000B", "--format", "csv" if name == "a.csv" else "lines"]
    message = desk.fails(*read, "--policy", small)

    assert says in message
    assert f"raise Policies({small.partition('=')[0]}=...)" in message
    assert desk.runs(*read, "--policy", large)


def test_a_record_that_is_looked_for_is_found_when_the_policy_is_raised() -> None:
    """A block that begins inside of a long record looks for its end, as far as the policy lets it."""
    file, fmt = io.BytesIO(b"x" * 200_000 + b"\n"), record_format("lines")
    message = (
        r"the record around byte 10 is longer than max_record_bytes=1000; .* raise Policies\(max_record_bytes=...\)"
    )
    with pytest.raises(RecordError, match=message):
        first_start(ByteSource(file, max_record_bytes=1000), fmt, 10, 0)

    assert first_start(ByteSource(file, max_record_bytes=200_000), fmt, 10, 0) == 200_001


def test_a_file_that_is_one_record_has_no_better_options(desk: Desk) -> None:
    """It is excluded, or read when the policy is raised."""
    desk.put({"a.bin": b"x" * 3000, "b.bin": b"y"})
    whole = ["--format", "whole_file", "--policy"]
    message = desk.fails(*whole, "max_record_bytes=1000")
    assert "max_record_bytes=1000; exclude the file with `blockread windows exclude" in message
    assert "`, or raise Policies(max_record_bytes=...)" in message

    assert len(desk.runs(*whole, "max_record_bytes=3000")) == 2


def test_a_record_that_only_another_delimiter_ends_is_read_with_it(desk: Desk) -> None:
    """The other remedy for records that are too long: options that are those of the file."""
    desk.put({"a.txt": b"x;" * 2000})
    assert "correct the format's options" in desk.fails("--policy", "max_record_bytes=1000")

    options = ["--format", "delimited", "--format-option", "delimiter=;"]
    assert len(desk.runs("--policy", "max_record_bytes=1000", *options)) == 2000


def test_a_schema_that_arrow_printed_in_part_is_read_when_printed_whole() -> None:
    """By the very call that the message names."""
    schema = pa.schema([("tags", pa.struct([(f"a_long_name_of_a_field_{n}", pa.int64()) for n in range(100)]))])
    with pytest.raises(OptionsError, match=r"print it with schema\.to_string\(element_size_limit=1_000_000\)"):
        parse_schema(schema.to_string())

    assert parse_schema(schema.to_string(element_size_limit=1_000_000)) == schema


def test_columns_are_known_by_a_schema_or_from_a_window(desk: Desk) -> None:
    """A decoder needs the schema; a window infers one."""
    desk.put({"a.csv": b"1,x\n"})
    with pytest.raises(OptionsError, match='set schema="id long, msg string", or let a window infer one'):
        record_format("csv").decoder()

    assert record_format("csv", schema="id long, msg string").decoder().schema.names == ["id", "msg"]
    assert desk.runs("--format", "csv") == [{"_c0": 1, "_c1": "x"}]


def test_files_with_unlike_headers_are_read_by_name_or_without_one_of_them(desk: Desk) -> None:
    """Both remedies for headers that do not agree, in windows of their own."""
    header = ["--format", "csv", "--format-option", "header=true"]
    desk.put({"a.csv": b"a,b\n1,2\n", "b.csv": b"b,c\n3,4\n"})
    message = desk.fails(*header)

    assert "the headers of the files differ: 'a', 'b' and 'b', 'c'" in message
    assert f"{desk.source}/b.csv" in message
    assert "set columns='by_name', or exclude one of the files with `blockread windows exclude " in message
    desk.exclude(message)
    assert desk.runs(*header) == [{"a": 1, "b": 2}]
    desk.put({"c.csv": b"a,b\n5,6\n", "d.csv": b"b,c\n7,8\n"})
    desk.fails(*header)
    assert len(desk.runs(*header, "--format-option", "columns=by_name")) == 3


def write(folder: Path, code: str) -> None:
    """Write the module `mine`, to be imported again."""
    (folder / "mine.py").write_text(code)
    sys.modules.pop("mine", None)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("class Format:\n    walk = None", "lacks for_file"),
        (FORMAT + "    needs_scan = 1", "has needs_scan=1, which must be of type bool"),
        (FORMAT + "    explain = ''", "has a member explain that is not a method"),
        ("Format = 1", "is not a class"),
        (FORMAT.replace("np.arange", "numpy.arange"), "raises NameError"),
        (FORMAT.replace("return Walk(ends=ends, nexts=ends)", "return ends"), "instead of a Walk without records"),
        (FORMAT + "    def decoder(self):\n        import pyarrow as pa\n        from types import SimpleNamespace\n"
         "        return SimpleNamespace(schema=pa.schema([]))", "has a decoder without columns"),
    ],
    ids=lambda value: value if " " in value and len(value) < 60 else "",
)  # fmt: skip
def test_a_class_that_is_no_format_becomes_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, code: str, says: str
) -> None:
    """Derived from `records.BaseFormat`, as the message and the page that it names say."""
    monkeypatch.syspath_prepend(desk.folder)
    desk.put({"a.bin": b"abc"})
    mine = ["--format", "custom", "--format-option", "path=mine:Format"]
    write(desk.folder, code)
    message = desk.fails(*mine)
    write(desk.folder, FORMAT)

    assert says in message
    assert "derive it from records.BaseFormat and see docs/custom_formats.md" in message
    assert (Path(__file__).parents[3] / "docs" / "custom_formats.md").exists()
    assert len(desk.runs(*mine)) == 3


def test_a_class_is_found_once_its_module_is_importable(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """On PYTHONPATH, as the message says."""
    desk.put({"a.bin": b"abc"})
    mine = ["--format", "custom", "--format-option", "path=mine:Format"]
    write(desk.folder, FORMAT)
    message = desk.fails(*mine)
    monkeypatch.syspath_prepend(desk.folder)

    assert "'mine:Format' cannot be imported (ModuleNotFoundError: No module named 'mine')" in message
    assert "correct it, and put its module on PYTHONPATH here" in message
    assert len(desk.runs(*mine)) == 3


def test_a_class_takes_the_options_that_it_has(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options of another name are corrected."""
    monkeypatch.syspath_prepend(desk.folder)
    write(desk.folder, FORMAT)
    with pytest.raises(OptionsError, match=r"does not take the options \{'wide': 3\} .*; correct them"):
        make_format(CustomFormat(path="mine:Format", options={"wide": 3}))
    made = make_format(CustomFormat(path="mine:Format", options={"width": 3}))

    assert list(read_records(io.BytesIO(b"abc"), 0, 3, made)) == [(0, b"abc")]


def test_a_class_that_needs_what_is_away_is_made_later(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The task is retried; the options are not to blame."""
    monkeypatch.syspath_prepend(desk.folder)
    needed = desk.folder / "widths"
    width = f"pathlib.Path({str(needed)!r}).read_text()"
    write(desk.folder, "import pathlib" + FORMAT.replace("= width", f"= int({width})"))
    with pytest.raises(TransientError, match=r"cannot be made now \(FileNotFoundError: .*\); retry when it can"):
        make_format(CustomFormat(path="mine:Format"))
    needed.write_text("3")

    assert list(read_records(io.BytesIO(b"abc"), 0, 3, make_format(CustomFormat(path="mine:Format")))) == [(0, b"abc")]


def test_a_format_that_looks_back_reads_a_file_that_is_not_compressed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decompressed, as the message says."""
    monkeypatch.syspath_prepend(desk.folder)
    walk = "        source.read(0, 10)\n        source.read(10, 20)\n        source.data_offset = 0\n"
    looks = FORMAT.replace(
        "        return self\n", walk + "        source.read(30, 40), source.read(0, 1)\n        return self\n"
    )
    write(desk.folder, looks)
    mine = ["--format", "custom", "--format-option", "path=mine:Format"]
    data = b"a" * 50
    desk.put({"a.gz": gzip.compress(data, mtime=0), "a.bin": data})

    assert "decompress it for a format that looks back" in desk.unread("a.gz", *mine)
    assert len(desk.records("a.bin", *mine)) == 50
