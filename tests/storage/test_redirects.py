"""Redirects: allowed hosts, the headers sent to them, and the limit of a chain."""

from __future__ import annotations

import datetime as dt
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from airflow_provider_blockread.errors import FileMissingError, OptionsError, SourceError
from airflow_provider_blockread.options import Bounds, FileList, FileSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.listing.roots import bounds_of
from airflow_provider_blockread.storage.listing.upstream import named_files, read_list
from airflow_provider_blockread.storage.versions import open_version
from tests.servers.redirecting import Handler, Server, serving

NOW_S = 4e9  # in these tests 127.0.0.1 and localhost are two hosts


@pytest.fixture
def one() -> Iterator[Server]:
    """The server of the source."""
    with serving() as server:
        yield server


@pytest.fixture
def other() -> Iterator[Server]:
    """Another server."""
    with serving() as server:
        server.files = {"/a.csv": b"secret\n", "/in/": b'<a href="a.csv">', "/in/a.csv": b"secret\n"}
        yield server


def read(stores: Stores, source: FileSource, path: str) -> bytes:
    """Return a file's content as a plan and a task read it."""
    bounds = bounds_of(source)
    (version,) = named_files(stores.within(bounds), source, [path])
    with open_version(stores, version, bounds) as file:
        return file.read()


def secret_of(server: Server, secret: str) -> bool:
    """Return whether a server received a secret in any request."""
    return any(secret in text for _, _, headers in server.asked for text in headers.values())


CONNECTION = {
    "headers": {"X-Api-Key": "hush", "Cookie": "id=hush", "User-Agent": "hush"},
    "client_kwargs": {"headers": {"X-More": "hush"}},
}


def test_a_redirect_to_another_host_is_refused_and_names_the_option(one: Server, other: Server) -> None:
    """For any request: a stat, a read, an index, a list, a marker. The other host gets no request."""
    far = other.url("", host="localhost")
    one.moved = {"/a.csv": f"{far}/a.csv", "/in/": f"{far}/in/", "/b.csv.done": f"{far}/a.csv"}
    one.files = {"/b.csv": b"b\n"}
    stores = Stores({one.url(): CONNECTION})
    calls: dict[str, Any] = {
        "/a.csv": lambda: stores.stat(one.url("/a.csv")),
        "/a.csv ": lambda: stores.open_read(one.url("/a.csv")),
        "/a.csv  ": lambda: stores.read_bytes(one.url("/a.csv")),
        "/a.csv   ": lambda: list(read_list(stores, FileList(one.url("/a.csv")))),
        "/in/": lambda: list(list_files(stores, FileSource(one.url("/in/")), now_s=NOW_S)),
        "/b.csv.done": lambda: list(
            list_files(stores, FileSource(one.url("/b.csv"), done_marker="{name}.done"), now_s=NOW_S)
        ),
    }
    for path, call in calls.items():
        with pytest.raises(SourceError) as caught:
            call()
        message = str(caught.value)
        assert not isinstance(caught.value, FileMissingError)
        assert f"{one.url(path.strip())}: the server redirects to another host, localhost" in message
        assert "redirect_hosts=['localhost']" in message
        assert "--redirect-host localhost" in message
    assert not other.asked


def test_an_option_names_further_hosts_which_get_no_headers(one: Server, other: Server) -> None:
    """The error's remedy works for all requests; the connection's headers are not sent to other hosts."""
    far = other.url("", host="localhost")
    one.moved = {"/a.csv": f"{far}/a.csv", "/in/": f"{far}/in/", "/in/a.csv": f"{far}/in/a.csv"}
    stores = Stores({one.url(): CONNECTION})
    source = FileSource(one.url(), redirect_hosts=["localhost"])
    assert read(stores, source, one.url("/a.csv")) == b"secret\n"
    source = FileSource(one.url("/in/"), redirect_hosts=["[::1]", "LOCALHOST"])
    assert [version.size for version in list_files(stores, source, now_s=NOW_S)] == [7]
    bounded = stores.within(Bounds(redirect_hosts=["localhost"]))
    assert list(read_list(bounded, FileList(one.url("/a.csv")))) == ["secret"]

    assert other.paths() == {"/a.csv", "/in/", "/in/a.csv"}
    assert any("range" in headers for _, _, headers in other.asked)
    assert not secret_of(other, "hush")
    assert not any("hush" not in str(headers) for _, _, headers in one.asked)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_credentials_stay_with_their_origin(one: Server, other: Server, host: str) -> None:
    """Another port of the same host is another origin: redirects to it are followed without credentials."""
    options = {"headers": {"Authorization": "hush"}, "client_kwargs": {"cookies": {"id": "hush"}}}
    one.moved = {"/a.csv": other.url("/a.csv", host=host)}
    source = FileSource(one.url(), redirect_hosts=["localhost"])
    assert read(Stores({one.url(): options}), source, one.url("/a.csv")) == b"secret\n"
    assert one.asked[0][2]["authorization"]
    assert one.asked[0][2]["cookie"]
    assert not any({"authorization", "cookie"} & headers.keys() for _, _, headers in other.asked)


