"""Listings over SSH: some thousand entries at a time, with broken connections, odd names and links."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import islice
from pathlib import Path

import psutil
import pytest
from asyncssh.sftp import SFTPAttrs, SFTPName

from airflow_provider_blockread.errors import FileMissingError, SourceError
from airflow_provider_blockread.options import Bounds, FileSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.backends.sftp import _ALIVE, SftpPages, _Reading
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.listing.held_back import HeldBack
from airflow_provider_blockread.storage.listing.upstream import named_files
from airflow_provider_blockread.storage.versions import open_version
from tests.servers.processes import ROOT
from tests.servers.store import Store

NOW_S = 4e9


@pytest.fixture
def landing(sftp: Store) -> tuple[str, Stores, Path]:
    """A folder of the server: its URI, its access, and its path on disk."""
    root = sftp.new_root()
    return root, sftp.stores(root), Path("/" + root.partition("://")[2].partition("/")[2])


def server_of(root: str) -> psutil.Process:
    """Return the process of the server that listens at a root's port."""
    port = int(root.partition("127.0.0.1:")[2].partition("/")[0])
    (server,) = (
        psutil.Process(one.pid)
        for one in psutil.net_connections("tcp4")
        if one.laddr.port == port and one.status == psutil.CONN_LISTEN
    )
    return server


def listed(root: str, stores: Stores, **options: object) -> list[str]:
    """Return the names that a listing yields."""
    source = FileSource(root, **options)  # type: ignore[arg-type]
    return [version.path.removeprefix(f"{root}/") for version in list_files(stores, source, now_s=NOW_S)]


def test_a_folder_is_listed_while_it_is_read(landing: tuple[str, Stores, Path]) -> None:
    """The first files are yielded before the last are requested; only some bytes of each name are kept."""
    root, stores, folder = landing
    for number in range(12_000):
        (folder / f"part-{number:06}-of-a-day.csv").touch()

    def peak(count: int) -> int:
        tracemalloc.start()
        assert sum(1 for _ in islice(list_files(stores, FileSource(root), now_s=NOW_S), count)) == count
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    listed(root, stores, pattern="none")  # what is loaded once
    few, many = peak(2_000), min(peak(12_000) for _ in range(3))  # answers on their way count, as many as there are
    assert many - few < 10_000 * 50


