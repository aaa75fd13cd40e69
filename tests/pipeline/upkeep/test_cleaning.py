"""Published files are archived, deleted or tagged, and come back; nothing else at the source is ever touched."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_blockread.errors import CleanedError, OptionsError, SourceError
from airflow_provider_blockread.ledger.windows.queries import get_window, list_files
from airflow_provider_blockread.options import FileSource, Selection
from airflow_provider_blockread.options.plan import Limits
from airflow_provider_blockread.steps import WindowRef, plan
from airflow_provider_blockread.steps.plan.cleaned import restore_files
from airflow_provider_blockread.steps.upkeep import cleaning
from airflow_provider_blockread.steps.upkeep.cleaning import clean, propose_cleaning
from airflow_provider_blockread.storage.stores import Stores
from tests.pipeline.cleaning import _DAY_S, cleaned, request, there
from tests.pipeline.cleaning import pipe as pipe  # noqa: PLC0414 - a fixture
from tests.pipeline.make import Pipe, ReadHere


def test_archive(pipe: Pipe) -> None:
    """Files keep their paths below the root, and their times; the next listing misses none and takes none."""
    before = (pipe.source / "a.txt").stat().st_mtime_ns

    done = cleaned(pipe)

    assert (done.files, done.bytes, done.left) == (2, 9, {})
    assert there(pipe.source) == []
    assert there(pipe.folder / "kept") == ["a.txt", "sub/b.txt"]
    assert (pipe.folder / "kept" / "a.txt").stat().st_mtime_ns == before
    assert cleaned(pipe).files == 0
    assert pipe.run("next").status == "empty"
    assert not any("vanished" in message for message in pipe.messages)
    assert [row.state for row in list_files(pipe.env.ledger, pipe.feed)] == ["done", "done"]


def test_delete(pipe: Pipe) -> None:
    """Deleted files are gone; one that lands again as it was is known."""
    time = (pipe.source / "a.txt").stat().st_mtime_ns
    assert cleaned(pipe, "delete").files == 2
    assert there(pipe.source) == []

    pipe.put({"a.txt": b"a1\na2\n"})
    os.utime(pipe.source / "a.txt", ns=(time, time))

    assert pipe.run("next").status == "empty"


def test_tags_need_a_store_that_has_them(pipe: Pipe) -> None:
    """The local disk has none, and says so before anything is done."""
    with pytest.raises(OptionsError, match="tags cannot be set there"):
        cleaned(pipe, "tag")


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("in", {}),
        ("in/kept", {}),
        ("in/kept", {"pattern": "**/*.txt"}),
        (".", {}),
        ("link", {}),
        ("in/kept", {"pattern": "sub/**"}),
        ("in/kept", {"exclude": "kept/**"}),
        ("in/kept", {"uris": "in/sub"}),
    ],
)
def test_an_archive_in_the_source_is_refused(pipe: Pipe, place: str, source: dict[str, Any]) -> None:
    """One that the feed's own listing comes to, whatever part of it is cleaned, or that holds a root."""
    (pipe.folder / "link").symlink_to(pipe.source)
    taken = FileSource(**{"uris": "in"} | source)
    taken = dataclasses.replace(taken, uris=str(pipe.folder / str(taken.uris)))
    asked = request(pipe, archive=str(pipe.folder / place), source=taken)
    with pytest.raises(OptionsError, match="source's own listing"):
        propose_cleaning(pipe.env, asked)
    with pytest.raises(OptionsError, match="source's own listing"):
        clean(pipe.env, asked, who="me")


@pytest.mark.parametrize(
    ("place", "source"),
    [("in/_kept", {}), ("in/kept", {"exclude": "kept/**"})],
)
def test_an_archive_that_no_listing_comes_to(pipe: Pipe, place: str, source: dict[str, Any]) -> None:
    """It may be below the root where hidden names, or patterns of the feed's own, keep listings out of it."""
    taken = FileSource(str(pipe.source), **source)
    plan(pipe.env, dataclasses.replace(pipe.request("next"), source=taken))
    done = cleaned(pipe, archive=str(pipe.folder / place), source=taken)

    assert (done.files, done.left) == (2, {})


def test_an_archive_in_another_store_is_refused(pipe: Pipe) -> None:
    """A store brings files to its own places only."""
    with pytest.raises(OptionsError, match=r"memory://kept is not in the store of file://"):
        cleaned(pipe, archive="memory://kept")


