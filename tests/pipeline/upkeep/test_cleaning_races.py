"""Files that change while they are cleaned: whatever was not read stays, or is at least never lost."""

from __future__ import annotations

import shutil

import pytest

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.steps.upkeep.cleaning import clean
from airflow_provider_blockread.storage.backends.disk import LocalDisk
from airflow_provider_blockread.storage.stores import Stores
from tests.pipeline.cleaning import pipe, request, there
from tests.pipeline.make import Pipe

__all__ = ["pipe"]


@pytest.mark.parametrize("action", ["delete", "archive"])
def test_what_lands_in_the_last_moment_stays(pipe: Pipe, monkeypatch: pytest.MonkeyPatch, action: str) -> None:
    """A file that takes another's place while that one is taken away was never read, and is never lost."""
    delete_version = Stores.delete_version

    def late(stores: Stores, version: FileVersion) -> bool:
        if version.path.endswith("a.txt"):
            (pipe.source / ".new").write_bytes(b"new\n")
            (pipe.source / ".new").rename(pipe.source / "a.txt")
        return delete_version(stores, version)

    monkeypatch.setattr(Stores, "delete_version", late)
    asked = request(pipe, action)
    done = clean(pipe.env, asked, who="me")

    gone = {"files": 1, "left": {"changed": 1}} if action == "delete" else {"files": 2, "left": {}}
    assert {"files": done.files, "left": done.left} == gone
    assert there(pipe.source) == ["a.txt"]
    assert (pipe.source / "a.txt").read_bytes() == b"new\n"
    assert there(pipe.folder / "kept") == ([] if action == "delete" else ["a.txt", "sub/b.txt"])


@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize("data", [b"new\n", b"c1\nc2\n"])
def test_what_changes_before_it_is_brought_to_the_archive_stays(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch, data: bytes, *, moves: bool
) -> None:
    """It is counted as changed, of whatever size, and is back in its place where a store moves it."""
    place = Stores.place

    def late(stores: Stores, source: str, target: str) -> None:
        new = source.endswith("in/a.txt")
        if new:
            (pipe.source / "a.txt").unlink()
            (pipe.source / "a.txt").write_bytes(data)
        place(stores, source, target)
        if new and moves:
            (pipe.source / "a.txt").unlink()

    monkeypatch.setattr(Stores, "place", late)
    done = clean(pipe.env, request(pipe), who="me")

    assert (done.files, done.left) == (1, {"changed": 1})
    assert (pipe.source / "a.txt").read_bytes() == data
    assert there(pipe.folder / "kept") == ["sub/b.txt"]


def test_three_files_of_one_name(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two land while a file is taken away, one after the other, both stay, and the error says where."""
    path = pipe.source / "a.txt"
    version = pipe.env.stores.stat(str(path))
    path.write_bytes(b"second\n")
    rename = LocalDisk.rename

    def late(disk: LocalDisk, source: str, target: str) -> None:
        rename(disk, source, target)
        path.write_bytes(b"third\n")

    monkeypatch.setattr(LocalDisk, "rename", late)
    with pytest.raises(SourceError, match=r"replaced twice while it was being deleted.*/\.[0-9a-f]{32}\.tmp"):
        pipe.env.stores.delete_version(version)
    (aside,) = pipe.source.glob(".*.tmp")
    assert (path.read_bytes(), aside.read_bytes()) == (b"third\n", b"second\n")
    path.unlink()
    assert pipe.env.stores.finish_delete(version) is False
    assert (path.read_bytes(), aside.exists()) == (b"second\n", False)
    assert pipe.env.stores.finish_delete(version) is None


@pytest.mark.parametrize("action", ["delete", "archive"])
def test_a_folder_exchanged_for_a_link_leads_to_nothing(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    """What is behind the link stays, though it has the size and time of the file that was read."""
    delete_version, far = Stores.delete_version, pipe.folder / "far"
    far.mkdir()
    shutil.copy2(pipe.source / "sub" / "b.txt", far / "b.txt")

    def late(stores: Stores, version: FileVersion) -> bool:
        if version.path.endswith("a.txt"):
            (pipe.source / "sub").rename(pipe.folder / "before")
            (pipe.source / "sub").symlink_to(far)
        return delete_version(stores, version)

    monkeypatch.setattr(Stores, "delete_version", late)
    done = clean(pipe.env, request(pipe, action), who="me")
    assert (done.files, done.left) == (1, {"changed": 1})
    assert there(far) == ["b.txt"]
    assert there(pipe.folder / "before") == ["b.txt"]
