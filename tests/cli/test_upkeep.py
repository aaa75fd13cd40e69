"""Commands that give windows up or rebuild them: told first, confirmed, done."""

from __future__ import annotations

import json

from click.testing import CliRunner, Result

from airflow_provider_blockread.cli import blockread
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.options import FileSource, GenerationOptions, ParquetSink
from airflow_provider_blockread.steps import Environment, PlanRequest, plan
from airflow_provider_blockread.storage.stores import Stores
from tests.cli.place import Place


def _plan(place: Place, key: str) -> None:
    ledger = Ledger(place.state[1])
    ledger.upgrade()
    request = PlanRequest(
        feed="logs",
        key=key,
        source=FileSource(str(place.source)),
        generation=GenerationOptions(sink=ParquetSink(str(place.folder / "out"))),
        owner="test",
    )
    plan(Environment(ledger=ledger, stores=Stores(), log=lambda _: None), request)
    ledger.close()


def _answer(place: Place, answer: str, *arguments: str) -> Result:
    return CliRunner().invoke(blockread, [*arguments, *place.state], input=answer)


def test_abandon_tells_asks_and_gives_back(place: Place) -> None:
    """A dry run and a refusal change nothing; a yes does what was told; a repetition has nothing to do."""
    place.put({"a.txt": b"a\n"})
    _plan(place, "k")
    told = place.call("windows", "abandon", "k", "--dry-run")
    refused = _answer(place, "n\n", "windows", "abandon", "k")
    before = place.json("windows", "list")[0]["state"]
    agreed = _answer(place, "y\n", "windows", "abandon", "k")
    again = place.call("windows", "abandon", "k", "--yes")

    assert "its 1 files (2 B) go back to pending" in told.stdout
    assert (refused.exit_code, before) == (1, "reading")
    assert "1 files now pending" in agreed.stderr
    assert place.json("windows", "list")[0]["state"] == "abandoned"
    assert [row["state"] for row in place.json("files", "list", "logs")] == ["pending"]
    assert "files pending, and finished" in place.json("windows", "show", "k")["withdrawn"]
    assert (again.exit_code, "nothing is left" in again.stderr) == (0, True)


def test_json_of_a_dry_run_and_of_what_was_done(place: Place) -> None:
    """Both are one JSON document; what is asked and told goes to the other stream."""
    place.put({"a.txt": b"a\n"})
    _plan(place, "k")
    told = place.json("windows", "abandon", "k", "--dry-run")
    done = place.json("windows", "abandon", "k", "--yes")

    assert (told["action"], told["windows"][0]["key"], told["windows"][0]["does"]) == ("abandon", "k", True)
    assert {name: done[name] for name in ("key", "files", "files_are", "removed")} == {
        "key": "k",
        "files": 1,
        "files_are": "pending",
        "removed": 0,
    }


def test_what_is_not_published_is_neither_undone_nor_rebuilt(place: Place) -> None:
    """The message names the command that helps, or why a window is left alone."""
    place.put({"a.txt": b"a\n"})
    _plan(place, "k")
    undone = place.shell("windows", "undo", "k", "--yes")
    told = place.call("windows", "rebuild", "--feed", "logs", "--yes")
    nothing = place.call("reprocess", "--feed", "logs", "--path", "*.csv", "--status", "bad", "--yes")
    shown = place.json("windows", "show", "k")
    nowhere = place.shell("windows", "rebuild", "--since", "2026-01-01")

    assert (undone.returncode, "blockread windows abandon" in undone.stderr) == (1, True)
    assert "rebuild: nothing to do" in told.stderr
    assert "left alone, since it is not published" in told.stderr
    assert "reprocess: nothing to do" in nothing.stderr
    assert "withdrawn" not in shown
    assert (nowhere.returncode, "or a feed with --feed" in nowhere.stderr) == (1, True)


def test_rebuild_and_undo(place: Place) -> None:
    """A published window is rebuilt by its key, then taken away, and its files stay out of the next run."""
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
    assert "--files pending` gives them back" in place.json("windows", "show", "k")["withdrawn"]


def test_reprocess_reads_what_a_file_is_now(place: Place) -> None:
    """A file that was corrected after its window was published takes the place of what it was, and is named first."""
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
