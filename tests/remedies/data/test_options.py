"""Options that are refused: written as the message says, they are taken."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_provider_blockread.blocks import iter_ranges
from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import (
    ArrowFunction,
    AsRead,
    Csv,
    CustomFormat,
    DataFrameFunction,
    Delimited,
    Escaped,
    FileList,
    FileSource,
    Fixed,
    FormatOption,
    JsonArray,
    Limits,
    Lines,
    ParquetSink,
    Policies,
    Selection,
    SparkJob,
    Splitting,
    Sql,
    StorageEvents,
    TextSink,
    TimePattern,
    Value,
    build,
    parse_age,
    parse_duration,
    parse_size,
    parse_time,
)
from airflow_provider_blockread.options.parsing.sizes import most_of
from airflow_provider_blockread.records import make_format, read_records, record_format
from tests.remedies.data.desk import Desk


@dataclass(frozen=True)
class Refused:
    """Options that are refused with `says`, and what to set for that to end; `...` takes an option out."""

    kind: type[Value]
    given: dict[str, Any]
    says: str
    remedies: list[dict[str, Any]] = field(default_factory=list)

    def message(self) -> str:
        """Return why the options are refused."""
        with pytest.raises(OptionsError) as raised:
            build(self.kind, self.given)
        assert self.says in str(raised.value)
        return str(raised.value)

    def taken(self, remedy: dict[str, Any]) -> Value:
        """Return the options as they are taken."""
        options = self.given | remedy
        return build(self.kind, {name: value for name, value in options.items() if value is not ...})


WORKED_OUT = [
    Refused(Csv, {"delimiter": "\u2020", "encoding": "cp1251", "quote": "\u0488"}, "choose another text or encoding",
            [{"quote": "'"}, {"encoding": "utf-16"}]),
    Refused(Csv, {"delimiter": "||"}, "delimiter must be a single byte, not '||'", [{"delimiter": "|"}]),
    Refused(Csv, {"delimiter": "\U0001f4a5", "encoding": "utf-16"},
            "delimiter must be a single character of 2 bytes in utf-16", [{"delimiter": "\u00a7"}]),
    Refused(Csv, {"delimiter": "\n"}, "must not be a newline; choose another character", [{"delimiter": ";"}]),
    Refused(Csv, {"escape": '"'}, "choose another escape, or none with escape=None",
            [{"escape": "\\"}, {"escape": None}]),
    Refused(Csv, {"comment": ","}, "choose another comment, or none with comment=None",
            [{"comment": "#"}, {"comment": None}]),
    Refused(Csv, {"delimiter": '"'}, "another quote, or none with quote=None", [{"quote": "'"}, {"quote": None}]),
    Refused(Csv, {"columns": "by_name"}, "columns='by_name' needs header=True", [{"header": True}]),
    Refused(Delimited, {"delimiter": ""}, "delimiter must hold at least one byte", [{"delimiter": "\x1e"}]),
    Refused(Escaped, {"delimiter": b""}, "delimiter must hold at least one byte; leave it out for newlines",
            [{"delimiter": b";"}, {"delimiter": ...}]),
    Refused(Escaped, {"delimiter": "\\|"}, "choose another", [{"escape": "^"}]),
    Refused(Fixed, {}, "length must be a whole number of bytes above 0", [{"length": 1}]),
    Refused(Fixed, {"length": 3, "encoding": "utf-16-le"}, "must be a multiple of 2 in utf-16-le", [{"length": 4}]),
    Refused(Csv, {"skip_lines": "2"}, "must be a whole number, 0 or above, not '2'", [{"skip_lines": 2}]),
    Refused(CustomFormat, {"path": "tests.records"}, "path must be 'package.module:Class'",
            [{"path": "airflow_provider_blockread.records:BaseFormat"}]),
    Refused(Limits, {"max_bytes": "1GiB"}, "max_bytes must be a whole number above 0", [{"max_bytes": 2**30}]),
    Refused(Splitting, {"max_readers": 0}, "max_readers must be a whole number above 0", [{"max_readers": 1}]),
    Refused(Splitting, {"min_readers": 9, "max_readers": 4, "target_minutes": 5},
            "min_readers=9 must be at most max_readers=4", [{"min_readers": 4}, {"max_readers": 9}]),
    Refused(Splitting, {"min_readers": 2}, "set target_minutes, or leave both out",
            [{"target_minutes": 10}, {"min_readers": ...}]),
    Refused(Splitting, {"target_minutes": 0}, "target_minutes must be a number above 0", [{"target_minutes": 0.5}]),
    Refused(Policies, {"max_record_bytes": 2**33}, "must be below 2 GiB; give", [{"max_record_bytes": 2145386496}]),
    Refused(Policies, {"max_bad_records": 9}, "set on_bad_record to", [{"on_bad_record": "drop"}]),
    Refused(Policies, {"max_expansion": 0}, "max_expansion must be a whole number above 0", [{"max_expansion": 1}]),
    Refused(SparkJob, {"heartbeat_s": 300}, "heartbeat_s=300 must be between 0 and stale_after_s=120.0",
            [{"heartbeat_s": 119}, {"stale_after_s": 301}]),
    Refused(SparkJob, {"environment": ["CORP_KEY=1"]}, "environment names variables to inherit, such as 'CORP_*'",
            [{"environment": ["CORP_*"]}]),
    Refused(TextSink, {"uri": "out", "terminator": ""}, "terminator must hold at least one byte",
            [{"terminator": "\0"}, {"terminator": b"\xff"}]),
    Refused(FileSource, {"uris": ["in", "in\n"]}, "uris ends with a line end", [{"uris": ["in"]}]),
    Refused(ParquetSink, {"uri": " "}, "uri must name a directory", [{"uri": "out"}]),
    Refused(ParquetSink, {"uri": "out", "work_uri": "out/work"}, "choose a place beside it", [{"work_uri": "work"}]),
    Refused(ArrowFunction, {"path": "f"}, "'package.module:function'", [{"path": "json.decoder:scanstring"}]),
    Refused(DataFrameFunction, {"path": "f"}, "dataframe_function: path must be",
            [{"path": "json.decoder:scanstring"}]),
    Refused(Sql, {"query": "DELETE FROM t"}, "must be one query of the view `records`, but it begins with DELETE",
            [{"query": "SELECT * FROM records"}, {"query": "WITH r AS (SELECT * FROM records) SELECT * FROM r"}]),
    Refused(Sql, {"query": "SELECT 1"}, "but it does not name that: 'SELECT 1'", [{"query": "SELECT 1 FROM Records"}]),
    Refused(FileSource, {"uris": ["in", " "]}, "at least one root, and no blank one", [{"uris": ["in"]}]),
    Refused(FileSource, {"uris": "in", "redirect_hosts": ["https://files.example.com/"]}, "must list names of hosts",
            [{"redirect_hosts": ["files.example.com"]}]),
    Refused(FileSource, {"uris": "in", "max_depth": 0}, "max_depth must be a whole number above 0", [{"max_depth": 1}]),
    Refused(FileSource, {"uris": "in", "max_depth": 2, "recursive": False}, "leave one of them out",
            [{"max_depth": ...}, {"recursive": ...}]),
    Refused(FileSource, {"uris": "in", "min_size": "2KiB", "max_size": "1KiB"}, "correct one of them",
            [{"min_size": "1KiB"}, {"max_size": "2KiB"}]),
    Refused(FileSource, {"uris": "in", "identity": "name"}, "Leave identity out", [{"identity": ...}]),
    Refused(FileSource, {"uris": "in", "done_marker": "done/{name}"}, "{name}.done or {stem}.ok for each",
            [{"done_marker": "{name}.done"}, {"done_marker": "{stem}.ok"}, {"done_marker": "_SUCCESS"}]),
    Refused(FileList, {"uri": ""}, "uri must name the file that lists the paths", [{"uri": "listed.txt"}]),
    Refused(StorageEvents, {"queue": "https://me:secret@queue.example/one"}, "name a connection by conn_id",
            [{"queue": "https://queue.example/one", "conn_id": "queue"}]),
]  # fmt: skip


@pytest.mark.parametrize("refused", WORKED_OUT, ids=lambda refused: refused.says)
def test_a_refused_option_is_taken_when_corrected(refused: Refused) -> None:
    """The message names the option; set to what it says, or left out, it is no error any more, and files are read."""
    message = refused.message()
    for remedy in refused.remedies:
        assert all(name in message or str(value) in message for name, value in remedy.items()), message
        made = refused.taken(remedy)
        if isinstance(made, FormatOption) and made.kind != "custom":
            assert list(read_records(io.BytesIO(b""), 0, 0, make_format(made))) == []


CHOICES = [
    Refused(Lines, {"compression": "rar"}, "lines: compression must be one of"),
    Refused(Lines, {"newline": "cr"}, "lines: newline must be one of"),
    Refused(Csv, {"columns": "any", "header": True}, "csv: columns must be one of"),
    Refused(JsonArray, {"layout": "tree"}, "json_array: layout must be one of"),
    Refused(Fixed, {"length": 1, "short_last": "pad"}, "fixed: short_last must be one of"),
    Refused(Selection, {"select": "newest"}, "selection: select must be one of"),
    Refused(Selection, {"order": "random"}, "selection: order must be one of"),
    Refused(Selection, {"late": "never"}, "selection: late must be one of"),
    Refused(Selection, {"on_modified": "skip"}, "selection: on_modified must be one of"),
    Refused(Selection, {"on_untimed": "skip"}, "selection: on_untimed must be one of"),
    Refused(ParquetSink, {"uri": "out", "compression": "rar"}, "parquet: compression must be one of"),
    Refused(TextSink, {"uri": "out", "compression": "lz4"}, "text: compression must be one of"),
    Refused(TextSink, {"uri": "out", "per": "file"}, "text: per must be one of"),
    Refused(Policies, {"on_missing": "skip"}, "policies: on_missing must be one of"),
    Refused(Policies, {"on_changed": "skip"}, "policies: on_changed must be one of"),
    Refused(Policies, {"on_bad_record": "skip"}, "policies: on_bad_record must be one of"),
    Refused(Policies, {"on_rerun": "fail"}, "policies: on_rerun must be one of"),
    Refused(Policies, {"on_empty": "fail"}, "policies: on_empty must be one of"),
    Refused(Policies, {"proof": "full"}, "policies: proof must be one of"),
    Refused(FileList, {"uri": "listed", "format": "csv"}, "file_list: format must be one of"),
]


@pytest.mark.parametrize("refused", CHOICES, ids=lambda refused: refused.says)
def test_every_value_that_a_message_offers_is_taken(refused: Refused) -> None:
    """Each of the words in the message's own list."""
    found = re.search(r"(\w+) must be (?:one of )?(.*), not", refused.message())
    assert found
    values = re.findall(r"[\w-]+", found[2].replace(" or ", " "))

    assert len(values) > 1
    for value in values:
        assert getattr(refused.taken({found[1]: value}), found[1]) == value


