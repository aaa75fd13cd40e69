"""Commands that show something and change nothing, and what libraries log meanwhile."""

from __future__ import annotations

import json
import logging

import polars as pl
import pytest

from airflow_provider_blockread.cli.terminal.quiet import log_without_traces
from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.ledger.windows.generations import give_up_generation, start_generation
from airflow_provider_blockread.options import GenerationOptions, JsonLines, Lines, ParquetSink
from tests.cli.place import Place
from tests.ledger.make import open_window, publish
from tests.ledgers import open_ledger
from tests.pipeline.make import Pipe, ReadHere


def test_new_files_are_shown_until_a_plan_knows_better(place: Place) -> None:
    """Sums and the first paths, as JSON and text; the command changes nothing, so a repetition shows the same."""
    place.put({f"f{number:02}.log": b"1\n" for number in range(25)} | {"notes.txt": b"1\n"})
    arguments = ["files", "new", str(place.source), "--pattern", "*.log"]
    place.call("db", "upgrade")

    shown = place.json(*arguments)
    assert (shown["files"], shown["bytes"], shown["why"]) == (25, 50, "enough")
    assert shown["paths"] == [f"file://{place.source}/f{number:02}.log" for number in range(20)]
    assert place.json(*arguments) == shown
    done = place.call(*arguments)
    assert "... and 5 more" in done.stdout
    assert place.json(*arguments, "--exclude", "f0*")["files"] == 15
    assert place.json(*arguments, "--min-size", "1kB")["files"] == 0
    assert "it knows none yet" in str(place.call("files", "list", shown["feed"]).exception)


def test_lists_tell_when_they_end_before_the_last_row(place: Place) -> None:
    """On standard error, so that what is printed stays whole; nothing is said when all are shown."""
    pipe = Pipe(folder=place.folder, submitter=ReadHere())
    for key in ("first", "second"):
        pipe.put({f"{key}.log": b"line\n"})
        pipe.plan(key)
    pipe.close()

    for arguments in (["windows", "list"], ["files", "list", "feed"]):
        for limit, more in (("1", 1), ("2", 0)):
            done = place.call(*arguments, "--limit", limit, "--json")
            assert len(json.loads(done.stdout)) == int(limit)
            assert done.stderr == "and more: use --limit\n" * more
            shown = place.call(*arguments, "--limit", limit)
            assert len(shown.stdout.splitlines()) == 1 + int(limit)
            assert shown.stderr.count("and more: use --limit\n") == more


def test_what_failed_is_listed_among_many_windows_that_did_not(place: Place) -> None:
    """By its state, in a feed or in all, and as the newest ones up to the limit."""
    pipe = Pipe(folder=place.folder, submitter=ReadHere(), record_format=JsonLines(schema="id long"))
    for number in range(3):
        pipe.put({f"bad{number}.jsonl": b"nonsense\n"})
        failed = pipe.plan(f"bad {number}")
        with pytest.raises(RecordError):
            pipe.read(failed)
    pipe.put({"good.jsonl": b'{"id": 1}\n'})
    pipe.run("good")
    for number in range(3):
        pipe.plan(f"idle {number}")
    pipe.close()

    def listed(*arguments: str) -> list[str]:
        return [row["key"] for row in place.json("windows", "list", *arguments)]

    assert listed("--window-state", "failed") == ["bad 2", "bad 1", "bad 0"]
    assert listed("--window-state", "failed", "--name", "feed", "--limit", "2") == ["bad 2", "bad 1"]
    assert listed("--window-state", "published") == ["good"]
    assert listed("--window-state", "empty", "--limit", "2") == ["idle 2", "idle 1"]
    assert listed("--window-state", "stalled") == []


def test_a_source_that_is_not_there_yet_holds_nothing(place: Place) -> None:
    """A source without files is not an error; the message says what is missing."""
    place.call("db", "upgrade")
    done = place.call("files", "new", str(place.source / "later"))

    assert done.exit_code == 0
    assert "does not exist" in done.stderr
    assert "files   0" in done.stdout


def test_windows_show_names_the_part_of_a_file_that_is_read(place: Place) -> None:
    """Each window of a file in parts shows which bytes it reads."""
    place.put({"big.log": b"line\n" * 20})
    limits = ("--max-bytes", "40", "--block-size", "20", "--output", str(place.folder / "out"))
    done = place.call("run", str(place.source), "--name", "logs", "--window", "first", *limits)
    assert done.exit_code == 0, done.output

    shown = place.json("windows", "show", "first")
    assert [(part["start"], part["end"], part["records"]) for part in shown["parts"]] == [(0, 40, 8)]
    assert "reads only bytes 0 to 40 of file://" in place.call("windows", "show", "first").stdout


def test_windows_show_names_the_version_of_the_table(place: Place) -> None:
    """That which the window's commit made, for whoever reads the table as it was then."""
    pipe = Pipe(folder=place.folder, submitter=ReadHere(), kind="delta")
    for key in ("first", "second"):
        pipe.put({f"{key}.log": b"line\n"})
        pipe.run(key)
    pipe.close()

    versions = [place.json("windows", "show", key)["table_version"] for key in ("first", "second")]
    assert [pl.read_delta(str(pipe.out), version=int(version)).height for version in versions] == [1, 2]
    assert f"table version  {versions[1]}\n" in place.call("windows", "show", "second").stdout


def test_windows_show_what_is_published_once_a_rebuild_was_given_up(place: Place) -> None:
    """The groups are those of the published generation; of the rebuild a note is left."""
    ledger = open_ledger(place.state[1])
    window = open_window(ledger)
    publish(ledger, window)
    options = GenerationOptions(sink=ParquetSink(str(place.folder / "out")), record_format=Lines())
    start_generation(ledger, window.id, options=options.to_json(), mode="write", clear_number=1)
    give_up_generation(ledger, window.id, who="me")
    ledger.close()

    [listed], shown = place.json("windows", "list"), place.json("windows", "show", window.id)
    for row in (listed, shown):
        assert (row["state"], row["generation"], row["groups"]) == ("published", 1, "2/2")
        assert row["note"] == "rebuild (generation 2) was given up"
    assert [group["state"] for group in shown["group_list"]] == ["done", "done"]


def _log_a_failure() -> None:
    try:
        int("x")
    except ValueError:
        logging.getLogger("a.library").exception("request failed")


def test_a_library_s_log_has_no_stack_traces(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A client logs each failure with its trace, and raises it as well, so that the command's own error tells it."""
    monkeypatch.setattr(logging.root, "handlers", [])
    log_without_traces()
    _log_a_failure()

    assert capsys.readouterr().err == "request failed\n"


def test_logging_that_was_set_up_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """By Airflow, or by who calls the command line from Python."""
    own = [logging.NullHandler()]
    monkeypatch.setattr(logging.root, "handlers", own)
    log_without_traces()

    assert logging.root.handlers is own
    assert len(own) == 1
