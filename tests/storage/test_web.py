"""Files on web servers: a folder is its index, and a version comes from a file's headers."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import FileChangedError, FileMissingError, SourceError, TransientError
from airflow_provider_blockread.options import Bounds, FileSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.versions import open_version
from tests.servers.web_folder import Folder, serving

NOW_S = 4e9


class Answer(BaseHTTPRequestHandler):
    """Answers every request alike."""

    status, kind, text, sized = 200, "text/html; charset=utf-8", "", True

    def do_GET(self) -> None:
        """Answer."""
        self.send_response(self.status)
        self.send_header("Content-Type", self.kind)
        if self.sized:
            self.send_header("Content-Length", str(len(self.text.encode())))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(self.text.encode())

    def do_HEAD(self) -> None:
        """Answer without the body."""
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """Provide the address of a server of the folder."""
    yield from serving(type("Here", (Folder,), {"served": str(tmp_path)}))


def answering(**answer: object) -> Iterator[str]:
    """Provide the address of a server with these answers."""
    return serving(type("Such", (Answer,), answer))


def listed(source: FileSource) -> list[str]:
    """Return the paths of a listing."""
    return [version.path for version in list_files(Stores(), source, now_s=NOW_S)]


def test_a_folder_of_a_web_server_is_what_its_index_names(tmp_path: Path, web: str) -> None:
    """With or without a trailing slash, folder by folder; the index itself is never a file."""
    for name in ("in/b.csv", "in/a b.csv", "in/http.csv", "in/sub/c.csv", "in/old/d.csv", "in/50%#?.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "in" / "empty").mkdir()
    names = ["50%25%23%3F.csv", "a%20b.csv", "b.csv", "http.csv", "sub/c.csv"]
    for root in (f"{web}/in", f"{web}/in/"):
        found = list(list_files(Stores(), FileSource(root, exclude="old/"), now_s=NOW_S))

        assert [version.path for version in found] == [f"{web}/in/{name}" for name in names]
        assert found == [Stores().stat(version.path) for version in found]
    assert listed(FileSource(f"{web}/in/b.csv")) == [f"{web}/in/b.csv"]
    assert len(listed(FileSource(web))) == 6
    with pytest.raises(SourceError, match="is a folder"):
        Stores().stat(f"{web}/in")


INDEX = """<title>Index of /in/</title><a href="?C=N;O=D">Name</a><a href="../">up</a><a href="/in/">here</a>
<a href="a.csv?download=1">a</a>
<a href="./a.csv">a</a><a href='/in/b.csv?raw=1&amp;x=2'>b</a><a href="c.csv#top">c</a><a href="a.csv">a</a>
<a href="mailto:x@y">mail</a><a href="https://elsewhere/in/d.csv">d</a><a href="/in/sub/">sub</a><a name="e.csv">e</a>
<a href="sub/f.csv">f</a> http://127.0.0.1/in/g.csv <a href="http://[">broken</a>"""


def test_links_that_lead_elsewhere_are_no_files() -> None:
    """Sort links of an index, parent folders and other servers are ignored; deeper files belong to their folders."""
    for address in answering(text=INDEX):
        found = listed(FileSource(f"{address}/in/", exclude="sub/"))

        assert found == [f"{address}/in/{name}" for name in ("a.csv", "b.csv?raw=1&x=2", "c.csv")]


@pytest.mark.parametrize("answer", [{"text": "Welcome!"}, {"kind": "application/json", "text": '["a.csv"]'}])
def test_a_folder_that_cannot_be_listed_is_an_error(answer: dict[str, object]) -> None:
    """A page that is not an index is neither an empty folder nor data."""
    for address in answering(**answer):
        with pytest.raises(SourceError, match="lists no files of this folder"):
            listed(FileSource(f"{address}/in/"))


def test_an_index_without_a_slash_is_a_folder_and_a_page_of_that_name_a_file() -> None:
    """Where a server sends its index without a redirect and without a size."""
    for address in answering(text='<a href="/in/a.csv"></a>', sized=False):
        with pytest.raises(SourceError, match=r"in/a\.csv: the store does not report the file's size"):
            listed(FileSource(f"{address}/in"))
    for address in answering(text='<a href="in/a.csv"></a>'):
        assert listed(FileSource(f"{address}/in.html")) == [f"{address}/in.html"]


def test_folders_that_go_on_and_on_are_an_error() -> None:
    """Such as those of a server that answers every request with one page."""
    for address in answering(text='<a href="in/"></a>'):
        with pytest.raises(SourceError, match="never end"):
            listed(FileSource(f"{address}/in"))


@pytest.mark.parametrize(
    ("status", "kind"), [(404, FileMissingError), (403, SourceError), (500, TransientError), (503, TransientError)]
)
def test_a_failure_of_a_server_is_no_absence(status: int, kind: type[Exception]) -> None:
    """A file is missing only if the server says so."""
    for address in answering(status=status):
        for call in (Stores().stat, Stores().open_read):
            with pytest.raises(kind) as caught:
                call(f"{address}/a.csv")

            assert isinstance(caught.value, FileMissingError) == (status == 404)


def test_a_server_that_is_down_may_be_back_later() -> None:
    """There is no answer at the address."""
    (address,) = answering()
    with pytest.raises(TransientError, match="try again"):
        Stores().stat(f"{address}/a.csv")


