"""`blockread clean`: confirmation, archives and their restoration, and refusals."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.steps import plan
from tests.cli.place import Place
from tests.pipeline.make import Pipe, ReadHere


@pytest.fixture
def published(place: Place) -> Place:
    """Two files that were published years ago."""
    pipe = Pipe(folder=place.folder, submitter=ReadHere(), time=datetime(2020, 1, 1, tzinfo=UTC))
    pipe.put({"a.txt": b"a\n", "sub/b.txt": b"b\n"})
    pipe.run("old")
    pipe.close()
    return place


def _clean(place: Place, *more: str) -> list[str]:
    archive = ["--action", "archive", "--archive", str(place.folder / "kept")]
    return ["clean", str(place.source), "--feed", "feed", *archive, *more]


def _left(folder: Path) -> int:
    return sum(path.is_file() for path in folder.rglob("*"))


def test_cleaning_is_shown_before_it_is_done(published: Place) -> None:
    """A dry run and an unanswered call change nothing; `--yes` cleans once; `--restore` restores."""
    preview = published.json(*_clean(published), "--dry-run")
    assert (preview["action"], preview["files"], preview["bytes"], preview["left"]) == ("clean", 2, 4, {})
    assert "2 files to be archived to file://" in published.call(*_clean(published), "--dry-run").stdout
    assert published.call(*_clean(published)).exit_code == 1
    assert _left(published.source) == 2

    done = published.json(*_clean(published), "--yes")
    assert done == {"action": "archive", "files": 2, "bytes": 4, "left": {}}
    assert (_left(published.source), _left(published.folder / "kept")) == (0, 2)
    assert "clean: nothing to do" in published.call(*_clean(published), "--yes").output

    back = ["clean", "--restore", "old", "--feed", "feed"]
    assert "2 archived files to be restored" in published.call(*back, "--dry-run").stdout
    assert (published.call(*back).exit_code, _left(published.source)) == (1, 0)
    restored = published.json(*back, "--yes")
    assert (restored["files"], restored["away"], _left(published.source)) == (2, 0, 2)
    assert published.json(*back) == {"window": restored["window"], "files": 0, "away": 0}


def test_an_archive_within_the_source_must_be_excluded(published: Place) -> None:
    """An archive inside the feed's own listing is refused until a pattern excludes it."""
    inside = ["--archive", str(published.source / "kept"), "--yes"]
    for options in ([], ["--exclude", "kept/**"]):
        refused = str(published.call(*_clean(published, *inside, *options)).exception)
        assert "that of the whole feed, would find its files again" in refused
    assert _left(published.source / "kept") == 0

    pipe = Pipe(folder=published.folder, submitter=ReadHere())
    plan(pipe.env, replace(pipe.request("new"), source=FileSource(str(published.source), exclude="kept/**")))
    pipe.close()
    assert published.json(*_clean(published, *inside, "--exclude", "kept/**"))["files"] == 2
    assert _left(published.source / "kept") == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--grace", "soon"], "is not a duration"),
        (["--action", "tag"], "`archive` names the folder"),
        (["--archive", "memory://kept"], "is not in the store of"),
    ],
)
def test_what_does_not_fit_is_refused(published: Place, arguments: list[str], says: str) -> None:
    """The command does nothing."""
    assert says in str(published.call(*_clean(published, *arguments, "--yes")).exception)
    assert _left(published.source) == 2


@pytest.mark.parametrize(
    ("option", "why"),
    [
        (["--min-size", "3"], "too_small"),
        (["--max-size", "1"], "too_large"),
        (["--min-age", "1d"], "young"),
        (["--done-marker", "{name}.done"], "unmarked"),
    ],
)
def test_what_the_options_of_the_source_leave_out_stays(published: Place, option: list[str], why: str) -> None:
    """Each option does for cleaning what it does for planning; a time in paths leaves nothing out."""
    if why == "unmarked":
        published.put({"a.txt.done": b""})
    else:
        published.put({"c.txt": b"cc\n"})  # no window has read it
    delete = ["clean", str(published.source), "--feed", "feed", "--action", "delete"]
    shown = published.json(*delete, *option, "--dry-run")
    assert shown["left"] == ({} if why == "unmarked" else {why: 2})
    done = published.json(*delete, *option, "--yes")
    assert (done["files"], done["left"]) == ((1, {why: 1}) if why == "unmarked" else (0, {why: 2}))

    rest = published.json(*delete, "--min-size", "2", "--time-pattern", "%Y/", "--yes")
    assert (rest["files"], rest["left"]) == (2 - done["files"], {})


def test_what_waits_for_another_feed_is_shown_with_its_name(published: Place) -> None:
    """A dry run says why nothing would be cleaned, and for whom; a feed that was only previewed needs no file."""
    delete = ["clean", str(published.source), "--feed", "feed", "--action", "delete"]
    for _ in range(2):
        assert published.json("plan", str(published.source), "--name", "looked at")["new"] == 2
    assert published.json(*delete, "--dry-run")["files"] == 2

    pipe = Pipe(folder=published.folder, submitter=ReadHere(), feed="other", out_name="other")
    pipe.plan()
    pipe.close()
    shown = published.call(*delete, "--dry-run").stdout
    assert shown.splitlines() == [
        "clean: nothing to do",
        "left alone: 2 still to be read by another feed ('other')",
    ]
    assert published.json(*delete, "--dry-run")["left"] == published.json(*delete, "--yes")["left"] == {"waiting": 2}
    assert _left(published.source) == 2


def test_a_source_that_is_not_there_is_a_typing_error(published: Place) -> None:
    """With its right path the command works; a file that is the source may be gone, since it was cleaned."""
    more = ["--feed", "feed", "--action", "delete", "--yes"]
    message = str(published.call("clean", f"{published.source}-not", *more).exception)
    assert message.startswith(f"clean: the source file://{published.source}-not does not exist")
    assert message.endswith("correct its path")

    file = str(published.source / "a.txt")
    assert [published.json("clean", file, *more)["files"] for _ in range(2)] == [1, 0]
    assert published.json("clean", str(published.source), *more)["files"] == 1
    published.source.rename(f"{published.source}-moved")
    assert published.json("clean", str(published.source), *more)["files"] == 0


def test_a_source_and_an_action_are_needed(published: Place) -> None:
    """Without them the message names what is missing."""
    assert "name the SOURCE and an --action" in str(published.call("clean", "--yes").exception)
