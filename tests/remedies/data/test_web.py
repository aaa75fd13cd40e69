"""Files on web servers that cannot be listed or read there: what the message says is done, and they are."""

from __future__ import annotations

import ast
import re
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import OptionsError, SourceError, TransientError
from airflow_provider_blockread.options import Bounds, FileSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.versions import open_version
from tests.remedies.data.desk import Desk
from tests.servers.web_folder import Folder, serving

INDEX = "text/html"


class Pages(BaseHTTPRequestHandler):
    """Answers with the pages that it has: path, and type and text."""

    pages: dict[str, tuple[str, str]]
    sized = True

    def do_GET(self) -> None:
        """Answer, whatever ranges are asked for."""
        kind, text = self.pages.get(self.path, ("", ""))
        self.send_response(200 if kind else 404)
        self.send_header("Content-Type", kind or "text/plain")
        if self.sized:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(text.encode())

    def do_HEAD(self) -> None:
        """Answer without what the answer holds."""
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def server(**pages: tuple[str, str]) -> Iterator[tuple[str, dict[str, tuple[str, str]]]]:
    """Give the address of a server of some pages, and the pages, to be changed."""
    made = {f"/{path}": page for path, page in pages.items()}
    for address in serving(type("Such", (Pages,), {"pages": made})):
        yield address, made


def listed(source: FileSource) -> list[str]:
    """Return the paths of a listing."""
    return [version.path for version in list_files(Stores(), source, now_s=4e9)]


def links(*names: str) -> tuple[str, str]:
    """Return an index."""
    return INDEX, "".join(f'<a href="{name}">{name}</a>' for name in names)


def test_folders_that_go_on_and_on_end_by_a_depth_or_a_pattern() -> None:
    """Both remedies of links that lead in circles."""
    pages = {"in/" + "b/" * n: links("a.csv", "b/") for n in range(70)}
    pages |= {f"in/{'b/' * n}a.csv": ("text/csv", "1\n") for n in range(70)}
    with server(**pages) as (address, _):
        with pytest.raises(SourceError, match="set max_depth, or exclude what leads in circles"):
            listed(FileSource(f"{address}/in/"))

        assert len(listed(FileSource(f"{address}/in/", max_depth=2))) == 2
        assert listed(FileSource(f"{address}/in/", exclude="b/")) == [f"{address}/in/a.csv"]


def test_a_folder_without_an_index_is_listed_once_there_is_one_or_by_its_files() -> None:
    """Both remedies of a server that does not list a folder."""
    with server(**{"in/": (INDEX, "Welcome!"), "in/a.csv": ("text/csv", "1\n")}) as (address, pages):
        with pytest.raises(SourceError, match="let it give an index, or name each file as a root"):
            listed(FileSource(f"{address}/in/"))

        assert listed(FileSource(f"{address}/in/a.csv")) == [f"{address}/in/a.csv"]
        pages["/in/"] = links("a.csv")
        assert listed(FileSource(f"{address}/in/")) == [f"{address}/in/a.csv"]


def test_an_index_in_pages_is_read_once_it_is_one_page() -> None:
    """Or when its files are named as roots."""
    kind, text = links("a.csv")
    pages = {"in/": (kind, text + '<a rel="next" href="?page=2">more</a>'), "in/a.csv": ("text/csv", "1\n")}
    with server(**pages) as (address, pages):
        with pytest.raises(SourceError, match="let the server give it in one page, or name each file as a root"):
            listed(FileSource(f"{address}/in/"))

        assert listed(FileSource(f"{address}/in/a.csv")) == [f"{address}/in/a.csv"]
        pages["/in/"] = kind, text
        assert listed(FileSource(f"{address}/in/")) == [f"{address}/in/a.csv"]


def test_a_folder_that_is_named_like_a_file_is_excluded_and_may_be_a_root_of_its_own(tmp_path: Path) -> None:
    """By the very patterns and root that the message names, where an index leaves out the slash behind a folder."""
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "a.csv").write_text("1\n")
    (tmp_path / "in" / "sub" / "b.csv").write_text("2\n")
    (tmp_path / "in" / "index.html").write_text(links("a.csv", "sub")[1])
    for address in serving(type("Here", (Folder,), {"served": str(tmp_path)})):
        root = f"{address}/in/"
        with pytest.raises(SourceError) as raised:
            listed(FileSource(root))
        found = re.search(r"leave it out by exclude=(\[.*\]), and name (\S+) as a root", str(raised.value))
        exclude, sub = (ast.literal_eval(found[1]), found[2]) if found else ([], "")
        left = listed(FileSource(root, exclude=exclude)), listed(FileSource([root, sub], exclude=exclude))

    assert left == ([f"{root}a.csv"], [f"{root}a.csv", f"{root}sub/b.csv"])