def test_the_same_host_is_followed_with_its_headers(one: Server) -> None:
    """To another path, written in any way, there and back through another host that is named."""
    one.files = {"/in/new.csv": b"new\n"}
    one.moved = {"/a.csv": "/in/new.csv", "/b.csv": one.url("/a.csv"), "/c.csv": "in/new.csv"}
    stores = Stores({one.url(): CONNECTION})
    for path in ("/a.csv", "/b.csv", "/c.csv"):
        assert read(stores, FileSource(one.url()), one.url(path)) == b"new\n"
    assert all(headers["x-api-key"] == "hush" for _, _, headers in one.asked)


def test_a_chain_without_an_end_is_an_error(one: Server, other: Server) -> None:
    """A circular one and a long one, also through other hosts; and a redirect to another scheme."""
    one.moved = {"/a.csv": other.url("/a.csv", host="localhost"), "/file.csv": "file:///etc/passwd"}
    other.moved = {"/a.csv": one.url("/a.csv")}
    one.moved |= {f"/{number}.csv": f"/{number + 1}.csv" for number in range(40)}
    stores = Stores().within(Bounds(redirect_hosts=["localhost"]))
    for path in ("/a.csv", "/0.csv", "/file.csv"):
        with pytest.raises(SourceError, match="Redirect"):
            stores.stat(one.url(path))


@pytest.fixture
def certificate(tmp_path: Path) -> ssl.SSLContext:
    """The TLS context of a server with a self-signed certificate."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, start, start.replace(year=2126))
    (tmp_path / "both.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "both.pem")
    return context


def test_an_upgrade_is_followed_and_a_downgrade_never_is(one: Server, certificate: ssl.SSLContext) -> None:
    """From http to https on the same host without the headers, as the origin differs; never back to http."""
    with serving(certificate) as safe:
        safe.files = {"/a.csv": b"a\n", "/c.csv": b"c\n"}
        safe.moved = {"/b.csv": one.url("/c.csv")}
        one.files = {"/c.csv": b"c\n"}
        one.moved = {"/a.csv": safe.url("/a.csv", scheme="https"), "/b.csv": safe.url("/b.csv", scheme="https")}
        stores = Stores({one.url(): CONNECTION | {"ssl": False}, safe.url(scheme="https"): {"ssl": False}})
        assert read(stores, FileSource(one.url()), one.url("/a.csv")) == b"a\n"
        assert not secret_of(safe, "hush")
        for url in (safe.url("/b.csv", scheme="https"), one.url("/b.csv")):
            with pytest.raises(
                SourceError, match=r"redirects from https to http \(127.0.0.1\), which is never followed"
            ):
                stores.stat(url)
        assert "/c.csv" not in one.paths()


@pytest.mark.parametrize("hosts", ["localhost", ["http://localhost"], ["localhost:80"], ["a/b"], [""]])
def test_what_is_no_host_is_refused(hosts: Any) -> None:
    """Before any request."""
    with pytest.raises(OptionsError, match="redirect_hosts"):
        FileSource("http://x/in", redirect_hosts=hosts)
    assert FileSource("http://x/in", redirect_hosts=["::1", "{{ var.value.host }}", "a.b"]).redirect_hosts


class _NameNode(Handler):
    def do_GET(self) -> None:  # noqa: N802 - named by the base class
        """Answer the status of a file, and redirect reads to a data node."""
        if "op=OPEN" in self.path:
            self.shown.moved[self.path] = self.shown.moved["open"]
        status = {"type": "FILE", "length": 7, "modificationTime": 1, "blockSize": 1}
        self.shown.files[self.path] = json.dumps({"FileStatus": status}).encode()
        super().do_GET()


def test_a_data_node_gets_no_credentials_of_the_name_node(one: Server, other: Server) -> None:
    """It may have any address, as in the protocol, and gets only what the name node puts into the URL."""
    with serving(handler=_NameNode) as node:
        url = f"webhdfs://127.0.0.1:{node.port}"
        stores = Stores({url: {"user": "me", "password": "hush"}})
        for server in (other, one):
            server.files["/a.csv?token=1"] = b"secret\n"
            node.moved["open"] = server.url("/a.csv?token=1", host="localhost")
            assert read(stores, FileSource(url), f"{url}/in/a.csv") == b"secret\n"
            assert [method for method, _, headers in server.asked if "authorization" not in headers] == ["GET"]
        assert all("authorization" in headers for _, _, headers in node.asked)


@pytest.mark.parametrize("path", ["/in/%2e%2e/a.csv", "/in/x/../%2E./a.csv", "/in/.%2e", "//127.0.0.1/in/../a.csv"])
def test_a_path_from_upstream_does_not_climb_out_of_its_root(one: Server, path: str) -> None:
    """Although it starts with the root: clients resolve percent-encoded characters."""
    one.files = {"/a.csv": b"secret\n"}
    with pytest.raises(SourceError, match="is in none of the source's roots"):
        list(named_files(Stores(), FileSource(one.url("/in")), [one.url(path)]))
    assert not one.asked


@pytest.mark.parametrize(
    "uri", ["http://127.0.0.1@elsewhere/in/a", "http://127.0.0.1.elsewhere/in/a", "http://elsewhere/"]
)
def test_a_path_from_upstream_names_no_other_host(uri: str) -> None:
    """Whatever its form."""
    for root in ("http://127.0.0.1", "http://127.0.0.1/in"):
        with pytest.raises((SourceError, OptionsError), match=r"is in none of the source's roots|contains a password"):
            list(named_files(Stores(), FileSource(root), [uri]))