def test_every_place_column_that_a_message_offers_is_taken() -> None:
    """The columns are several."""
    message = Refused(AsRead, {"columns": ["_line"]}, "columns must be one of").message()
    offered = re.findall(r"\b_\w+", message.partition(", not")[0])

    assert AsRead(columns=offered).columns == ["_file", "_block", "_offset"]


@pytest.mark.parametrize("name", ["klingon", "shift_jis"])
def test_every_encoding_that_a_message_offers_is_read(desk: Desk, name: str) -> None:
    """An encoding that is unknown, or is not read, is replaced by each of those that the message names."""
    desk.put({"a.txt": "\ufeffone\n".encode("utf-16-le")})
    said = desk.unread("a.txt", "--format-option", f"encoding={name}")
    offered = re.findall(r"utf-8|binary|utf-16|utf-32|cp1252", said.partition(";")[2] or said.partition(": use")[2])

    assert offered == ["utf-8", "binary", "utf-16", "utf-32", "cp1252"]
    for encoding in offered:
        assert desk.records("a.txt", "--format-option", f"encoding={encoding}")


Parse = Callable[[str], object]


@pytest.mark.parametrize(
    ("parse", "text", "says", "written"),
    [
        (lambda text: most_of(text, 2000), "few", "write", {"100": 100, "0.1%": 2}),
        (parse_size, "64 parsecs", "write bytes as", {"4096": 4096, "64KiB": 2**16, "64MiB": 2**26, "1.5GB": 1.5e9}),
        (parse_size, "0", "it must be at least 1 byte", {"1": 1}),
        (parse_duration, "soon", "write seconds as",
         {"90": 90, "45min": 2700, "36h": 129600, "7d": 604800, "2w": 1209600}),
        (parse_age, "-1", "write seconds as", {"90": 90}),
        (parse_time, "yesterday", "write it as", {"2026-11-21": datetime(2026, 11, 21, tzinfo=UTC),
          "2026-11-21T04:00:00Z": datetime(2026, 11, 21, 4, tzinfo=UTC)}),
    ],
)  # fmt: skip
def test_texts_are_read_when_written_as_the_message_shows(
    parse: Parse, text: str, says: str, written: dict[str, object]
) -> None:
    """Sizes, durations and times, by the message's own examples."""
    with pytest.raises(OptionsError) as raised:
        parse(text)
    _, found, examples = str(raised.value).partition(says)

    assert found
    for example, value in written.items():
        assert example in examples or example in found
        assert parse(example) == value