def test_an_age_that_cannot_be_told_is_left_out_and_a_marker_says_when() -> None:
    """As the message says where the server reports no time."""
    with server(**{"in/": links("a.csv"), "in/a.csv": ("text/csv", "1\n")}) as (address, pages):
        with pytest.raises(SourceError, match="leave it out, and use a done_marker for files that are complete"):
            listed(FileSource(f"{address}/in/", min_age=60))
        marked = FileSource(f"{address}/in/", done_marker="{name}.done")

        assert listed(marked) == []
        pages |= {"/in/": links("a.csv", "a.csv.done"), "/in/a.csv.done": ("text/plain", "")}
        assert listed(marked) == [f"{address}/in/a.csv"]


def copied(desk: Desk, url: str) -> list[dict[str, object]]:
    """Copy a file to a store that can what the message asks for, and read it there."""
    with urllib.request.urlopen(url) as answer:
        desk.put({"a.csv": answer.read()})
    return desk.runs()


def test_a_file_of_unknown_size_is_read_from_a_store_that_tells_it(desk: Desk) -> None:
    """Copied, as the message says."""
    unsized = type("Unsized", (Pages,), {"pages": {"/a.csv": ("text/csv", "1\n")}, "sized": False})
    for address in serving(unsized):
        with pytest.raises(SourceError, match=r"does not report the file's size.*; copy it to a store that does"):
            listed(FileSource(f"{address}/a.csv"))

        assert copied(desk, f"{address}/a.csv") == [{"value": "1"}]


def test_a_file_without_ranges_is_read_from_a_store_that_gives_them(desk: Desk) -> None:
    """Copied, as the message says."""
    with server(**{"a.csv": ("text/csv", "1\n" * 10**7)}) as (address, _):
        stores = Stores()
        version = stores.stat(f"{address}/a.csv")
        with open_version(stores, version, Bounds()) as file:
            file.seek(1000)
            with pytest.raises(SourceError, match=r"; copy the file to a store that (does|gives)"):
                file.read(10)

        assert len(copied(desk, f"{address}/a.csv")) == 10**7


def test_a_place_without_a_secret_is_opened_by_a_header_of_its_connection() -> None:
    """The address in the source, the token in the connection."""

    class Private(Pages):
        """Answers those who send the token."""

        def do_GET(self) -> None:
            """Answer, or find nothing."""
            self.pages = {"/a.csv": ("text/csv", "1\n")} if self.headers.get("X-Token") == "hush" else {}
            super().do_GET()

    for address in serving(Private):
        with pytest.raises(OptionsError, match=r"as token=, .* send the secret as a header of a connection"):
            Stores().stat(f"{address}/a.csv?token=hush")

        assert Stores({address: {"headers": {"X-Token": "hush"}}}).stat(f"{address}/a.csv").size == 2


def test_a_server_that_fails_is_tried_again() -> None:
    """By the same call, once the server is back."""
    with server(**{"a.csv": ("text/csv", "1\n")}) as (address, pages):
        version = Stores().stat(f"{address}/a.csv")
    with pytest.raises(TransientError, match=r"the store failed .*; try again when it is back"):
        Stores().stat(version.path)
    port = int(address.rpartition(":")[2])
    with again(port, pages):
        assert Stores().stat(version.path) == version


@contextmanager
def again(port: int, pages: dict[str, tuple[str, str]]) -> Iterator[None]:
    """Serve pages at a port."""
    with ThreadingHTTPServer(("127.0.0.1", port), type("Such", (Pages,), {"pages": pages})) as found:
        thread = threading.Thread(target=found.serve_forever, args=(0.05,))
        thread.start()
        yield
        found.shutdown()
        thread.join()


def test_a_redirect_is_followed_to_the_host_that_the_message_names(desk: Desk) -> None:
    """By the command line's own option."""
    with server(**{"a.csv": ("text/csv", "1\n")}) as (other, _):
        there = f"http://localhost:{other.rpartition(':')[2]}/a.csv"

        class Elsewhere(Pages):
            def do_GET(self) -> None:
                """Send to the other host."""
                self.send_response(302)
                self.send_header("Location", there)
                self.send_header("Content-Length", "0")
                self.end_headers()

        with closing(serving(Elsewhere)) as addresses:
            source = f"{next(addresses)}/a.csv"
            message = desk.says("plan", source)
            found = re.search(r"\((--redirect-host) (\S+)\)", message)
            assert found
            assert "redirect_hosts=['localhost']" in message
            assert desk.json("plan", source, *found.groups())["files"] == 1
            next(addresses, None)
