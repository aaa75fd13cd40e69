"""Cleaning that is refused, and files that were cleaned and are needed again."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from airflow_provider_blockread.errors import CleanedError, OptionsError, SourceError
from airflow_provider_blockread.ledger.windows.generations import start_generation
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.pages.app import make_app
from airflow_provider_blockread.steps.plan.cleaned import restore_files
from airflow_provider_blockread.steps.upkeep import cleaning_files
from airflow_provider_blockread.steps.upkeep.cleaning import clean
from airflow_provider_blockread.steps.upkeep.cleaning_scope import CleanRequest
from airflow_provider_blockread.storage.stores import Stores
from tests.pages.visitors import Person, site_of
from tests.pipeline.make import Pipe
from tests.remedies.desk import Desk


@pytest.fixture
def published(here: Pipe) -> Pipe:
    """Two published files."""
    here.put({"a.txt": b"a1\na2\n", "b.txt": b"b1\n"})
    here.run()
    return here


def _clean(pipe: Pipe, *options: str) -> tuple[str, ...]:
    return ("clean", str(pipe.source), "--name", "feed", "--grace", "1h", *options)


def _archive(pipe: Pipe) -> tuple[str, ...]:
    return _clean(pipe, "--action", "archive", "--archive", str(pipe.folder / "kept"))


def test_archived_files_are_brought_back(published: Pipe, desk: Desk) -> None:
    """By the command that the message names; then the rebuild works."""
    desk.done(*_archive(published))
    desk.carry_out(desk.refused("windows", "rebuild", "w"))
    desk.done("windows", "rebuild", "w")

    assert (published.state(), len(list(published.source.iterdir()))) == ("published", 2)


def test_archived_files_are_brought_back_where_the_ledger_refuses(published: Pipe, desk: Desk) -> None:
    """The same where they went between two looks."""
    desk.done(*_archive(published))
    window = get_window(published.env.ledger, "w")
    with pytest.raises(CleanedError, match="were cleaned from the source") as refused:
        start_generation(published.env.ledger, window.id, options={}, mode="write", clear_number=1)
    desk.carry_out(refused.value)

    assert published.run(clear_number=1).generation == 2


def test_files_that_were_archived_go_back_once_they_are_restored(published: Pipe, desk: Desk) -> None:
    """Only then do `undo`, `show` and the window's page offer it."""
    desk.done(*_archive(published))
    browser = TestClient(make_app(site_of(published.env, Person())))
    page = f"/ledgers/main/windows/{get_window(published.env.ledger, 'w').id}"
    away = [desk.done("windows", "undo", "w", "--dry-run"), browser.get(page).text]
    desk.refused("windows", "undo", "w", "--files", "pending")
    desk.done("windows", "undo", "w")
    away += [desk.done("windows", "show", "w"), browser.get(page).text]
    desk.done("clean", "--restore", "w")
    back = [desk.done("windows", "show", "w"), browser.get(page).text]
    desk.done("windows", "undo", "w", "--files", "pending")

    assert [text for text in away if "--files pending" in text] == []
    assert [text for text in back if "--files pending" not in text] == []


def test_deleted_files_come_from_a_backup(published: Pipe, desk: Desk) -> None:
    """Copied back as they were, they are found by the rebuild itself."""
    shutil.copytree(published.source, published.folder / "backup")
    desk.done(*_clean(published, "--action", "delete"))
    assert "others from a backup" in desk.refused("windows", "rebuild", "w")
    shutil.copytree(published.folder / "backup", published.source, dirs_exist_ok=True)
    desk.done("windows", "rebuild", "w")

    assert published.values() == ["a1", "a2", "b1"]


def test_another_file_in_the_place_of_an_archived_one(published: Pipe, desk: Desk) -> None:
    """Moved away, as the message asks, it lets the archived one come back."""
    desk.done(*_archive(published))
    published.put({"a.txt": b"other\n"})
    message = desk.refused("clean", "--restore", "w")
    assert "another file is there now" in message
    (published.source / "a.txt").rename(published.folder / "other.txt")
    desk.done("clean", "--restore", "w")

    assert (published.source / "a.txt").read_bytes() == b"a1\na2\n"


