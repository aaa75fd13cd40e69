"""Commands that abandon, undo or rebuild windows after confirmation."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from airflow_provider_blockread.cli.commands import blockread
from airflow_provider_blockread.errors import BlockReadError, OptionsError, StateError
from airflow_provider_blockread.ledger.upkeep.requests import find_request
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.observer import Observer
from airflow_provider_blockread.options import FileSource, GenerationOptions, ParquetSink
from airflow_provider_blockread.steps import Environment, PlanRequest, plan
from airflow_provider_blockread.steps.running import WindowRunner
from airflow_provider_blockread.steps.upkeep.rebuilding import RebuildRequest, WindowRange, rebuild
from airflow_provider_blockread.steps.upkeep.withdrawing import undo
from airflow_provider_blockread.storage.stores import Stores
from tests.cli.place import Place
from tests.ledgers import open_ledger
from tests.pipeline.make import Pipe, ReadHere
from tests.remedies.advice import commands


def _plan(place: Place, key: str) -> None:
    ledger = open_ledger(place.state[1])
    request = PlanRequest(
        feed="logs",
        key=key,
        source=FileSource(str(place.source)),
        generation=GenerationOptions(sink=ParquetSink(str(place.folder / "out"))),
        owner="test",
    )
    plan(Environment(ledger=ledger, stores=Stores(), observer=Observer()), request)
    ledger.close()


def _answer(place: Place, answer: str, *arguments: str) -> Result:
    return CliRunner().invoke(blockread, [*arguments, *place.state], input=answer)


def test_abandon_tells_asks_and_gives_back(place: Place) -> None:
    """A dry run and a refusal change nothing; a yes does what was shown; a repetition has nothing to do."""
    place.put({"a.txt": b"a\n"})
    _plan(place, "k")
    preview = place.call("windows", "abandon", "k", "--dry-run")
    refused = _answer(place, "n\n", "windows", "abandon", "k")
    before = place.json("windows", "list")[0]["state"]
    agreed = _answer(place, "y\n", "windows", "abandon", "k")
    again = place.call("windows", "abandon", "k", "--yes")

    assert "its 1 file (2 B) goes back to pending" in preview.stdout
    assert (refused.exit_code, before) == (1, "waiting")
    assert "1 file now pending" in agreed.stderr
    assert place.json("windows", "list")[0]["state"] == "abandoned"
    assert [row["state"] for row in place.json("files", "list", "logs")] == ["pending"]
    assert "files pending, finished" in place.json("windows", "show", "k")["withdrawn"]
    assert (again.exit_code, "nothing is left" in again.stderr) == (0, True)


def test_json_of_a_dry_run_and_of_what_was_done(place: Place) -> None:
    """Both are one JSON document; messages and questions go to standard error."""
    place.put({"a.txt": b"a\n"})
    _plan(place, "k")
    preview = place.json("windows", "abandon", "k", "--dry-run")
    done = place.json("windows", "abandon", "k", "--yes")

    assert (preview["action"], preview["windows"][0]["key"], preview["windows"][0]["does"]) == ("abandon", "k", True)
    assert {name: done[name] for name in ("key", "files", "files_are", "removed")} == {
        "key": "k",
        "files": 1,
        "files_are": "pending",
        "removed": 0,
    }


def test_what_is_not_published_is_neither_undone_nor_rebuilt(place: Place) -> None:
    """The message names the right command, or says why a window is skipped."""
    place.put({"a.txt": b"a\n"})
    _plan(place, "k")
    undone = place.shell("windows", "undo", "k", "--yes")
    preview = place.call("windows", "rebuild", "--feed", "logs", "--yes")
    nothing = place.call("reprocess", "--feed", "logs", "--path", "*.csv", "--status", "bad", "--yes")
    shown = place.json("windows", "show", "k")
    nowhere = place.shell("windows", "rebuild", "--since", "2026-01-01")

    assert (undone.returncode, "blockread windows abandon" in undone.stderr) == (1, True)
    assert "rebuild: nothing to do" in preview.stderr
    assert "left alone, since it is not published" in preview.stderr
    assert "reprocess: nothing to do" in nothing.stderr
    assert "withdrawn" not in shown
    assert (nowhere.returncode, "or a feed with --feed" in nowhere.stderr) == (1, True)


def test_rebuild_and_undo(place: Place) -> None:
    """A published window is rebuilt by its key, then undone, and the next run does not read its files."""
    place.put({"a.txt": b"a\nb\n"})
    state = place.state
    range_ = ["--feed", "logs", "--from", "k", "--to", "k", "--since", "2020-01-01", "--master", "local[2]"]
    ran, rebuilt, undone, later = place.many(
        place.run("--window", "k", "--name", "logs", "--json"),
        ["windows", "rebuild", *range_, "--yes", "--json", *state],
        ["windows", "undo", "k", "--yes", "--json", *state],
        place.run("--name", "logs", "--json"),
    )

    assert ran.json["records"] == 2
    assert [(w["generation"], w["records"], w["status"]) for w in rebuilt.json] == [(2, 2, "published")]
    assert "read again as generation 2, which replaces generation 1" in rebuilt.stderr
    assert (undone.json["removed"], undone.json["files_are"]) == (1, "excluded")
    assert later.json["windows"] == []
    assert list((place.folder / "out").glob("*.parquet")) == []
    assert json.loads(place.call("files", "list", "logs", "--json").stdout)[0]["state"] == "excluded"
    assert "--files pending` returns them to the feed" in place.json("windows", "show", "k")["withdrawn"]


def test_reprocess_reads_what_a_file_is_now(place: Place) -> None:
    """A file corrected after its window was published replaces the old version, and is listed first."""
    place.put({"a.txt": b"a\n", "b.txt": b"b\n"})
    (ran,) = place.many(place.run("--window", "k", "--name", "logs", "--json"))
    place.put({"a.txt": b"a\ncorrected\n"})
    (done,) = place.many(
        ["reprocess", "--feed", "logs", "--path", "*/a.txt", "--yes", "--json", "--master", "local[2]", *place.state]
    )

    assert ran.json["records"] == 2
    assert [(w["generation"], w["records"], w["status"]) for w in done.json] == [(2, 3, "published")]
    assert "a.txt" in done.stderr
    states = {(row["path"].rpartition("/")[2], row["state"]) for row in place.json("files", "list", "logs")}
    assert states == {("a.txt", "done"), ("a.txt", "replaced"), ("b.txt", "done")}


@pytest.fixture
def pipe(place: Place) -> Iterator[Pipe]:
    """A pipeline in the same folder, whose Spark is this process."""
    made = Pipe(folder=place.folder, submitter=ReadHere())
    yield made
    made.close()


def test_a_restart_is_shown_and_confirmed_like_the_rest(place: Place, pipe: Pipe) -> None:
    """A dry run says what another call does, and a refusal leaves the request as it was begun; a yes gives it up."""
    for key in ("d1", "d2"):
        pipe.put({f"{key}.txt": b"x\n"})
        pipe.run(key)
    (pipe.source / "d2.txt").unlink()
    asked = RebuildRequest(range=WindowRange(feed="feed"))
    with pytest.raises(BlockReadError):
        rebuild(pipe.env, asked, WindowRunner(env=pipe.env, owner="me", job=pipe.job, submitter=pipe.submitter))
    command = ["windows", "rebuild", "--feed", "feed"]
    goes_on, restarted = (place.json(*command, *more, "--dry-run") for more in ([], ["--restart"]))
    refused = _answer(place, "n\n", *command, "--restart")
    begun = find_request(pipe.env.ledger, asked.action, asked.to_json())

    assert [window["does"] for window in goes_on["windows"]] == [False, True]
    assert [window["does"] for window in restarted["windows"]] == [True, True]
    assert "generation 2, now failed, is dropped" in restarted["windows"][1]["what"]
    assert [preview["notes"][0].partition(" the ")[0] for preview in (goes_on, restarted)] == [
        "This continues with",
        "This gives up",
    ]
    assert refused.exit_code == 1
    assert begun is not None


def test_nothing_to_do_is_a_document_too(place: Place, pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros, or an empty list, without a question and without Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    pipe.put({"a.txt": b"x\n"})
    pipe.run("w")
    undo(pipe.env, get_window(pipe.env.ledger, "w"), who="me")
    source, feed = str(place.source), ["--feed", "feed"]

    undone = place.json("windows", "undo", "w")
    assert (undone["files"], undone["removed"], undone["files_are"]) == (0, 0, "excluded")
    assert place.json("clean", source, *feed, "--action", "delete")["files"] == 0
    assert place.json("prune", "--older-than", "9999d", *feed)["windows"] == 0
    assert place.json("windows", "rebuild", *feed) == []
    assert place.json("reprocess", *feed, "--path", "*.csv") == []
    assert place.json("reprocess", *feed, "--status", "bad") == []


def test_what_is_named_and_not_there_is_an_error(place: Place, pipe: Pipe) -> None:
    """A window that is named is to be read again, and so are the files of a path; a dry run says why it cannot."""
    pipe.put({"a.txt": b"x\n"})
    window = pipe.run("w").window
    no_file = ["reprocess", "--feed", "feed", "--path", "*.csv"]
    assert place.json("reprocess", "--feed", "feed", "--path", "*.txt", "--status", "bad", "--yes") == []
    for named in (no_file, ["reprocess", "--window", "w", *no_file[3:]], [*no_file, "--status", "bad"]):
        message = str(place.call(*named, "--yes").exception)
        assert str(place.call(*named, "--dry-run").exception) == message
        assert "matches --path '*.csv'; `blockread files list feed` names the files" in message
        [listing] = commands(message)
        assert "a.txt" in place.call(*listing).output
    undo(pipe.env, get_window(pipe.env.ledger, "w"), who="me")

    for command in (["windows", "rebuild", "w"], ["reprocess", "--window", "w"]):
        assert "nothing to do" in place.call(*command, "--dry-run").output
        refused = place.call(*command, "--yes").exception
        assert isinstance(refused, StateError)
        assert f"window {window} is left alone, since it is abandoned; choose another one" in str(refused)


@pytest.mark.parametrize(
    "command",
    [
        ["windows", "rebuild", "--feed"],
        ["reprocess", "--feed"],
        ["files", "list"],
        ["windows", "list", "--name"],
        ["prune", "--feed"],
    ],
    ids=" ".join,
)
def test_a_feed_that_is_not_known_is_named(place: Place, pipe: Pipe, command: list[str]) -> None:
    """It is a typing error, and the message lists the existing feeds that have a window."""
    pipe.run("nothing to read")
    done = place.call(*command, "fed")

    assert isinstance(done.exception, OptionsError)
    assert "knows no feed 'fed'; correct the name: it knows feed" in str(done.exception)
    assert place.call(*command, "feed").exit_code == 0


def test_warnings_go_to_standard_error(place: Place, pipe: Pipe) -> None:
    """Of a reprocess that will fail, on standard error, whether the proposal is text or JSON."""
    pipe.put({"a.txt": b"x\n"})
    pipe.run("k")
    (pipe.source / "a.txt").unlink()
    command = ("reprocess", "--feed", pipe.feed, "--path", "*.txt", "--dry-run")
    preview, as_json = place.call(*command), place.call(*command, "--json")

    for answer in (preview, as_json):
        assert answer.stderr.startswith("Warning: window ")
        assert "this will fail, as files are gone at the source: file://" in answer.stderr
    assert "Warning" not in preview.stdout
    (window,) = json.loads(as_json.stdout)["windows"]
    assert window["warnings"][0].startswith("this will fail")
