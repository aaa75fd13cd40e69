"""`blockread files new` shows the files that a sensor would report, and writes nothing."""

from __future__ import annotations

from tests.cli.place import Place


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


def test_a_source_that_is_not_there_yet_holds_nothing(place: Place) -> None:
    """A source without files is not an error; the message says what is missing."""
    place.call("db", "upgrade")
    done = place.call("files", "new", str(place.source / "later"))

    assert done.exit_code == 0
    assert "does not exist" in done.stderr
    assert "files   0" in done.stdout
