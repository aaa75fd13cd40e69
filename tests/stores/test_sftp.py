"""Listings over SSH: some thousand entries at a time, through broken connections, odd names and links."""

from __future__ import annotations

import os
import tracemalloc
from itertools import islice
from pathlib import Path

import psutil
import pytest

from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing import list_files
from airflow_provider_blockread.storage.pages import SftpPages
from tests.stores.store import Store

NOW_S = 4e9


@pytest.fixture
def landing(sftp: Store) -> tuple[str, Stores, Path]:
    """A folder of the server: its URI, what opens it, and where it is on disk."""
    root = sftp.new_root()
    return root, sftp.stores(root), Path("/" + root.partition("://")[2].partition("/")[2])


def listed(root: str, stores: Stores, **options: object) -> list[str]:
    """Return the names that a listing yields."""
    source = FileSource(root, **options)  # type: ignore[arg-type]
    return [version.path.removeprefix(f"{root}/") for version in list_files(stores, source, now_s=NOW_S)]


def test_a_folder_is_listed_while_it_is_read(landing: tuple[str, Stores, Path]) -> None:
    """The first files come before the last are asked for; of what was given, some bytes of each name are held."""
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
    few, many = peak(2_000), peak(12_000)
    assert many - few < 10_000 * 50


def test_a_reading_that_breaks_goes_on(landing: tuple[str, Stores, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's process for this connection is killed between two pages: each file still comes once."""
    root, stores, folder = landing
    port = int(root.partition("127.0.0.1:")[2].partition("/")[0])
    (server,) = (
        psutil.Process(one.pid)
        for one in psutil.net_connections("tcp4")
        if one.laddr.port == port and one.status == psutil.CONN_LISTEN
    )
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


def test_names_that_are_no_text(landing: tuple[str, Stores, Path]) -> None:
    """One is refused by name; it hides no other where a pattern leaves it out."""
    root, stores, folder = landing
    (folder / "a.csv").touch()
    (Path(os.fsdecode(os.fsencode(folder) + b"/b\xff.csv"))).touch()
    with pytest.raises(SourceError, match=r"b\\udcff.csv: this name is not UTF-8"):
        listed(root, stores)
    for options in ({"pattern": "a*"}, {"exclude": r"re:.*[\udc80-\udcff].*"}):
        assert listed(root, stores, **options) == ["a.csv"]


def test_links(landing: tuple[str, Stores, Path]) -> None:
    """One to a file is that file, one to nothing is none, one to a folder is refused rather than its files missed."""
    root, stores, folder = landing
    (folder / "real").mkdir()
    (folder / "real/a.csv").touch()
    (folder / "to-a.csv").symlink_to(folder / "real/a.csv")
    (folder / "broken.csv").symlink_to(folder / "none")
    assert sorted(listed(root, stores)) == ["real/a.csv", "to-a.csv"]

    (folder / "link").symlink_to(folder / "real")
    for options in ({}, {"pattern": "*.csv"}):
        with pytest.raises(SourceError, match=f"{root}/link is a link to a folder, which is not followed over SFTP"):
            listed(root, stores, **options)
    assert sorted(listed(root, stores, exclude="link/**")) == ["real/a.csv", "to-a.csv"]
