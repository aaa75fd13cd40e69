"""One behaviour for all stores: the local disk, and fsspec's memory store."""

from __future__ import annotations

import errno
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from airflow_provider_blockread.errors import FileMissingError, OptionsError, SourceError, TransientError
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.backends.shared.errors import translated
from tests.disks import another_disk, run_on_two_mounts


@pytest.fixture(params=["disk", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Yield the URI of an empty folder of each store."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    yield f"file://{tmp_path}" if request.param == "disk" else "memory:///box"
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def test_what_is_written_is_read(folder: str) -> None:
    """Written bytes are read completely, in ranges, and with their size; folders are created."""
    stores, uri = Stores(), f"{folder}/a/b c%.bin"
    stores.write_bytes_atomic(uri, b"0123456789")
    with stores.open_read(uri) as left, stores.open_read(uri) as right:
        left.seek(5)

        assert right.read(2) + left.read() == b"0156789"
    assert stores.read_bytes(uri) == b"0123456789"
    assert (stores.stat(uri).path, stores.stat(uri).size) == (uri, 10)
    assert stores.exists(uri)
    assert stores.exists(f"{folder}/a")


def test_writing_again_is_another_version(folder: str) -> None:
    """An overwritten file has a new identity even at the same size."""
    stores, uri = Stores(), f"{folder}/x"
    stores.write_bytes_atomic(uri, b"1")
    before = stores.stat(uri)
    stores.write_bytes_atomic(uri, b"2")

    assert stores.read_bytes(uri) == b"2"
    assert stores.stat(uri) != before


def test_a_stream_is_written_into_a_new_folder(folder: str) -> None:
    """Opening a file for writing creates its folder."""
    stores = Stores()
    with stores.open_write(f"{folder}/new/x") as file:
        file.write(b"abc")

    assert stores.read_bytes(f"{folder}/new/x") == b"abc"


def test_the_head_of_a_file(folder: str) -> None:
    """As many bytes as are asked for, or as there are; a folder is refused."""
    stores, uri = Stores(), f"{folder}/x"
    stores.write_bytes_atomic(uri, b"abc")

    assert [stores.read_head(uri, most) for most in (0, 2, 3, 4)] == [b"", b"ab", b"abc", b"abc"]
    with pytest.raises(SourceError):
        stores.read_head(folder, 1)


def test_what_is_missing_is_an_error_that_names_it(folder: str) -> None:
    """Stat, read and open of a missing file name the URI and the remedy."""
    stores, uri = Stores(), f"{folder}/none"
    for look in (stores.stat, stores.read_bytes, stores.open_read, lambda uri: stores.read_head(uri, 1)):
        with pytest.raises(FileMissingError, match=f"{uri} does not exist; restore it"):
            look(uri)
    assert not stores.exists(uri)
    stores.remove(uri)


def test_folders_are_listed_and_removed_whole(folder: str) -> None:
    """Names in order, without files; a missing folder has none and may be removed."""
    stores = Stores()
    for name in ("w/g2/deep/x", "w/g1/y", "w/file"):
        stores.write_bytes_atomic(f"{folder}/{name}", b"1")

    assert stores.list_folders(f"{folder}/w") == [f"{folder}/w/g1", f"{folder}/w/g2"]
    stores.remove_folder(f"{folder}/w/g2")
    stores.remove_folder(f"{folder}/w/g2")
    assert stores.list_folders(f"{folder}/w") == [f"{folder}/w/g1"]
    assert not stores.exists(f"{folder}/w/g2/deep/x")
    assert stores.list_folders(f"{folder}/absent") == []


def test_two_remove_one_folder(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files removed by another process during the removal are ignored: nothing is left."""
    stores = Stores()
    for name in "abcd":
        stores.write_bytes_atomic(f"{folder}/w/{name}", b"1")
    target, name = (os, "unlink") if folder.startswith("file:") else (MemoryFileSystem, "rm_file")
    remove, calls = getattr(target, name), []

    def removed_before(*given: Any, **options: Any) -> None:
        calls.append(given)
        remove(*given, **options)
        if len(calls) == 2:
            raise FileNotFoundError(given[-1])

    monkeypatch.setattr(target, name, removed_before)
    stores.remove_folder(f"{folder}/w")

    assert len(calls) >= 2
    assert not stores.exists(f"{folder}/w")


def test_a_folder_is_no_file(folder: str) -> None:
    """Using a folder as a file is an error."""
    stores = Stores()
    stores.write_bytes_atomic(f"{folder}/sub/x", b"")

    with pytest.raises(SourceError, match="folder"):
        stores.stat(f"{folder}/sub")


def test_a_move_can_be_repeated(folder: str) -> None:
    """The file is complete under its new name, however often the move is repeated, also after a crash between steps."""
    stores, source, target = Stores(), f"{folder}/stage/x", f"{folder}/out/x"
    stores.write_bytes_atomic(source, b"abc")
    for _ in range(3):
        stores.move(source, target, size=3)
        assert stores.read_bytes(target) == b"abc"
    stores.remove(source)
    stores.move(source, target, size=3)


def test_a_move_replaces_what_has_another_size(folder: str) -> None:
    """A target of another size is not the file; it is replaced."""
    stores, source, target = Stores(), f"{folder}/stage/x", f"{folder}/out/x"
    stores.write_bytes_atomic(source, b"abc")
    stores.write_bytes_atomic(target, b"partial")
    stores.move(source, target, size=3)

    assert stores.read_bytes(target) == b"abc"


def test_a_move_of_the_wrong_file_is_refused(folder: str) -> None:
    """A source of another size than was recorded, or none at all, changes nothing in the output."""
    stores, source, target = Stores(), f"{folder}/stage/x", f"{folder}/out/x"
    with pytest.raises(FileMissingError):
        stores.move(source, target, size=3)
    stores.write_bytes_atomic(source, b"ab")
    with pytest.raises(SourceError, match="has 2 bytes instead of 3"):
        stores.move(source, target, size=3)

    assert not stores.exists(target)


def test_names_are_listed_by_prefix(folder: str) -> None:
    """Files directly in a folder are listed with their sizes; folders, other names and a missing folder are not."""
    stores = Stores()
    for name in ("part-1", "part-22", "other", "part-dir/x"):
        stores.write_bytes_atomic(f"{folder}/out/{name}", name.encode())

    assert sorted(stores.list_names(f"{folder}/out", "part-")) == [
        (f"{folder}/out/part-1", 6),
        (f"{folder}/out/part-22", 7),
    ]
    assert list(stores.list_names(f"{folder}/absent", "")) == []


def test_a_write_on_disk_leaves_no_trace_of_itself(tmp_path: Path) -> None:
    """After a write only the file is there, and a failed one leaves the old content."""
    stores = Stores()
    stores.write_bytes_atomic(str(tmp_path / "x"), b"1")
    (tmp_path / "dir").mkdir()
    with pytest.raises(SourceError):
        stores.write_bytes_atomic(str(tmp_path / "dir"), b"2")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["dir", "x"]


def test_files_move_between_disks(tmp_path: Path) -> None:
    """From a work area on another disk, a file is copied next to the target first, then renamed."""
    source = another_disk(tmp_path) / f"blockread-{tmp_path.name}-{id(tmp_path)}"
    source.write_bytes(b"abc")
    Stores().move(str(source), str(tmp_path / "out" / "x"), size=3)

    assert [path.name for path in (tmp_path / "out").iterdir()] == ["x"]
    assert not source.exists()


def test_files_move_between_two_mounts_of_one_disk(tmp_path: Path) -> None:
    """As the volumes of a container may be: the system renames no file from one to another, and links none."""
    (tmp_path / "out").mkdir()
    for name in "ab":
        (tmp_path / name).write_bytes(b"abc")
    code = (
        "from airflow_provider_blockread.storage import Stores\n"
        f"Stores().move('{tmp_path}/a', '{tmp_path}/out/a', size=3)\n"
        f"Stores().place('{tmp_path}/b', '{tmp_path}/out/b')"
    )
    run_on_two_mounts(tmp_path / "out", code)

    assert {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()} == dict.fromkeys("ab", b"abc")
    assert (tmp_path / "out" / "b").stat().st_mtime_ns == (tmp_path / "b").stat().st_mtime_ns
    assert not (tmp_path / "a").exists()


def test_stores_do_not_mix(tmp_path: Path) -> None:
    """A move from one store to another is refused with a remedy."""
    stores = Stores()
    stores.write_bytes_atomic(str(tmp_path / "x"), b"abc")

    with pytest.raises(SourceError, match="choose a work area in the store of the output"):
        stores.move(str(tmp_path / "x"), "memory://out/x", size=3)


def test_a_file_without_rights_is_an_error(tmp_path: Path) -> None:
    """Denied access is distinguished from a missing file, and named."""
    script = (
        "import os, sys\n"
        "from airflow_provider_blockread.storage import Stores\n"
        "if os.getuid() == 0: os.setuid(65534)\n"
        "for look in (Stores().stat, Stores().open_read, Stores().exists):\n"
        "    try: print(look(sys.argv[1]))\n"
        "    except Exception as error: print(type(error).__name__, error)\n"
    )
    closed = tmp_path / "closed"
    closed.mkdir()
    (closed / "x").write_text("x")
    closed.chmod(0o000)
    done = subprocess.run([sys.executable, "-c", script, str(closed / "x")], capture_output=True, text=True, check=True)
    closed.chmod(0o755)

    assert done.stdout.count(f"SourceError file://{closed}/x: access denied") == 3


def test_credentials_go_by_the_longest_root_and_are_never_shown() -> None:
    """The innermost root's options open the store; neither `repr` nor an error quotes them."""
    stores = Stores(
        {
            "memory://a": {"listings_expiry_time": 1, "secret": "hunter2"},
            "memory://a/b": {"listings_expiry_time": 2},
            "github://": {"token": "hunter2"},  # it also needs an organisation
        }
    )
    options = [stores.remote(f"memory://{path}")[0].system.storage_options for path in ("a/x", "a/b/x", "ab/x")]

    assert [option.get("listings_expiry_time") for option in options] == [1, 2, None]
    assert stores.remote("memory://a/y")[0] is stores.remote("memory://a/x")[0]
    assert "hunter2" not in repr(stores)
    with pytest.raises(OptionsError, match="options do not fit") as caught:
        stores.remote("github://x")
    assert "hunter2" not in str(caught.value)
    copy = pickle.loads(pickle.dumps(stores))  # noqa: S301 - its own
    assert copy.remote("memory://a/b/x")[0].system.storage_options["listings_expiry_time"] == 2


def test_a_path_that_is_too_long_is_not_tried_again() -> None:
    """No file can have it."""
    with pytest.raises(SourceError, match="no file can have this path"):
        Stores().stat("/a" * 3000)


def test_any_other_store_of_fsspec_reads(tmp_path: Path) -> None:
    """A store without specific code is read through fsspec."""
    (tmp_path / "x.txt").write_bytes(b"0123456789")
    uri = f"dir://{tmp_path}/x.txt"
    stores = Stores({"dir://": {"path": "/", "fs": fsspec.filesystem("file")}})

    assert stores.stat(uri).size == 10
    with stores.open_read(uri) as file:
        file.seek(4)
        assert file.read(3) == b"456"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_store_that_is_full_says_so(code: int) -> None:
    """The error says to free space."""
    says = r"file:///out/x: the store is full .*; free space there, then retry"
    with pytest.raises(TransientError, match=says), translated("file:///out/x"):
        raise OSError(code, os.strerror(code))


def test_a_file_in_a_folder_s_place(tmp_path: Path) -> None:
    """Creating a folder in place of a file is a permanent error."""
    (tmp_path / "out").write_bytes(b"")

    with pytest.raises(SourceError, match="is a file where a folder is needed"):
        Stores().makedirs(str(tmp_path / "out"))