@pytest.mark.slow
def test_grace(pipe: Pipe) -> None:
    """Files wait from their publication on, and again when they are published again."""
    assert cleaned(pipe, grace=11 * _DAY_S).files == 0
    pipe.run(clear_number=1)
    assert cleaned(pipe).files == 0
    pipe.pass_seconds(8 * _DAY_S)
    assert cleaned(pipe).files == 2


def test_what_is_not_published_stays(pipe: Pipe) -> None:
    """Pending, planned and excluded files are left alone, and those of a window that is being read again."""
    pipe.put({"c.txt": b"c1\n"})
    pipe.plan("open")
    pipe.put({"d.txt": b"d1\n"})
    pipe.plan(clear_number=1)
    pipe.pass_seconds(10 * _DAY_S)

    done = cleaned(pipe)

    assert (done.files, done.left) == (0, {"busy": 2})
    assert len(there(pipe.source)) == 4


def test_the_source_of_a_plan_cleans_what_the_plan_took(pipe: Pipe) -> None:
    """One source serves a plan and the cleaning behind it, whatever its options."""
    source = FileSource(str(pipe.source), min_size=4, min_age=1.0, done_marker="{name}.ok", time_pattern="d=%Y-%m-%d")
    pipe.put({"d=2026-01-01/c.txt": b"c1\nc2\n", "d=2026-01-01/c.txt.ok": b"", "d=2026-01-01/d.txt": b"d1\n"})
    for path in pipe.source.rglob("*"):
        os.utime(path, (0, 0))
    ref = WindowRef.from_json(plan(pipe.env, dataclasses.replace(pipe.request("next"), source=source)).to_json())
    pipe.read(ref)
    pipe.commit(ref)
    pipe.pass_seconds(10 * _DAY_S)

    done = cleaned(pipe, "delete", source=source)

    assert (done.files, done.bytes) == (1, 6)
    assert there(pipe.source / "d=2026-01-01") == ["c.txt.ok", "d.txt"]


@pytest.mark.slow
def test_another_feed_waits(pipe: Pipe) -> None:
    """A file that two feeds have seen is cleaned when both have published it, once."""
    other = dataclasses.replace(pipe, feed="other", out_name="out2")
    other.env = pipe.env
    ref = other.plan()
    assert cleaned(pipe).left == {"waiting": 2}

    other.time = pipe.time
    other.read(ref)
    other.commit(ref)
    assert cleaned(pipe).left == {"busy": 2}

    pipe.pass_seconds(8 * _DAY_S)
    assert cleaned(pipe).files == 2
    with pytest.raises(CleanedError, match=r"2 of its files were cleaned.*archived to file://.*kept/a\.txt"):
        other.run(clear_number=1)


@pytest.mark.slow
def test_parts_of_a_file(tmp_path: Path) -> None:
    """A file in parts is cleaned when the windows of all of them are published; each of them needs it again."""
    pipe = Pipe(folder=tmp_path, submitter=ReadHere(), block_size=4, selection=Selection(limits=Limits(max_bytes=4)))
    pipe.put({"big.txt": b"one\ntwo\nsix\n"})
    for key in ("w1", "w2"):
        pipe.run(key)
        pipe.pass_seconds(10 * _DAY_S)
        assert cleaned(pipe).files == 0
    pipe.run("w3")
    assert cleaned(pipe).left.get("busy", 0) == 0
    pipe.pass_seconds(10 * _DAY_S)
    assert cleaned(pipe).files == 1
    for key in ("w1", "w3"):
        with pytest.raises(CleanedError, match=r"big\.txt"):
            pipe.run(key, clear_number=1)
    pipe.close()


def test_changed_and_gone_files(pipe: Pipe) -> None:
    """A file that is another one now is left alone and counted, and so is one that is gone."""
    pipe.put({"a.txt": b"corrected\n"})
    (pipe.source / "sub" / "b.txt").unlink()

    done = cleaned(pipe)

    assert (done.files, done.left) == (0, {"changed": 1, "gone": 1})
    assert there(pipe.source) == ["a.txt"]
    assert there(pipe.folder / "kept") == []


@pytest.mark.parametrize("action", ["archive", "delete"])
def test_a_folder_in_the_place_of_a_file(pipe: Pipe, action: str) -> None:
    """It is a change of that file, which keeps no other one from being cleaned."""
    (pipe.source / "a.txt").unlink()
    (pipe.source / "a.txt").mkdir()

    done = cleaned(pipe, action)

    assert (done.files, done.left) == (1, {"changed": 1})
    assert there(pipe.source) == []