def test_a_reading_that_breaks_goes_on(landing: tuple[str, Stores, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's process for this connection is killed between two pages: each file is still listed once."""
    root, stores, folder = landing
    server = server_of(root)
    for number in range(50):
        (folder / f"{number}.csv").touch()
    page, left = SftpPages.page, [3]

    def killed_before_the_fourth(self: SftpPages, folder: str, cursor: str | None, *, flat: bool) -> object:
        left[0] -= 1
        if left[0] == -1:
            for process in server.children(recursive=True):
                process.kill()
        return page(self, folder, cursor, flat=flat)

    monkeypatch.setattr(SftpPages, "size", 7)
    monkeypatch.setattr(SftpPages, "page", killed_before_the_fourth)
    assert sorted(listed(root, stores)) == sorted(f"{number}.csv" for number in range(50))
    assert left[0] < -5


@pytest.mark.parametrize("work", ["read", "list"])
def test_a_server_that_stalls_is_given_up(
    landing: tuple[str, Stores, Path], monkeypatch: pytest.MonkeyPatch, work: str
) -> None:
    """The server's process for this connection answers no more: another connection serves the rest."""
    root, stores, folder = landing
    data = os.urandom(20 * 2**20)
    (folder / "x.csv").write_bytes(data)
    monkeypatch.setitem(_ALIVE, "keepalive_interval", 0.3)
    monkeypatch.setattr("random.uniform", lambda *_: 0.0)
    with open_version(stores, stores.stat(f"{root}/x.csv"), Bounds()) as file:
        found = file.read(10)
        stalled = server_of(root).children(recursive=True)
        for process in stalled:
            process.suspend()
        try:
            if work == "list":
                assert listed(root, stores) == ["x.csv"]
            while piece := file.read(2**20):
                found += piece
        finally:
            for process in stalled:
                process.resume()

    assert found == data


def test_names_that_are_no_text(landing: tuple[str, Stores, Path]) -> None:
    """One is refused by name; where a pattern excludes it, the others are listed."""
    root, stores, folder = landing
    (folder / "a.csv").touch()
    (Path(os.fsdecode(os.fsencode(folder) + b"/b\xff.csv"))).touch()
    with pytest.raises(SourceError, match=r"b\\udcff.csv: this name is not UTF-8"):
        listed(root, stores)
    for options in ({"pattern": "a*"}, {"exclude": r"re:.*[\udc80-\udcff].*"}):
        assert listed(root, stores, **options) == ["a.csv"]


def test_links(landing: tuple[str, Stores, Path]) -> None:
    """One to a file is that file, unless it is listed by itself; one to nothing is none, one to a folder is refused.

    Those that lead out of the root are left out and counted, from a listing and from a list.
    """
    root, stores, folder = landing
    (folder / "real").mkdir()
    (folder / "real/a.csv").touch()
    (folder / "to-a.csv").symlink_to(folder / "real/a.csv")
    (folder / "broken.csv").symlink_to(folder / "none")
    (folder / "deep.csv").symlink_to(folder / "none/none.csv")
    (folder / "round.csv").symlink_to("round.csv")
    (folder / "_kept.csv").touch()
    (folder / "to-kept.csv").symlink_to("_kept.csv")
    assert sorted(listed(root, stores)) == ["real/a.csv", "to-kept.csv"]
    assert sorted(listed(root, stores, pattern="to-*")) == ["to-a.csv", "to-kept.csv"]

    (folder.parent / f"{folder.name}-out").mkdir()
    (folder.parent / f"{folder.name}-out/secret.csv").touch()
    (folder / "out.csv").symlink_to(f"../{folder.name}-out/secret.csv")
    (folder / "out").symlink_to(folder.parent / f"{folder.name}-out")
    held = HeldBack()
    found = list(list_files(stores, FileSource(root), now_s=NOW_S, held=held))
    assert sorted(version.path.removeprefix(f"{root}/") for version in found) == ["real/a.csv", "to-kept.csv"]
    assert held.counts == {"linked_out": 2}
    names = ["to-a.csv", "out.csv", "out/secret.csv"]
    found = list(named_files(stores, FileSource(root), [f"{root}/{name}" for name in names], held := HeldBack()))
    assert [version.path for version in found] == [f"{root}/to-a.csv"]
    assert held.counts == {"linked_out": 2}
    (folder / "out").unlink()
    assert sorted(listed(root, stores, follow_links="anywhere")) == ["out.csv", "real/a.csv", "to-kept.csv"]
    assert sorted(listed(root, stores)) == ["real/a.csv", "to-kept.csv"]
    (folder / "out.csv").unlink()

    (folder / "link").symlink_to(folder / "real")
    for options in ({}, {"pattern": "*.csv"}):
        with pytest.raises(SourceError, match=f"{root}/link is a link to a folder, which is not followed over SFTP"):
            listed(root, stores, **options)
    assert sorted(listed(root, stores, exclude="link/**")) == ["real/a.csv", "to-kept.csv"]


def test_links_beside_other_roots(landing: tuple[str, Stores, Path]) -> None:
    """A root that does not exist yet holds nothing; one that is a file is listed as itself, not by a link, too."""
    root, stores, folder = landing
    (folder / "in").mkdir()
    (folder / "in/a.csv").touch()
    (folder / "one.csv").touch()
    (folder / "in/to-a.csv").symlink_to("a.csv")
    (folder / "in/to-one.csv").symlink_to(folder / "one.csv")
    source = FileSource([f"{root}/{name}" for name in ("in", "one.csv", "none/yet")])
    absent: list[FileMissingError] = []
    found = [version.path for version in list_files(stores, source, now_s=NOW_S, absent=absent.append)]
    assert found == [f"{root}/in/a.csv", f"{root}/one.csv"]
    assert len(absent) == 1


def test_a_folder_that_comes_in_another_order_after_a_break() -> None:
    """A name is not yielded again, wherever it occurs."""
    server, reading = Reordering([b"%d.csv" % number for number in range(40)]), _Reading("/in")

    async def read() -> list[str]:
        given: list[str] = []
        for number in range(9):
            if number == 3:
                server.breaks = True
                with pytest.raises(ConnectionError):
                    await reading.some(server, 5)  # type: ignore[arg-type]
            given += [name for name, _ in await reading.some(server, 5)]  # type: ignore[arg-type]
        return given

    assert sorted(asyncio.run(read())) == sorted(name.decode() for name in server.names)


class Reordering:
    """A server's folder, which it lists in reverse once the connection is lost, with new files first."""

    def __init__(self, names: list[bytes]) -> None:
        self.names, self.breaks, self._pool = names, False, self

    @asynccontextmanager
    async def get(self) -> AsyncIterator[Reordering]:
        """Give the channel."""
        yield self

    async def scandir(self, _: bytes) -> AsyncIterator[SFTPName]:
        """Yield the names."""
        for name in list(self.names):
            if self.breaks:
                self.breaks, self.names = False, [b"new.csv", *reversed(self.names)]
                raise ConnectionError
            yield SFTPName(name, attrs=SFTPAttrs(permissions=0o100644, size=1))


def test_files_are_moved_where_a_server_cannot_rename_over_others(tmp_path: Path) -> None:
    """It supports only the standard, and no shell: nothing is lost, and versions stay the same."""
    with plain_server() as port:
        root = f"sftp://tests@127.0.0.1:{port}{tmp_path}"
        stores = Stores({root: {"host": "127.0.0.1", "port": port, "username": "tests"}})
        for name in ("a", "b", "c"):
            (tmp_path / name).write_text(name * (2 if name == "c" else 1))
            os.utime(tmp_path / name, (1e9, 1e9))
        a, b = stores.stat(f"{root}/a"), stores.stat(f"{root}/b")
        stores.place(a.path, f"{root}/kept")
        stores.move(b.path, f"{root}/c", size=1)
        assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {"kept": "a", "c": "b"}
        assert stores.stat(f"{root}/kept").mtime_ns == a.mtime_ns

        c = stores.stat(f"{root}/c")
        (tmp_path / "c").write_text("another")
        os.utime(tmp_path / "c", (2e9, 2e9))
        other = stores.stat(f"{root}/c")
        assert stores.delete_version(c) is False
        assert stores.stat(f"{root}/c") == other
        assert stores.delete_version(other) is True
        assert [file.name for file in tmp_path.iterdir()] == ["kept"]


@contextmanager
def plain_server() -> Iterator[int]:
    """Give the port of a server of this host's files without extensions and without a shell."""
    command = [sys.executable, "-m", "tests.servers.plain_sftp"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline())
        finally:
            server.kill()


def test_a_file_is_placed_over_no_other(tmp_path: Path, landing: tuple[str, Stores, Path]) -> None:
    """On servers with and without extensions: the existing file stays, and so does the one to be moved."""
    with plain_server() as port:
        plain = f"sftp://tests@127.0.0.1:{port}{tmp_path}"
        of_plain = Stores({plain: {"host": "127.0.0.1", "port": port, "username": "tests"}})
        for root, stores, folder in (landing, (plain, of_plain, tmp_path)):
            for name in ("a", "b"):
                (folder / name).write_text(name)
            with pytest.raises(SourceError, match="/b: a file of this name is there and is not overwritten"):
                stores.place(f"{root}/a", f"{root}/b")
            assert {file.name: file.read_text() for file in folder.iterdir()} == {"a": "a", "b": "b"}