def test_a_time_pattern_is_read_when_written_as_the_message_shows() -> None:
    """With each of the directives that the message names, in the order it names, and a doubled percent sign."""
    with pytest.raises(OptionsError, match="contains %q") as unknown:
        FileSource("in", time_pattern="%q")
    with pytest.raises(OptionsError, match="must contain %Y and then finer ones without a gap") as gap:
        FileSource("in", time_pattern="%Y/%d")
    known = re.findall(r"%([YmdHMSj])", str(unknown.value).partition("use ")[2])
    shown = str(gap.value).rpartition(": ")[2]

    assert known == ["Y", "m", "d", "H", "M", "S", "j"]
    assert TimePattern.parse("%Y%m%d%H%M%S%%").time_ns("20261121040000%") == TimePattern.parse("%Y-%j %H").time_ns(
        "2026-325 04"
    )
    assert TimePattern.parse(shown).time_ns("in/dt=2026-11-21/hr=04/a") is not None


@pytest.mark.parametrize(
    ("given", "says", "remedy"),
    [
        ("header=perhaps", "must be true or false", "header=true"),
        ("header=perhaps", "must be true or false", "header=false"),
        (r"delimiter=\q", "write a backslash as two", r"delimiter=\\"),
        ("quotes='", "csv has no option 'quotes'; it has compression, delimiter, quote,", "quote='"),
    ],
)
def test_an_option_of_the_command_line_is_taken_when_corrected(desk: Desk, given: str, says: str, remedy: str) -> None:
    """Written as the message says, the file is read."""
    desk.put({"a.csv": b"1\n2\n"})

    assert says in desk.unread("a.csv", "--format", "csv", "--format-option", given)
    assert desk.records("a.csv", "--format", "csv", "--format-option", remedy)[-1] == "2"


