"""Reads of planned files on real stores: the requested ranges of the planned version only."""

from __future__ import annotations

import os
import pathlib
import random
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import FileChangedError, FileMissingError
from airflow_provider_blockread.options import Bounds, FileSource
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.ranges import REQUESTS
from airflow_provider_blockread.storage.versions import open_version
from airflow_provider_blockread.storage.whole import read_whole
from tests.servers.all import s3_client
from tests.servers.proxies import Breaking, Slow, running
from tests.servers.store import Store

MIB = 2**20
SIZE = 9 * MIB + 77  # more than is fetched at once
AFTER = 8 * MIB + 5  # a byte that the first read does not fetch

NAMES = (
    "plain.txt",
    "a b.txt",
    "50%.txt",
    "50%25.txt",
    "a#b.txt",
    "a?b=c&d.txt",
    "a+b.txt",
    "x=1/ü ñ.txt",
    "a@b:c",
    "tab\there",
    "new\nline",
)
#: What a server or its client cannot name.
UNKNOWN = {"moto": NAMES[-1:], "azurite": NAMES[-2:]}


def content(seed: int, size: int = SIZE) -> bytes:
    """Return bytes that differ at every range from those of another seed."""
    return random.Random(seed).randbytes(size)


def put(store: Store, stores: Stores, uri: str, data: bytes) -> None:
    """Write a file, with an old time where times are whole seconds, so that another write changes it."""
    stores.write_bytes_atomic(uri, data)
    if store.name == "sftp":
        place = "/" + uri.partition("://")[2].partition("/")[2]
        os.utime(place, (time.time() - 100 - len(data) % 7,) * 2)


def test_any_range_of_any_name(store: Store) -> None:
    """Ranges are exact, in any order, also of names with URL characters; a listing agrees."""
    root = store.new_root()
    stores, ranges = store.stores(root), [(0, 1), (69_999, 70_000), (30_000, 65_536), (5, 5), (0, 70_000), (1, 17)]
    names = [name for name in NAMES if name not in UNKNOWN.get(store.name, ())]
    for number, name in enumerate(names):
        stores.write_bytes_atomic(f"{root}/in/{name}", content(number, 70_000))
    for number, name in enumerate(names):
        version, data = stores.stat(f"{root}/in/{name}"), content(number, 70_000)
        with open_version(stores, version, Bounds()) as file:
            source = ByteSource(file, size=version.size)
            assert [source.read(start, end) for start, end in ranges] == [data[start:end] for start, end in ranges]

    listed = {file.path for file in list_files(stores, FileSource(root), now_s=time.time())}
    assert listed == {f"{root}/in/{name}" for name in names}


def test_a_file_overwritten_between_two_reads_is_noticed(store: Store) -> None:
    """The second read fails as a changed file, although the size is as planned."""
    root = store.new_root()
    check_overwritten(store, root)


@pytest.mark.parametrize("name", ["ceph", "moto"])
def test_in_a_bucket_with_versions_too(request: pytest.FixtureRequest, name: str) -> None:
    """Old versions that still exist are not read further."""
    store: Store = request.getfixturevalue(name)
    root = store.new_root()
    s3_client(store).put_bucket_versioning(
        Bucket=root.removeprefix("s3://"), VersioningConfiguration={"Status": "Enabled"}
    )
    check_overwritten(store, root)


def check_overwritten(store: Store, root: str) -> None:
    """Overwrite a file between two reads."""
    stores, uri = store.stores(root), f"{root}/x.bin"
    put(store, stores, uri, content(1))
    version = stores.stat(uri)
    reads = two_reads(stores, version)
    assert next(reads) == content(1)[:100]
    if store.name == "sftp":
        rewrite(uri)
    else:
        store.stores(root).write_bytes_atomic(uri, content(2))
    with pytest.raises(FileChangedError, match="no longer the version that was planned") as failed:
        list(reads)

    assert failed.value.path == uri


def two_reads(stores: Stores, version: FileVersion) -> Iterator[bytes]:
    """Yield the bytes of two reads too far apart for one request."""
    with open_version(stores, version, Bounds()) as file:
        source = ByteSource(file, size=version.size)
        yield source.read(0, 100)
        yield source.read(AFTER, AFTER + 100)


def rewrite(uri: str) -> None:
    """Overwrite a file of the SSH server on its disk."""
    place = "/" + uri.partition("://")[2].partition("/")[2]
    with pathlib.Path(place).open("r+b") as file:
        file.write(content(2))


def test_a_planned_version_that_is_no_more_is_not_read(store: Store) -> None:
    """A file overwritten before it is opened is changed, a removed one is missing."""
    root = store.new_root()
    stores, uri = store.stores(root), f"{root}/x.bin"
    put(store, stores, uri, b"old" * 100)
    version = stores.stat(uri)
    stores.write_bytes_atomic(uri, b"new" * 100)
    with pytest.raises(FileChangedError, match="planned 300 bytes"), open_version(stores, version, Bounds()) as file:
        file.read(10)
    stores.remove(uri)
    with pytest.raises(FileMissingError, match="does not exist"), open_version(stores, version, Bounds()) as file:
        file.read(10)


def test_a_file_removed_between_two_reads_is_missing(store: Store) -> None:
    """The bytes read before the removal are not used as the whole file; an open SFTP file stays readable."""
    root = store.new_root()
    stores, uri = store.stores(root), f"{root}/x.bin"
    put(store, stores, uri, content(1))
    version = stores.stat(uri)
    reads = two_reads(stores, version)
    next(reads)
    store.stores(root).remove(uri)
    with pytest.raises(FileMissingError, match="does not exist") as failed:
        list(reads)

    assert failed.value.path == uri


