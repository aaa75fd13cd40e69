"""Commands that need no Spark: what they print, and how they fail."""

from __future__ import annotations

import base64
import gzip
import json
import os
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from airflow_provider_blockread.cli.commands import blockread
from airflow_provider_blockread.cli.terminal.printing import print_table
from airflow_provider_blockread.ledger.schema.tables import REVISIONS
from airflow_provider_blockread.observer import Observer
from airflow_provider_blockread.options import FileSource, GenerationOptions, Lines, ParquetSink, nanoseconds
from airflow_provider_blockread.steps import Environment, PlanRequest, WindowRef, plan
from airflow_provider_blockread.storage.stores import Stores
from tests.cli.place import Place
from tests.ledgers import open_ledger
from tests.pipeline.make import Pipe, ReadHere


def _records(place: Place, data: bytes, *options: str) -> list[dict[str, object]]:
    path = place.folder / "file"
    path.write_bytes(data)
    result = CliRunner().invoke(blockread, ["records", str(path), *options])
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    ("options", "data", "expected"),
    [
        (["--format", "lines"], b"a\r\nb\n\nc", ["a", "b", "", "c"]),
        (["--format", "lines", "--format-option", "newline=lf"], b"a\rb\nc", ["a\rb", "c"]),
        (["--format", "delimited", "--format-option", "delimiter=||"], b"a|||b||", ["a", "|b"]),
        (["--format", "delimited", "--format-option", r"delimiter=\x00"], b"a\x00b", ["a", "b"]),
        (["--format", "json_lines", "--schema", "id long"], b'{"id": 1}\n\n{"id": 2}', ['{"id": 1}', '{"id": 2}']),
        (["--format", "escaped"], b"a\\\nb\nc", ["a\\\nb", "c"]),
        (["--format", "csv"], b'a,"b\n""c"\r\n\nd', ['a,"b\n""c"', "", "d"]),
        (["--format", "csv", "--format-option", r"delimiter=\t", "--schema", "a long"], b"1\t2\n", ["1\t2"]),
        (["--format", "csv", "--format-option", "header=true"], b'"x\n",y\n1,2', ["1,2"]),
        (["--format", "json_array"], b'[{"a": "]"},\n [2,\n3]]\n', ['{"a": "]"}', "[2,\n3]"]),
        (["--format", "lines", "--format-option", "encoding=cp1252"], b"\x80\n\xe9", ["€", "é"]),
        (
            ["--format", "csv", "--format-option", "encoding=utf-16-le"],
            'ä,"\n"\nö'.encode("utf-16-le"),
            ['ä,"\n"', "ö"],
        ),
        (["--format", "fixed", "--format-option", "length=2"], b"aabbcc", ["aa", "bb", "cc"]),
        (["--format", "whole_file"], b"a\nb\n", ["a\nb\n"]),
    ],
    ids=lambda value: value[1] if isinstance(value, list) and value[0] == "--format" else None,
)
@pytest.mark.parametrize("block_size", ["1", "3", "64MiB"])
def test_records(place: Place, options: list[str], data: bytes, expected: list[str], block_size: str) -> None:
    """Every format prints a file's records as JSON lines, whatever the block size."""
    lines = _records(place, data, *options, "--block-size", block_size)

    assert [line["record"] for line in lines] == expected
    assert all(set(line) == {"block", "start", "end", "offset", "record"} for line in lines)
    assert all(line["start"] <= line["offset"] < line["end"] for line in lines)  # type: ignore[operator]


def test_plan_tells_what_is_compressed_and_what_is_scanned(place: Place) -> None:
    """It shows which files are one block, and which are scanned before they are read."""
    place.put({"a.csv": b"1,2\n" * 10, "b.csv": b"1\n", "c.csv.gz": gzip.compress(b"1,2\n" * 100)})
    arguments = ["plan", str(place.source), "--format", "csv", "--schema", "a long, b long", "--block-size", "16"]
    shown, text = place.json(*arguments), place.call(*arguments).stdout

    assert (shown["files"], shown["blocks"], shown["compressed"], shown["scanned"]) == (3, 5, 1, 1)
    assert "1 file, one block each" in text
    assert "1 file of more than one block, scanned before the read" in text


def test_records_that_are_no_text(place: Place) -> None:
    """A record that is not UTF-8 is printed in base 64, with its block and offset."""
    [line] = _records(place, b"\xff\xfd\n")

    assert base64.b64decode(line.pop("record_b64")) == b"\xff\xfd"  # type: ignore[arg-type]
    assert line == {"block": 0, "start": 0, "end": 3, "offset": 0}