def test_a_number_of_the_command_line_is_taken_when_it_is_one(desk: Desk) -> None:
    """A whole number, as the message says."""
    desk.put({"a.bin": b"1122"})

    said = desk.unread("a.bin", "--format", "fixed", "--format-option", "length=two")
    assert "length='two' must be a whole number" in said
    assert desk.records("a.bin", "--format", "fixed", "--format-option", "length=2") == ["11", "22"]


def test_block_ranges_are_made_when_their_arguments_are_in_range() -> None:
    """The core's own function, with the size that its message recommends."""
    with pytest.raises(OptionsError, match="64 MiB suits most sources"):
        iter_ranges(10, 0)
    with pytest.raises(OptionsError, match="must not be negative"):
        iter_ranges(-1, 1)

    assert list(iter_ranges(10, 64 * 2**20)) == [(0, 10)]
    assert list(iter_ranges(0, 1)) == []


def test_every_record_format_that_a_message_offers_is_made() -> None:
    """Each of the names in the message's own list; those that need an option say so themselves."""
    with pytest.raises(OptionsError, match="unknown record format 'linse'") as raised:
        record_format("linse")
    offered = str(raised.value).partition("known are ")[2].split(", ")
    needed: dict[str, dict[str, Any]] = {
        "fixed": {"length": 1},
        "custom": {"path": "tests.records.every_format:Nothing"},
    }

    assert "lines" in offered
    for name in set(offered) - {"custom"}:
        assert record_format(name, **needed.get(name, {}))
