"""Options that contradict each other, or say nothing: they are refused before anything is planned."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from airflow_provider_blockread.cli.commands import blockread
from airflow_provider_blockread.errors import OptionsError
from tests.cli.place import Place
from tests.remedies.desk import without_spark

_RUN = ["run", "{source}", "--output", "out"]
_CLEAN = ["clean", "--restore", "w"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([*_RUN, "--on-bad-record", "fail", "--policy", "on_bad_record=drop"], "--policy on_bad_record and --on-bad-"),
        ([*_RUN, "--on-missing", "fail", "--policy", "on_missing=exclude"], "on_missing and --on-missing set the same"),
        ([*_RUN, "--compression", "zstd", "--sink-option", "compression=gzip"], "give one of them"),
        (
            ["merge", "{source}", "--output", "out", "--target-size", "1MB", "--sink-option", "file_bytes=2"],
            "--sink-option file_bytes and --target-size set the same",
        ),
        (
            ["plan", "{source}", "--format", "csv", "--schema", "id long", "--format-option", "schema=x string"],
            "--format-option schema and --schema set the same",
        ),
        (
            ["plan", "{source}", "--format-option", "newline=lf", "--format-option", "newline=universal"],
            "--format-option newline is given twice; give it once",
        ),
        ([*_CLEAN, "{source}", "--action", "delete"], "clean: --restore ignores SOURCE, --action; leave them out"),
        ([*_CLEAN, "--tag", "a=b", "--archive", "kept"], "clean: --restore ignores --archive, --tag; leave them out"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_contradictions_are_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    """Neither of the two is preferred; one of them alone is taken."""
    monkeypatch.chdir(place.folder)
    without_spark(monkeypatch)
    place.put({"a.log": b"1\n"})
    place.call("db", "upgrade")
    words = [word.format(source=place.source) for word in arguments]
    done = place.call(*words)

    assert isinstance(done.exception, OptionsError)
    assert says in str(done.exception)
    assert place.json("windows", "list") == []
    assert says not in str(place.call(*words[: 3 if words[0] == "clean" else -2]).exception)


def test_what_a_policy_alone_says_is_done(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A default does not contradict it."""
    without_spark(monkeypatch)
    place.put({"a.log": b"1\n"})
    pairs = ["--policy", "on_bad_record=drop", "--policy", "on_missing=exclude", "--sink-option", "compression=gzip"]
    done = place.call("run", str(place.source), "--output", str(place.folder / "out"), *pairs)

    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["plan", "in", "--name", ""], "--name"),
        (["plan", "in", "--name", "  "], "--name"),
        (["plan", "in", "--window", ""], "--window"),
        (["windows", "list", "--feed", " "], "--name"),
        (["windows", "show", ""], "WINDOW"),
        (["windows", "list", "--state", ""], "--state"),
    ],
    ids=" ".join,
)
def test_blank_text_is_refused(arguments: list[str], name: str) -> None:
    """The variable that a script passes may be empty: no default takes its place."""
    done = CliRunner().invoke(blockread, arguments)
    right = CliRunner().invoke(blockread, [word if word.strip() else "x" for word in arguments])

    assert str(done.exception).startswith(f"{name} is blank; give it a value, or leave it out where it is optional")
    assert "is blank" not in str(right.exception)