def test_a_store_that_makes_every_copy_another_version(
    published: Pipe, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copied back by hand, the file is read in its newer version by the command that the message names."""
    desk.done(*_archive(published))
    place = Stores.place

    def copies(stores: Stores, source: str, target: str) -> None:
        place(stores, source, target)
        os.utime(target.removeprefix("file://"))

    with monkeypatch.context() as patch:
        patch.setattr(Stores, "place", copies)
        patch.setattr(Stores, "delete_version", lambda *_: True)
        with pytest.raises(SourceError, match="copy all its archived files there by hand") as refused:
            restore_files(published.env, get_window(published.env.ledger, "w"))
    for file in (published.folder / "kept").iterdir():
        shutil.copyfile(file, published.source / file.name)
    desk.carry_out(refused.value)
    assert published.values() == ["a1", "a2", "b1"]

    desk.done("windows", "rebuild", "w")
    assert published.values() == ["a1", "a2", "b1"]


@pytest.mark.parametrize("remedy", ["beside", "hidden", "pattern"])
def test_an_archive_in_the_source(published: Pipe, desk: Desk, remedy: str) -> None:
    """Each of the three places that the message names."""

    def command(folder: Path, *more: str) -> tuple[str, ...]:
        return _clean(published, "--action", "archive", "--archive", str(folder), *more)

    inside = published.source / "kept"
    assert "choose a folder beside the feed's roots, or one whose name begins with `_`, or plan once" in desk.refused(
        *command(inside)
    )
    if remedy == "beside":
        desk.done(*command(published.folder / "kept"))
    elif remedy == "hidden":
        desk.done(*command(published.source / "_kept"))
    else:
        desk.done(
            "run", str(published.source), "--name", "feed", "--exclude", "kept/**", "--output", f"{published.out}"
        )
        desk.done(*command(inside, "--exclude", "kept/**"))

    assert not (published.source / "a.txt").exists()


def test_an_archive_in_another_store(published: Pipe, desk: Desk) -> None:
    """A folder in the store of the source is taken."""
    wrong = _clean(published, "--action", "archive", "--archive", "memory://kept")
    assert "choose a folder in that store" in desk.refused(*wrong)

    desk.done(*_archive(published))


def test_tags_where_there_are_none(published: Pipe, desk: Desk) -> None:
    """The other actions that the message names work."""
    assert "archive or delete instead" in desk.refused(*_clean(published, "--action", "tag"))

    desk.done(*_archive(published))


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ([], ["--action", "delete"]),
        (["--action", "archive"], ["--action", "archive", "--archive", "{kept}"]),
        (["--action", "delete", "--archive", "{kept}"], ["--action", "delete"]),
    ],
)
def test_options_that_belong_together(published: Pipe, desk: Desk, wrong: list[str], right: list[str]) -> None:
    """What the message asks for is given, and cleaning works."""
    kept = str(published.folder / "kept")
    message = desk.refused(*_clean(published, *(word.format(kept=kept) for word in wrong)))
    assert message.startswith("clean: ")

    desk.done(*_clean(published, *(word.format(kept=kept) for word in right)))


@pytest.mark.parametrize(
    ("wrong", "right"), [({"grace": -1.0}, {}), ({"tags": {}}, {}), ({"action": "burn"}, {"action": "delete"})]
)
def test_values_that_a_task_may_give(published: Pipe, wrong: dict[str, object], right: dict[str, object]) -> None:
    """One of those that the message names is taken."""
    given = {"feed": "feed", "source": FileSource(str(published.source)), "action": "delete", "grace": 0.0}
    with pytest.raises(OptionsError, match=r"must be 0 or more|action must be archive, delete, tag"):
        CleanRequest(**given | wrong)  # type: ignore[arg-type]

    published.pass_seconds(9)
    assert clean(published.env, CleanRequest(**given | right), who="me").files == 2  # type: ignore[arg-type]


def test_a_copy_that_is_not_whole(published: Pipe, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy removed, as the message asks, the command archives the file."""
    target = published.folder / "kept" / "a.txt"

    def cut(_stores: Stores, _source: str, uri: str) -> None:
        file = Path(uri.removeprefix("file://"))
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"a")

    with monkeypatch.context() as failing:
        failing.setattr(Stores, "place", cut)
        assert "remove the copy, then repeat" in desk.refused(*_archive(published))
    target.unlink()
    desk.done(*_archive(published))

    assert target.read_bytes() == b"a1\na2\n"


def test_a_name_that_is_taken_twice(published: Pipe, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both names are taken: once the content that the message names is moved away, the file is archived."""
    kept = published.folder / "kept"
    kept.mkdir()
    (kept / "a.txt").write_bytes(b"other\n")
    monkeypatch.setattr(cleaning_files, "digest", lambda *_: "0" * 64)
    (kept / f"a.txt.{'0' * 16}").write_bytes(b"other\n")
    message = desk.refused(*_archive(published))
    assert "is taken by other content; move that away, then repeat" in message
    (kept / "a.txt").rename(published.folder / "elsewhere")
    desk.done(*_archive(published))

    assert (kept / "a.txt").read_bytes() == b"a1\na2\n"
