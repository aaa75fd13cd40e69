"""Files that are no records of their format are read once what the message says is done."""

from __future__ import annotations

import bz2
import codecs
import gzip
from dataclasses import dataclass, field

import pytest

from tests.remedies.data.desk import Desk

CSV = ["--format", "csv", "--schema", "a string, b string"]
HEADER = [*CSV, "--format-option", "header=true"]
JSON = ["--format", "json_array"]


def option(*texts: str) -> list[str]:
    """Return format options of the command line."""
    return [part for text in texts for part in ("--format-option", text)]


@dataclass(frozen=True)
class Case:
    """A file that a run refuses with `says`; what to set, by the words in the message that say it, and what it holds.

    The last of an option is the one that counts, so `sets` come behind `given`.
    """

    data: bytes
    given: list[str]
    says: str
    sets: dict[str, list[str]] = field(default_factory=dict)
    rows: int = 1
    name: str = "a.txt"


OPTIONS = [
    Case(gzip.compress(b"one\n", mtime=0), [], "starts with gzip data",
         {"compression='gzip'": option("compression=gzip"),
          "compression='none' to read it as it is": option("compression=none", "encoding=binary")}),
    Case(b"one\x01\n", [], "is zip data, not text",
         {"compression='none' to read it as it is": option("compression=none")}, name="a.zip"),
    Case(b"one\n", [], "does not start as gzip data", {"compression='none'": option("compression=none")}, name="a.gz"),
    Case(bz2.compress(b"one\n"), [], "it looks like bzip2", {"compression='bzip2'": option("compression=bzip2")},
         name="a.gz"),
    Case("one\n".encode("utf-16-le"), option("encoding=utf-16"), "no byte order mark",
         {"encoding='utf-16-le'": option("encoding=utf-16-le"), "'utf-16-be'": option("encoding=utf-16-be")}),
    Case(codecs.BOM_UTF16_BE + "one\n".encode("utf-16-be"), option("encoding=utf-16-le"),
         "begins with the byte order mark of utf-16-be", {"encoding='utf-16-be'": option("encoding=utf-16-be")}),
    Case(b"abcde", ["--format", "fixed", *option("length=2")], "ends inside the fixed record that starts at byte 4",
         {"short_last='keep'": option("short_last=keep")}, rows=3),
    Case(b'{"a":1}\n{"a":2}\n', [*JSON, *option("layout=array")], "does not start with `[` but with b'{'",
         {"layout='values'": option("layout=values"), "format": ["--format", "lines"]}, rows=2),
    Case(b'[{"a":1}]\n[{"a":2}]', JSON, "(text at byte 10 follows the `]` that closes the array)",
         {"layout='values'": option("layout=values")}, rows=2),
    Case(b'[]\n[{"a":2}]', JSON, "text at byte 3 follows the `]` that closes the array",
         {"layout='values'": option("layout=values")}, rows=2),
    Case(b'a,"b\n1,2\n', ["--format", "csv", *option("header=true")], "byte 0 extends to the end of the file",
         {"quote=None": option("quote=")}),
    Case("a,b\xe9\n1,2\n".encode("cp1252"), ["--format", "csv", *option("header=true")],
         "the header at byte 0 is not UTF-8", {"encoding": option("encoding=cp1252")}),
    Case("a,b\n1,2\n".encode("utf-16-le"), HEADER, "if the file is UTF-16",
         {"encoding='utf-16-le'": option("encoding=utf-16-le")}),
    Case("a,b\n1,2\n".encode("utf-16-be"), HEADER, "'utf-16-be' if the file is UTF-16",
         {"'utf-16-be'": option("encoding=utf-16-be")}),
    Case(b"a,b\x81\n1,2\n", ["--format", "csv", *option("header=true", "encoding=cp1252")], "byte 3 is not charmap",
         {"encoding": option("encoding=latin-1")}),
    Case(b"b,a\n1,2\n", HEADER, "the header has columns 'b', 'a' where the schema has 'a', 'b'",
         {"correct the schema": ["--schema", "b string, a string"], "columns='by_name'": option("columns=by_name")}),
    Case(b" A,b\n1,2\n", [*HEADER, *option("columns=by_name")], "the header has column ' A' where the schema has 'a'",
         {"write ` A` in the schema": ["--schema", "` A` string, b string"]}),
    Case(b"a,b,c\n1,2,3\n", [*HEADER, *option("columns=known_names")], "which is none of 'a', 'b'",
         {"declare a schema with it": ["--schema", "a string, b string, c string"],
          "columns='by_name'": option("columns=by_name"), "rescue=True": option("rescue=true")}),
    Case(b"a,b,b\n1,2,3\n", HEADER, "the header has column 'b' twice",
         {"leave it out of the schema and set columns='by_name'":
          ["--schema", "a string", *option("columns=by_name")]}),
    Case(b"1,2\n", ["--format", "csv", "--schema", "a array<long>, b long"], "cannot be of type list<item: int64>",
         {"string": ["--schema", "a string, b long"]}),
    Case(b'{"a":"x"}\n', ["--format", "json_lines", "--schema", "a time32[s]"], "cannot be read from JSON",
         {"string": ["--schema", "a string"]}),
    Case(b"1\n", ["--format", "csv", "--schema", "a"], "write each column as `name type`",
         {"name type": ["--schema", "a long"]}),
    Case(b"1\n", ["--format", "csv", "--schema", "a colour"], "column 'a' has the unknown type 'colour'",
         {"long": ["--schema", "a long"], "string": ["--schema", "a string"]}),
    Case(b"1,2\n", ["--format", "csv", "--schema", "a long, a long"], "at least one column, and each only once",
         {"each only once": ["--schema", "a long, b long"]}),
    Case(b"1\n", ["--format", "csv", "--schema", ""], "at least one column", {"one column": ["--schema", "a long"]}),
    Case(b"1\n", ["--format", "csv", "--schema", "a " + "array<" * 200 + "long" + ">" * 200], "choose flatter types",
         {"flatter types": ["--schema", "a long"]}),
    Case("ab".encode("utf-16-le"), ["--format", "delimited",
         *option("encoding=utf-16-le", "delimiter=" + "".join(map(chr, range(256, 400))))],
         "a delimiter of 144 different non-ASCII characters is too long",
         {"choose a shorter one": option("delimiter=" + "".join(map(chr, range(256, 300))))}),
    Case("a".encode("utf-16-le"), ["--format", "delimited", *option("encoding=utf-16-le", r"delimiter=\xff\xd8\xff")],
         "is not valid utf-16-le", {"give it as str": option("delimiter=\u00ff")}),
]  # fmt: skip