def test_plan(place: Place) -> None:
    """A plan explains what would be read, freezes nothing, and can be repeated."""
    place.put({"a.log": b"x" * 10, "deep/b.log": b"y" * 5, "_hidden": b"z"})
    for _ in range(2):
        shown = place.json("plan", str(place.source), "--block-size", "4")
        assert (shown["files"], shown["blocks"], shown["bytes"], len(shown["groups"])) == (2, 5, 15, 1)
        assert {sample["size"] for sample in shown["sample"]} == {10, 5}
    text = place.call("plan", str(place.source), "--name", "mine").stdout

    assert "feed        mine\nfiles seen  2, 2 of them new\n" in text
    assert f"file://{place.source}/deep/b.log" in text
    assert text.endswith("\n")
    assert place.json("windows", "list") == []


@pytest.fixture
def planned(place: Place) -> WindowRef:
    """A planned window of two files."""
    place.put({"a.log": b"1\n", "b.log": b"2\n"})
    ledger = open_ledger(place.state[1])
    request = PlanRequest(
        feed=f"file://{place.source}",
        key="a key",
        source=FileSource(str(place.source)),
        generation=GenerationOptions(sink=ParquetSink(str(place.folder / "out")), record_format=Lines()),
        owner="me",
    )
    ref = plan(Environment(ledger=ledger, stores=Stores(), observer=Observer()), request)
    ledger.close()
    return ref


def test_windows_list_and_show(place: Place, planned: WindowRef) -> None:
    """A window is listed, and shown by id or key with its groups."""
    [row] = place.json("windows", "list")
    by_id, by_key = place.json("windows", "show", planned.window), place.json("windows", "show", "a key")

    assert (row["window"], row["key"], row["state"], row["groups"]) == (planned.window, "a key", "waiting", "0/1")
    assert by_id == by_key
    assert [group["state"] for group in by_id["group_list"]] == ["waiting"]
    text = place.call("windows", "show", "a key").stdout
    assert "state         waiting\n" in text
    assert "group 0: 2 files, 4 B, a.log .. b.log" in text


def test_windows_list_on_a_narrow_terminal(place: Place, planned: WindowRef) -> None:
    """All columns are there, whatever the width, and in a pipe as well."""
    shown = place.shell("windows", "list", columns=40).stdout.splitlines()
    piped = place.shell("windows", "list").stdout.splitlines()

    assert shown == piped
    assert shown[0].split() == ["window", "state", "files", "records", "bad", "key", "feed"]
    assert shown[1].startswith(f"{planned.window}  waiting")
    assert shown[1].rstrip().endswith(f"file://{place.source}")


def test_windows_exclude(place: Place, planned: WindowRef) -> None:
    """A file is excluded by path after confirmation; a second time nothing changes."""
    path = str(place.source / "b.log")
    exclude = ["windows", "exclude", planned.window, path, "--reason", "broken"]
    preview, unanswered = place.call(*exclude, "--dry-run"), place.call(*exclude)
    assert f"file://{path} is left out of it, and no later window reads it" in preview.stdout
    assert (unanswered.exit_code, place.json("windows", "list")[0]["excluded"]) == (1, 0)

    for _ in range(2):
        done = place.json(*exclude, "--yes")
        assert done == {"window": planned.window, "path": f"file://{path}", "reason": "broken", "groups": []}
    assert place.json("windows", "list")[0]["excluded"] == 1
    assert "is left out already" in place.call(*exclude, "--yes").stderr
    [excluded] = place.json("windows", "show", planned.window)["excluded_files"]
    assert (excluded["path"], excluded["reason"]) == (f"file://{path}", "broken")
    shown = place.call("windows", "show", planned.window).stdout
    assert f"file://{path} is excluded (broken, by {excluded['who']})" in shown


def test_what_cannot_be_excluded_is_refused(place: Place, planned: WindowRef) -> None:
    """A file that is not in the window, also of an empty window; an empty file is in it without a block."""
    result = place.call("windows", "exclude", planned.window, "/nowhere", "--reason", "x", "--dry-run")
    assert "holds no file file:///nowhere" in str(result.exception)
    pipe = Pipe(folder=place.folder, submitter=ReadHere())
    pipe.put({"empty.log": b""})
    some, nothing = pipe.plan("some").window, pipe.plan("nothing").window
    pipe.close()

    of_empty = place.call("windows", "exclude", nothing, "/nowhere", "--reason", "x", "--dry-run")
    assert f"window {nothing} is empty and holds no files" in str(of_empty.exception)
    done = place.json("windows", "exclude", some, str(place.source / "empty.log"), "--reason", "missing", "--yes")
    assert done["groups"] == []