def test_an_empty_file_is_a_version_too(store: Store) -> None:
    """Nothing is read of it, but its version is checked."""
    root = store.new_root()
    stores, uri = store.stores(root), f"{root}/empty"
    stores.write_bytes_atomic(uri, b"")
    version = stores.stat(uri)
    with open_version(stores, version, Bounds()) as file:
        assert file.read() == b""
    stores.remove(uri)

    with pytest.raises(FileMissingError), open_version(stores, version, Bounds()):
        pass


def test_a_read_asks_for_nothing_but_its_ranges(ceph: Store) -> None:
    """A small planned object costs one request."""
    root = ceph.new_root()
    stores, uri = ceph.stores(root), f"{root}/x"
    stores.write_bytes_atomic(uri, b"1\n2\n")
    version = stores.stat(uri)
    system = stores.remote(uri)[0].system
    asked: list[str] = []
    system._s3.meta.events.register("before-call", lambda model, **_: asked.append(model.name))
    with open_version(stores, version, Bounds()) as file:
        ByteSource(file, size=version.size).read(0, 4)

    assert asked == ["GetObject"]


class Heedless(BaseHTTPRequestHandler):
    """An S3 server without `If-Match`, with one object of equal bytes."""

    byte = b"a"

    def do_GET(self) -> None:
        """Answer with the requested range of the current object."""
        start, end = map(int, self.headers.get("Range", f"bytes=0-{SIZE - 1}").removeprefix("bytes=").split("-"))
        self.send_response(206 if "Range" in self.headers else 200)
        self.send_header("ETag", f'"{self.byte.decode()}"')
        self.send_header("Content-Length", str(end + 1 - start))
        self.send_header("Last-Modified", "Fri, 02 Jan 2026 03:04:05 GMT")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(self.byte * (end + 1 - start))

    def do_HEAD(self) -> None:
        """Answer without the object."""
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.mark.parametrize("put_back", [False, True])
def test_a_server_that_ignores_the_condition_is_noticed(monkeypatch: pytest.MonkeyPatch, *, put_back: bool) -> None:
    """An answer with another ETag is a changed file, even if the old one is restored before the check."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Heedless) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        endpoint = f"http://127.0.0.1:{server.server_port}"
        options = {"key": "K", "secret": "S", "endpoint_url": endpoint, "client_kwargs": {"region_name": "x"}}
        stores = Stores({"s3://b": options})
        reads = two_reads(stores, stores.stat("s3://b/x"))
        assert next(reads) == b"a" * 100
        monkeypatch.setattr(Heedless, "byte", b"b")
        if put_back:
            monkeypatch.setattr("airflow_provider_blockread.storage.versions._compare", lambda *_: None)
        with pytest.raises(FileChangedError) as failed:
            next(reads)
        server.shutdown()
        thread.join()

    assert failed.value.path == "s3://b/x"


def test_versions_are_told_by_what_the_store_gives(store: Store) -> None:
    """Object stores have an ETag or a generation; an SSH server a size and a time in whole seconds."""
    root = store.new_root()
    stores, uri = store.stores(root), f"{root}/x"
    stores.write_bytes_atomic(uri, b"1")
    version: FileVersion = stores.stat(uri)

    assert (version.etag is None) == (store.name == "sftp")
    assert store.name != "sftp" or version.mtime_ns % 10**9 == 0


@pytest.mark.parametrize("name", ["ceph", "azurite", "gcs"])
def test_an_answer_that_is_cut_off_is_asked_for_again(request: pytest.FixtureRequest, name: str) -> None:
    """Connections that break in the middle of an answer cost time, but no byte."""
    store: Store = request.getfixturevalue(name)
    root = store.new_root()
    uri = f"{root}/x.bin"
    store.stores(root).write_bytes_atomic(uri, content(1))
    with running(Breaking(store.port, after=3 * MIB, cuts=2)) as proxy:
        stores = store.behind(root, proxy.port)
        version = stores.stat(uri)
        with open_version(stores, version, Bounds()) as file:
            assert ByteSource(file, size=version.size).read(0, version.size) == content(1)

    assert proxy.made == 2


@pytest.mark.parametrize("name", ["moto", "azurite", "gcs"])
def test_small_objects_are_fetched_at_once(request: pytest.FixtureRequest, name: str) -> None:
    """Many requests wait at once, but no more than may; what was overwritten since it was planned is not read."""
    store: Store = request.getfixturevalue(name)
    root = store.new_root()
    direct = store.stores(root)
    for number in range(40):
        direct.write_bytes_atomic(f"{root}/in/{number:03d}", content(number, 1 + number))
    with running(Slow(store.port, seconds=0.05)) as proxy:
        stores = store.behind(root, proxy.port)
        versions = list(list_files(stores, FileSource(root), now_s=time.time()))
        stores.write_bytes_atomic(f"{root}/in/020", content(1, 21))
        proxy.most = 0
        found = list(read_whole(stores, versions, Bounds()))

    assert found == [None if number == 20 else content(number, 1 + number) for number in range(40)]
    assert 2 < proxy.most <= REQUESTS


def test_objects_on_the_way_are_bounded_in_memory(moto: Store) -> None:
    """Of objects of 6 MiB, no more than two are on the way or held at once, and all are read in order."""
    root = moto.new_root()
    direct = moto.stores(root)
    for number in range(6):
        direct.write_bytes_atomic(f"{root}/{number}", content(number, 6 * MIB))
    with running(Slow(moto.port, seconds=0.05)) as proxy:
        stores = moto.behind(root, proxy.port)
        versions = list(list_files(stores, FileSource(root), now_s=time.time()))
        proxy.most = 0
        found = read_whole(stores, versions, Bounds())

        assert [data == content(number, 6 * MIB) for number, data in enumerate(found)] == [True] * 6
    assert proxy.most == 2