@pytest.mark.parametrize("case", OPTIONS, ids=lambda case: f"{case.says} {len(case.data)}")
def test_a_run_goes_on_with_the_option_that_the_message_names(desk: Desk, case: Case) -> None:
    """The window that failed is read with the option set, in blocks that were planned before; each remedy by itself."""
    for remedy, (named, options) in enumerate(case.sets.items()):
        each = Desk(desk.folder / str(remedy))
        each.source.mkdir(parents=True)
        each.put({case.name: case.data})
        size = ["--block-size", "5B" if len(case.data) < 100 else "64KiB"]
        message = each.fails(*case.given, *size)

        assert case.says in message
        assert named in message
        corrected = options if "--format" in options else _corrected(case.given, options)
        assert len(each.runs(*corrected, *size)) == case.rows
        assert sum(window["files"] > 0 for window in each.json("windows", "list")) == 1


def _corrected(given: list[str], options: list[str]) -> list[str]:
    """Return what was given, without the format options that are now others, and these."""
    keys = {text.partition("=")[0] for text in options if "=" in text}
    kept = [pair for pair in zip(given[::2], given[1::2], strict=True) if pair[1].partition("=")[0] not in keys]
    return [*(part for pair in kept for part in pair), *options]


FILES = [
    Case(gzip.compress(b"one\n" * 1000, mtime=0)[:-9], [], "complete the file", name="a.gz"),
    Case(
        gzip.compress(b"one\n", mtime=0)[:15] + b"\0\0" + gzip.compress(b"one\n", mtime=0)[17:],
        [],
        "restore the file",
        name="a.gz",
    ),
    Case(gzip.compress(b"one\n", mtime=0) + b"more", [], "remove them", name="a.gz"),
    Case(b"abcde", ["--format", "fixed", *option("length=2")], "complete the file"),
    Case(b'[{"a":1}', JSON, "close the array with `]` at the end of the file"),
    Case(b"[ ", JSON, "close the array with `]` at the end of the file"),
    Case(b'[{"a":1}}', JSON, "correct the `}` to `]`"),
    Case(b'[{"a":1}] x', JSON, "remove what follows the array"),
    Case(b"[] x", JSON, "remove it"),
    Case(b'a,"b\n1,2\n', HEADER, "close it"),
    Case(b"a,\xff\n", option("encoding=ascii"), "correct the file"),
]
CORRECTED = {
    "a.gz": gzip.compress(b"one\n", mtime=0),
    "fixed": b"abcdef",
    "json_array": b'[{"a":1}]',
    "csv": b'a,"b"\n1,2\n',
    "lines": b"a,b\n",
}


@pytest.mark.parametrize("case", FILES, ids=lambda case: f"{case.says} {len(case.data)}")
def test_a_corrected_file_is_read(desk: Desk, case: Case) -> None:
    """The message names the file and what is wrong in it; with that put right, its records are printed."""
    desk.put({case.name: case.data})
    message = desk.unread(case.name, *case.given)
    name = case.name if case.name in CORRECTED else case.given[1] if "--format" in case.given else "lines"
    desk.put({case.name: CORRECTED[name]})

    assert f"{desk.source}/{case.name}" in message
    assert case.says in message
    assert desk.records(case.name, *case.given)


UNREADABLE = [
    *(case for case in FILES if case.given != option("encoding=ascii")),
    Case(b"b,a\n1,2\n", HEADER, "exclude the file with `blockread windows exclude "),
    Case(b"x,y\n1,2\n", [*HEADER, *option("columns=by_name")], "correct the schema, or exclude the file"),
    Case(b"a,b,c\n1,2,3\n", [*HEADER, *option("columns=known_names")], "keep it as it is, or exclude the file with"),
    Case(b"b,b\n1,2\n", ["--format", "csv", *option("header=true")], "rename one of them in the file, or exclude"),
    Case(b"one\n", [], "or exclude the file", name="a.gz"),
    Case(gzip.compress(b"one\n" * 10**7, mtime=0), [], "or exclude the file", name="a.gz"),
]


@pytest.mark.parametrize("case", UNREADABLE, ids=lambda case: f"{case.says} {len(case.data)}")
def test_a_run_goes_on_without_a_file_that_is_excluded(desk: Desk, case: Case) -> None:
    """By the command that the message names; the files beside it are published."""
    good = {"a.gz": b"one\n", "fixed": b"ab", "json_array": b"[1]", "csv": b"a,b\n1,2\n"}
    name = "a.gz" if case.name == "a.gz" else case.given[1]
    desk.put({case.name: case.data, "z.txt": good[name]})
    message = desk.fails(*case.given)
    desk.exclude(message)

    assert len(desk.runs(*case.given)) == 1
