"""All errors of a store, in any call, become errors of this package that name the URI and contain no secret."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_provider_blockread.errors import BlockReadError, SourceError, TransientError
from airflow_provider_blockread.options import Bounds, FileSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.versions import open_version
from tests.servers.lister import Answer, error, lister
from tests.servers.processes import free_port
from tests.servers.putting import putter
from tests.servers.store import Store


def _write(stores: Stores, uri: str) -> None:
    with stores.open_write(uri) as file:
        file.write(b"x")


CALLS: dict[str, Callable[[Stores, str], object]] = {
    "stat": lambda stores, uri: stores.stat(uri),
    "exists": lambda stores, uri: stores.exists(uri),
    "read": lambda stores, uri: stores.read_bytes(uri),
    "head": lambda stores, uri: stores.read_head(uri, 1),
    "open": lambda stores, uri: stores.open_read(uri).read(1),
    "names": lambda stores, uri: list(stores.list_names(uri)),
    "folders": lambda stores, uri: stores.list_folders(uri),
    "write": lambda stores, uri: stores.write_bytes_atomic(uri, b"x"),
    "stream": _write,
    "remove": lambda stores, uri: stores.remove(uri),
    "list": lambda stores, uri: list(list_files(stores, FileSource(uri), now_s=4e9)),
}

WRONG_KEY = "d3Jvbmcga2V5IG9mIHRlc3RzIHRoYXQgbm9ib2R5IGtub3dz"


def without_leave(store: Store) -> dict[str, object]:
    """Return options that the store refuses."""
    options = dict(store.options)
    if store.name == "ceph":
        return {**options, "secret": WRONG_KEY}
    if store.name == "azurite":
        known = str(options["connection_string"])
        return {"connection_string": known.replace(store.secrets[0], WRONG_KEY)}
    return {**{key: value for key, value in options.items() if key != "client_keys"}, "password": WRONG_KEY}


@pytest.mark.parametrize("name", ["ceph", "azurite", "sftp"])
def test_denied_access_is_told_by_every_call(request: pytest.FixtureRequest, name: str) -> None:
    """A wrong key is an access error in each call, and is never shown."""
    store: Store = request.getfixturevalue(name)
    root = store.new_root()
    putter(store, root)("x", b"x")
    for call, ask in CALLS.items():
        with pytest.raises(SourceError, match=r"access denied|not accepted") as caught:
            ask(Stores({root: without_leave(store)}), f"{root}/x")
        message = f"{caught.value} {caught.value.__cause__!r}"

        assert root in message, call
        assert WRONG_KEY not in message, call


def nowhere(store: Store) -> tuple[str, dict[str, object]]:
    """Return a root and options for a port on which nothing listens."""
    port, options = free_port(), dict(store.options)
    if store.name == "sftp":
        return f"sftp://127.0.0.1:{port}/b", {**options, "port": port}
    once = {"endpoint_url": f"http://127.0.0.1:{port}", "config_kwargs": {"retries": {"max_attempts": 0}}}
    return "s3://b", {**options, **once}


@pytest.mark.parametrize("name", ["ceph", "sftp"])
def test_a_store_that_is_down_may_be_back_later(request: pytest.FixtureRequest, name: str) -> None:
    """Without an answer, the same call may succeed later."""
    root, options = nowhere(request.getfixturevalue(name))
    for call in ("stat", "read", "write", "names"):
        with pytest.raises(TransientError, match="the store failed") as caught:
            CALLS[call](Stores({root: options}), f"{root}/x")
        assert root in str(caught.value)


def test_an_object_that_may_be_read_and_not_listed_is_a_file() -> None:
    """Without anything listable below it; other failures of the listing are errors."""
    with lister([], lambda *_: error(403, "AccessDenied")) as server:
        server.sizes["x"] = 7
        stores = Stores({"s3://b": server.options})
        assert [version.path for version in list_files(stores, FileSource("s3://b/x"), now_s=4e9)] == ["s3://b/x"]
        with pytest.raises(SourceError, match="access denied"):
            list(list_files(stores, FileSource("s3://b/x/"), now_s=4e9))


def test_an_answer_that_tells_no_version_is_none() -> None:
    """It may be of another version."""
    with lister([]) as server:
        server.sizes["x"] = 7
        stores = Stores({"s3://b": server.options})
        with (
            open_version(stores, stores.stat("s3://b/x"), Bounds()) as file,
            pytest.raises(SourceError, match="does not say which version"),
        ):
            file.read(1)


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (error(503, "SlowDown"), TransientError, "slow down"),
        (error(400, "ExpiredToken"), TransientError, "try again"),
        (error(400, "InvalidToken"), SourceError, "renew them"),
        (error(403, "AccessDenied"), SourceError, "access denied"),
        (error(403, "InvalidObjectState"), SourceError, "archived"),
        (error(400, "RequestThrottled"), TransientError, "slow down"),
        (error(400, "RequestExpired"), TransientError, "try again"),
        (error(301, "PermanentRedirect"), BlockReadError, "s3://b/x"),
    ],
)
def test_a_read_that_fails_in_mid_stream_is_translated(answer: Answer, kind: type[BlockReadError], says: str) -> None:
    """An open file whose store fails at a later read raises this package's error there."""
    with lister([]) as server:
        stores = Stores({"s3://b": server.options})
        size = 40 * 2**20
        server.sizes["x"] = size
        with stores.open_read("s3://b/x") as file:
            assert file.read(10) == bytes(10)
            server.respond = lambda _server, _query, _body: answer
            file.seek(size - 10)
            with pytest.raises(kind, match=says):
                file.read(10)