def test_what_lies_outside_stays(pipe: Pipe, tmp_path: Path) -> None:
    """Files that the source given does not take, or that a link leads to, are left alone and counted."""
    assert cleaned(pipe, source=FileSource(str(pipe.source), pattern="nothing")).left == {"outside": 2}
    assert cleaned(pipe, "delete", source=FileSource(str(pipe.folder / "out"))).left == {"outside": 2}
    (pipe.source / "sub").rename(tmp_path / "elsewhere")
    (pipe.source / "sub").symlink_to(tmp_path / "elsewhere")

    done = cleaned(pipe, "delete")

    assert (done.files, done.left) == (1, {"outside": 1})
    assert there(tmp_path / "elsewhere") == ["b.txt"]


@pytest.mark.slow
def test_a_name_that_is_taken_in_the_archive(pipe: Pipe) -> None:
    """Other content stays; the file gets a longer name there, and comes back from it."""
    kept = pipe.folder / "kept"
    kept.mkdir()
    (kept / "a.txt").write_bytes(b"x1\nx2\n")

    assert cleaned(pipe).files == 2

    assert (kept / "a.txt").read_bytes() == b"x1\nx2\n"
    assert [name[:6] for name in there(kept)] == ["a.txt", "a.txt.", "sub/b."]
    assert restore_files(pipe.env, get_window(pipe.env.ledger, "w", pipe.feed)).files == 2
    assert (pipe.source / "a.txt").read_bytes() == b"a1\na2\n"
    assert pipe.run(clear_number=1).records == 3


def test_a_long_name_that_is_taken_in_the_archive(pipe: Pipe) -> None:
    """The place beside it has a name that a disk can hold: only the end of the file's own is left out."""
    name = "\N{EURO SIGN}" * 85
    pipe.put({name: b"long\n"})
    pipe.run("long")
    pipe.pass_seconds(10 * _DAY_S)
    (pipe.folder / "kept").mkdir()
    (pipe.folder / "kept" / name).write_bytes(b"other\n")

    assert cleaned(pipe).files == 3
    (beside,) = (path for path in (pipe.folder / "kept").glob("\N{EURO SIGN}*") if path.name != name)
    assert (beside.name[:66], beside.read_bytes()) == (name[:66], b"long\n")
    assert restore_files(pipe.env, get_window(pipe.env.ledger, "long")).files == 1
    assert there(pipe.source) == [name]


def test_a_generation_that_begins_meanwhile(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one sees it: files of a window that has begun to be read again are not cleaned."""
    asked = request(pipe)
    write = cleaning.write_down

    def late(*given: Any, **options: Any) -> Any:
        pipe.plan(clear_number=1)
        return write(*given, **options)

    monkeypatch.setattr(cleaning, "write_down", late)
    assert clean(pipe.env, asked, who="me").files == 0
    assert len(there(pipe.source)) == 2


def test_requests_that_mean_nothing(pipe: Pipe) -> None:
    """Each is refused by name."""
    for options in ({"action": "burn"}, {"action": "delete", "archive": "x"}, {"archive": None}, {"grace": -1.0}):
        with pytest.raises(OptionsError, match="clean:"):
            request(pipe, **options)
    with pytest.raises(OptionsError, match="knows no feed 'other'"):
        cleaned(pipe, "delete", feed="other")


@pytest.mark.parametrize("action", ["archive", "delete"])
def test_files_that_the_store_denies(pipe: Pipe, monkeypatch: pytest.MonkeyPatch, action: str) -> None:
    """All others are cleaned at once, and these once they are no longer denied; then the call fails no more."""
    pipe.put({name: name.encode() for name in ("c.txt", "d.txt", "e.txt")})
    pipe.run("w2")
    pipe.pass_seconds(10 * _DAY_S)
    does = "place" if action == "archive" else "delete_version"
    found = getattr(Stores, does)

    def denying(stores: Stores, file: Any, *target: str) -> Any:
        uri = getattr(file, "path", file)
        if uri.endswith(("a.txt", "d.txt")):
            msg = f"{uri}: access is denied"
            raise SourceError(msg, uri)
        return found(stores, file, *target)

    with monkeypatch.context() as denied:
        denied.setattr(Stores, does, denying)
        for _ in range(2):
            with pytest.raises(SourceError, match=rf"a\.txt: access is denied \(and 1 other file that .* {action}d\)"):
                clean(pipe.env, request(pipe, action), who="me")
            assert there(pipe.source) == ["a.txt", "d.txt"]
    done = cleaned(pipe, action)

    assert (done.files, done.left, there(pipe.source)) == (2, {}, [])
