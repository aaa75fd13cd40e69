"""Concurrent changes of files: no call blocks forever, and nothing is overwritten."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import BlockReadError, FileMissingError, SourceError
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.results import read_spec
from airflow_provider_blockread.options import Bounds, FileList
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.backends.disk import LocalDisk
from airflow_provider_blockread.storage.backends.disk_calls import rename_if_free
from airflow_provider_blockread.storage.listing.upstream import read_list
from airflow_provider_blockread.storage.versions import open_version
from tests.examples import examples

_LONG_S = 20.0  # a call that takes longer hangs

LEASE = """
import fcntl, os, signal, sys, time
def let_go(*_):
    time.sleep(0.3)
    fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    print("gone", flush=True)
handle = os.open(sys.argv[1], os.O_RDWR)
signal.signal(signal.SIGIO, let_go)
fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
while True:
    time.sleep(0.1)
"""


def ends(call: Callable[[], object]) -> BaseException | None:
    """Return the error of a call, which must end soon."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - it is the answer
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(_LONG_S)
    assert not thread.is_alive(), "it waits for a pipe"
    return raised[0] if raised else None


def opened(version: FileVersion) -> None:
    """Open a planned file as a task does."""
    with open_version(Stores(), version, Bounds()) as file:
        file.read()


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "folder"])
def test_what_is_no_file_is_refused_when_it_is_opened(tmp_path: Path, kind: str) -> None:
    """Such as a pipe without a writer, as a file of a window, a list, a job's specification, or a manifest."""
    planned = Stores().stat(str(Path(__file__)))
    path = tmp_path / "x"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path = Path("/dev/null")
    elif kind == "folder":
        path.mkdir()
    else:
        with tempfile.TemporaryDirectory(prefix="b") as short, socket.socket(socket.AF_UNIX) as server:
            server.bind(f"{short}/x")  # such names must be short
            Path(f"{short}/x").rename(path)
    stores, uri = Stores(), f"file://{path}"
    calls: list[Callable[[], object]] = [
        lambda: stores.open_read(uri),
        lambda: stores.read_bytes(uri),
        lambda: opened(planned._replace(path=uri)),
        lambda: list(read_list(stores, FileList(uri))),
        lambda: read_spec(stores, Submission(spec_uri=uri, spec_hash="")),
    ]
    for call in calls:
        error = ends(call)
        assert isinstance(error, BlockReadError), repr(error)
        assert not isinstance(error, FileMissingError)
        assert "where a file is needed" in str(error)


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "file"])
def test_a_new_file_is_never_written_through_what_has_its_name(tmp_path: Path, kind: str) -> None:
    """A link or pipe in the place of a staged file is replaced, and its target is not changed."""
    victim, path = tmp_path / "victim", tmp_path / "x.parquet"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "file":
        path.write_bytes(b"longer than what comes")
    else:
        path.symlink_to(victim)
    if kind == "link":
        victim.write_bytes(b"untouched")

    def write() -> None:
        with Stores().open_write(f"file://{path}") as file:
            file.write(b"staged")

    assert ends(write) is None
    assert not path.is_symlink()
    assert path.read_bytes() == b"staged"
    assert not victim.exists() or victim.read_bytes() == b"untouched"


def test_a_lease_is_waited_for(tmp_path: Path) -> None:
    """A file server may hold one on a file, and releases it on request."""
    path = tmp_path / "x"
    path.write_bytes(b"1")
    with subprocess.Popen([sys.executable, "-c", LEASE, str(path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert ends(lambda: Stores().read_bytes(str(path))) is None
        assert holder.stdout.readline() == "gone\n"
        holder.kill()


@pytest.fixture
def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk without hard links, such as FAT, or without the right to create them."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)


@pytest.mark.usefixtures("no_links")
@pytest.mark.parametrize("way", ["place", "put_back"])
def test_without_hard_links_nothing_is_overwritten_either(tmp_path: Path, way: str) -> None:
    """The rename itself checks that the name is free."""
    for name in "ab":
        (tmp_path / name).write_text(name)
    with pytest.raises(FileExistsError):
        getattr(LocalDisk(), way)(str(tmp_path / "a"), str(tmp_path / "b"))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "a", "b": "b"}

    getattr(LocalDisk(), way)(str(tmp_path / "a"), str(tmp_path / "c"))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"b": "b", "c": "a"}


@examples(50)
@given(st.integers(2, 8), st.sampled_from(["file", "folder", "dangling", "nothing"]))
def test_of_many_who_rename_to_one_name_one_does(count: int, there: str) -> None:
    """And none where a file or a dangling link exists: no content is lost."""
    with tempfile.TemporaryDirectory() as folder:
        place, target = Path(folder), Path(folder) / "target"
        for number in range(count):
            (place / str(number)).write_text(str(number))
        if there == "file":
            target.write_text("there")
        elif there == "folder":
            target.mkdir()
        elif there == "dangling":
            target.symlink_to("nowhere")

        def rename(number: int) -> bool:
            try:
                rename_if_free(str(place / str(number)), str(target))
            except FileExistsError:
                return False
            return True

        with ThreadPoolExecutor(count) as threads:
            done = list(threads.map(rename, range(count)))
        assert sum(done) == (there == "nothing")
        left = {path.read_text() for path in place.iterdir() if path.is_file()}
        assert left == {str(number) for number in range(count)} | ({"there"} if there == "file" else set())


def test_a_file_that_is_to_be_renamed_must_be_there(tmp_path: Path) -> None:
    """With the system's error."""
    with pytest.raises(FileNotFoundError):
        rename_if_free(str(tmp_path / "a"), str(tmp_path / "b"))


def test_placing_over_something_says_that_it_stays(tmp_path: Path) -> None:
    """With the remedy."""
    for name in "ab":
        (tmp_path / name).write_text(name)
    with pytest.raises(SourceError, match="/b: a file of this name is there and is not overwritten; move it away"):
        Stores().place(str(tmp_path / "a"), str(tmp_path / "b"))
    (tmp_path / "b").rename(tmp_path / "c")
    Stores().place(str(tmp_path / "a"), str(tmp_path / "b"))
    assert (tmp_path / "b").read_text() == "a"


def test_what_took_a_files_place_is_put_back_whatever_it_is(tmp_path: Path) -> None:
    """A pipe that replaces a file just before its removal does not block, and keeps its name."""
    path = tmp_path / "x"
    path.write_bytes(b"1")
    version = Stores().stat(str(path))
    path.unlink()
    os.mkfifo(path)
    taken: list[bool] = []
    assert ends(lambda: taken.append(Stores().delete_version(version))) is None
    assert taken == [False]
    assert path.is_fifo()
    assert [one.name for one in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("name", ["x" * 255, "é" * 127, "x" * 200 + "é" * 20])
def test_a_name_as_long_as_names_may_be_is_written(tmp_path: Path, name: str) -> None:
    """Although it has a hidden name until it is complete."""
    stores = Stores()
    stores.write_bytes_atomic(str(tmp_path / name), b"1")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(name, b"1")]