def test_files_list(place: Place, planned: WindowRef) -> None:
    """The files of a feed are listed with their state and window, all or those in one state."""
    place.put({"c.log": b"3\n"})
    place.call("plan", str(place.source))
    rows = place.json("files", "list", planned.feed)
    pending = place.json("files", "list", planned.feed, "--file-state", "pending")

    assert [(row["path"].rpartition("/")[2], row["state"]) for row in rows] == [
        ("a.log", "planned"),
        ("b.log", "planned"),
        ("c.log", "pending"),
    ]
    assert [row["path"] for row in pending] == [f"file://{place.source}/c.log"]
    assert planned.window in place.call("files", "list", planned.feed).stdout


def test_the_time_of_a_file_is_cut_to_its_second(place: Place, planned: WindowRef) -> None:
    """A file that was modified just before midnight is not listed with the next day."""
    place.put({"c.log": b"3\n"})
    modified_ns = nanoseconds(datetime(2026, 11, 22, tzinfo=UTC)) - 1
    os.utime(place.source / "c.log", ns=(modified_ns, modified_ns))
    place.call("plan", str(place.source))

    assert "2026-11-21 23:59:59Z" in place.call("files", "list", planned.feed).stdout


def test_db_upgrade(place: Place) -> None:
    """The ledger is created, and upgrading it again keeps its identity."""
    first, second = place.call("db", "upgrade").stdout, place.call("db", "upgrade").stdout
    newest = REVISIONS[-1]

    assert first.startswith(f"ledger sqlite:///{place.folder}/ledger.db is created at revision {newest}, identity ")
    assert second == first.replace("created at", "at").replace(newest, f"{newest} already")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["windows", "show", "nope"], "has no window 'nope'; list them with `blockread windows list`"),
        (["windows", "verify", "nope"], "has no window 'nope'"),
        (["plan", "nowhere"], "does not exist; correct its path"),
        (["plan", ".", "--block-size", "many"], "'many' is not a size; write bytes as 4096"),
        (["plan", ".", "--format-option", "newline"], "--format-option must be KEY=VALUE"),
        (
            ["plan", ".", "--format-option", "colour=red"],
            "lines has no option 'colour'; it has compression, newline, encoding",
        ),
        (
            ["plan", ".", "--schema", "id long"],
            "--schema belongs to csv, json_lines and json_array; lines publishes one column `value`",
        ),
        (["plan", ".", "--format", "json_lines", "--schema", "id colour"], "colour"),
        (
            ["run", ".", "--output", "out", "--conf", "nothing"],
            "--conf must be KEY=VALUE, but number 1 of",
        ),
        (["run", ".", "--output", "out", "--compression", "best"], "compression must be one of snappy, zstd"),
        (["run", ".", "--output", "out", "--sink-option", "colour=red"], "parquet has no option 'colour'; it has uri"),
        (
            ["run", ".", "--output", "out", "--function", "nothing"],
            "path must be 'package.module:function', not 'nothing'",
        ),
        (
            ["run", ".", "--output", "out", "--sql", "DROP TABLE records"],
            "VALUES, MAP, REDUCE: 'DROP TABLE records'",
        ),
        (["run", ".", "--output", "out", "--sql", "", "--function", "m:f"], "--function and --sql exclude each other"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_errors_are_one_line(place: Place, arguments: list[str], message: str) -> None:
    """An error is one line with the remedy, and exit code 1, without a traceback."""
    place.call("db", "upgrade")
    done = place.shell(*arguments)

    [line] = [line for line in done.stderr.splitlines() if not line.startswith("feed ")]
    assert line.startswith("Error: ")
    assert message in line
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["plan"],
        ["run", "."],
        ["run", ".", "--output", "o", "--sink", "nonsense"],
        ["plan", ".", "--format", "xml"],
        ["windows", "list", "--limit", "-1"],
        ["files", "list", "feed", "--limit", "0"],
    ],
    ids=" ".join,
)
def test_wrong_usage(arguments: list[str]) -> None:
    """Wrong usage has exit code 2 and a usage message."""
    result = CliRunner().invoke(blockread, arguments)

    assert result.exit_code == 2
    assert "Usage: " in result.output


def test_every_command_explains_itself() -> None:
    """Each command and group has a help text."""
    commands = [blockread]
    while commands:
        command = commands.pop()
        assert command.help
        commands.extend(getattr(command, "commands", {}).values())


def test_a_table_is_never_cut(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is as wide as its cells, whatever the terminal; numbers are aligned right."""
    monkeypatch.setenv("COLUMNS", "17")
    print_table(("name", "n"), [("abcdefghijklmnop" * 20, 1), ("b", 1000)])
    lines = capsys.readouterr().out.splitlines()

    assert [line.split() for line in lines] == [["name", "n"], ["abcdefghijklmnop" * 20, "1"], ["b", "1,000"]]
    assert len({len(line) for line in lines}) == 1