def test_a_file_that_changed_is_another_version(tmp_path: Path, web: str) -> None:
    """The server's time distinguishes two files of one size, before and after a read."""
    file = tmp_path / "a.csv"
    versions = []
    for text, time in (("one\n", 1e9), ("ONE\n", 1.1e9)):
        file.write_text(text)
        os.utime(file, (time, time))
        versions.append(Stores().stat(f"{web}/a.csv"))

    def change_in_mid_read() -> None:
        with open_version(Stores(), versions[1], Bounds()) as source:
            source.read(1)
            os.utime(file, (1.2e9, 1.2e9))

    assert [version.mtime_ns for version in versions] == [10**18, 11 * 10**17]
    with pytest.raises(FileChangedError), open_version(Stores(), versions[0], Bounds()) as source:
        source.read(1)
    with pytest.raises(FileChangedError):
        change_in_mid_read()


def test_an_age_is_refused_where_no_time_is_told() -> None:
    """A file that may still be written is not an old one."""
    for address in answering(kind="text/csv", text="one\n"):
        with pytest.raises(SourceError, match="min_age cannot apply"):
            listed(FileSource(f"{address}/a.csv", min_age=60))
        assert listed(FileSource(f"{address}/a.csv")) == [f"{address}/a.csv"]


def test_what_nobody_wants_is_not_looked_at() -> None:
    """An excluded link to something without a size, or to nothing, does not fail a listing."""
    for address in answering(text='<a href="/in/live.php"></a>', sized=False):
        for rules in ({"pattern": "*.csv"}, {"exclude": "*.php"}):
            assert listed(FileSource(f"{address}/in/", **rules)) == []  # type: ignore[arg-type]


def test_an_address_with_a_slash_may_be_a_file() -> None:
    """Such as that of a service that returns data."""
    for address in answering(kind="text/csv", text="one\n"):
        assert listed(FileSource(f"{address}/api/x/?format=csv")) == [f"{address}/api/x/?format=csv"]


class Compressing(BaseHTTPRequestHandler):
    """Compresses an answer if the client takes that, and then ignores ranges, as nginx does with `gzip on`."""

    data = b"".join(b"%09d\n" % number for number in range(10**6))  # more than is fetched at once

    def do_GET(self) -> None:
        """Answer with a range, or with the whole file compressed."""
        body, asked = self.data, self.headers.get("Range")
        zipped = "gzip" in self.headers.get("Accept-Encoding", "")
        if zipped:
            body = gzip.compress(body, 1)
        elif asked:
            first, last = map(int, asked.removeprefix("bytes=").split("-"))
            body = body[first : last + 1]
        self.send_response(206 if asked and not zipped else 200)
        if zipped:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def do_HEAD(self) -> None:
        """Answer without the body."""
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def test_a_server_that_compresses_answers_is_read_in_ranges() -> None:
    """Ranges are requested as they are stored."""
    for address in serving(Compressing):
        version = Stores().stat(f"{address}/a.csv")
        with open_version(Stores(), version, Bounds()) as source:
            source.seek(9 * 10**6)

            assert source.read(10) == b"000900000\n"


class Astray(Compressing):
    """Answers every request for a range with the first bytes of the file."""

    def do_GET(self) -> None:
        """Answer with as many bytes as requested."""
        first, last = map(int, self.headers.get("Range", f"bytes=0-{len(self.data) - 1}")[6:].split("-"))
        body = self.data[: last + 1 - first]
        self.send_response(206 if "Range" in self.headers else 200)
        self.send_header("Content-Range", f"bytes 0-{len(body) - 1}/{len(self.data)}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            with suppress(OSError):  # the client hangs up
                self.wfile.write(body)


def test_an_answer_with_another_range_is_an_error() -> None:
    """Although its length is the requested one."""
    for address in serving(Astray):
        version = Stores().stat(f"{address}/a.csv")
        with open_version(Stores(), version, Bounds()) as source:
            assert source.read(10) == b"000000000\n"
            source.seek(version.size - 10)
            with pytest.raises(SourceError, match=r"asked for bytes .*, the store answers with the range 0-\d"):
                source.read(10)


def test_a_link_with_a_secret_is_refused_and_not_repeated() -> None:
    """Unless a pattern leaves it out."""
    for address in answering(text='<title>Index of /in/</title><a href="/in/a.csv?token=hunter2">a</a>'):
        with pytest.raises(SourceError, match=r"a\.csv\?token=\.\.\.'.* rename or exclude it") as caught:
            listed(FileSource(f"{address}/in/"))
        assert "hunter2" not in f"{caught.value} {caught.value.__cause__}"
        assert listed(FileSource(f"{address}/in/", exclude="*token=*")) == []


def test_an_index_in_pages_is_an_error() -> None:
    """Its first page is not the whole index."""
    for address in answering(text='<a href="/in/a.csv">a</a><a rel="next" href="?page=2">more</a>'):
        with pytest.raises(SourceError, match="continues in other pages"):
            listed(FileSource(f"{address}/in/"))


def test_an_empty_index_is_no_data() -> None:
    """Although the server returns it for a path without a slash."""
    for address in answering(text='<title>Index of /in</title><a href="../">up</a>'):
        assert listed(FileSource(f"{address}/in")) == []


@pytest.mark.parametrize(
    "written", ["b c.txt", "b%20c.txt", "%62 c.txt", "sub dir", "sub%20dir/é.txt", "sub%20dir/%c3%A9.txt"]
)
def test_a_file_has_one_path_however_it_is_written(web: str, tmp_path: Path, written: str) -> None:
    """Beside the index that names it, a root of its own adds nothing."""
    (tmp_path / "sub dir").mkdir()
    for name in ("b c.txt", "sub dir/é.txt"):
        (tmp_path / name).write_text("x\n")
    found = listed(FileSource([web, f"{web}/{written}"]))

    assert found == [f"{web}/b%20c.txt", f"{web}/sub%20dir/%C3%A9.txt"]
    assert listed(FileSource([f"{web}/{written}"]))[0] in found
