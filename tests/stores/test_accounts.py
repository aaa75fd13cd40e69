"""One feed whose roots are in several accounts, each opened by a connection of its own."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path

import fsspec
import pytest

from airflow_provider_blockread.errors import FileMissingError, OptionsError
from airflow_provider_blockread.hooks.stores import credentials_for
from airflow_provider_blockread.ledger.windows.queries import list_files
from airflow_provider_blockread.observer import Observer
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.steps import Environment, PlanRequest
from airflow_provider_blockread.steps.watch.new_files import NewFilesQuery
from airflow_provider_blockread.steps.watch.watching import record_hints
from airflow_provider_blockread.storage import Stores
from tests.ledgers import open_ledger
from tests.pipeline.make import Pipe, ReadHere
from tests.servers.all import s3_client
from tests.servers.azure import account_of, azurites
from tests.servers.store import Store

pytestmark = pytest.mark.airflow
Roots = Mapping[str, Store]


@dataclasses.dataclass
class Feed(Pipe):
    """A feed of a source in several stores; the output is local."""

    files: FileSource = dataclasses.field(default_factory=lambda: FileSource("/nowhere"))

    def request(self, key: str, clear_number: int = 0) -> PlanRequest:
        """Return what to plan."""
        return dataclasses.replace(super().request(key, clear_number), source=self.files)


@pytest.fixture
def two_of_s3(ceph: Store, moto: Store) -> Roots:
    """One bucket name at Ceph and at moto, with different keys."""
    for store in (ceph, moto):
        s3_client(store).create_bucket(Bucket="of-both")
    return {"s3://of-both/one": ceph, "s3://of-both/two": moto}


@pytest.fixture
def two_of_azure() -> Iterator[Roots]:
    """One name of a container and of a folder in two accounts of Azurite."""
    with azurites(2) as stores:
        for store in stores:
            fsspec.filesystem("abfs", **store.options).mkdir("of-both")
        yield {f"abfs://of-both@{account_of(store)}.dfs.core.windows.net/in": store for store in stores}


@pytest.fixture(params=["two_of_s3", "two_of_azure"])
def roots(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Roots:
    """Two roots in stores of one kind; Airflow knows connections `store_0` and `store_1`."""
    found: Roots = request.getfixturevalue(request.param)
    for number, (root, store) in enumerate(found.items()):
        monkeypatch.setenv(f"AIRFLOW_CONN_STORE_{number}", json.dumps(dict(store.connection)))
        stores = store.stores(root)
        for name in ("a.txt", f"only {number}.txt", "sub/b.txt"):
            stores.write_bytes_atomic(f"{root}/{name}", f"{number} {name}\n".encode() * 3)
    return found


def test_one_feed_reads_two_accounts(tmp_path: Path, roots: Roots) -> None:
    """Files with the same names in both are listed, planned and read once each, and not by the next window."""
    source = FileSource(tuple(roots), conn_id={root: f"store_{number}" for number, root in enumerate(roots)})
    stores = Stores(json.loads(json.dumps(credentials_for(source, None))))
    feed = Feed(folder=tmp_path, submitter=ReadHere(stores), files=source)
    feed.env = dataclasses.replace(feed.env, stores=stores)

    assert feed.run().records == 18
    names = ("a.txt", "only {}.txt", "sub/b.txt")
    lines = [f"{number} {name.format(number)}" for number in range(2) for name in names]
    assert feed.values() == sorted(lines * 3)
    paths = [row.version.path for row in list_files(feed.env.ledger, feed.feed, limit=10)]
    assert sorted(paths) == sorted(f"{root}/{name.format(n)}" for n, root in enumerate(roots) for name in names)
    assert feed.run("next").status == "empty"
    second = tuple(roots)[1]
    stores.write_bytes_atomic(f"{second}/late.txt", b"late\n")
    assert feed.run("later").records == 1
    stores.remove(f"{second}/late.txt")  # other tests share the stores
    feed.close()


def test_one_connection_for_both_is_an_error(tmp_path: Path, roots: Roots) -> None:
    """Each root is opened as the account that it names: what another one answers does not stand in for it.

    With a connection to each, as the message says, both are read.
    """
    first, second = roots
    source = FileSource((first, second), conn_id={first: "store_1", second: "store_1"})
    stores = Stores(credentials_for(source, None))
    feed = Feed(folder=tmp_path, submitter=ReadHere(stores), files=source)
    feed.env = dataclasses.replace(feed.env, stores=stores)
    with pytest.raises((OptionsError, FileMissingError), match=first) as failed:
        feed.plan()
    assert ("opens the account" in str(failed.value)) == first.startswith("abfs:")
    assert [secret for store in roots.values() for secret in store.secrets if secret in str(failed.value)] == []
    assert list(list_files(feed.env.ledger, feed.feed, limit=10)) == []

    feed.files = FileSource((first, second), conn_id={first: "store_0", second: "store_1"})
    stores = Stores(credentials_for(feed.files, None))
    feed.submitter, feed.env = ReadHere(stores), dataclasses.replace(feed.env, stores=stores)
    assert feed.run().records == 18
    feed.close()


def test_storage_events_name_the_account(tmp_path: Path, two_of_azure: Roots) -> None:
    """A message of one account concerns only the root in it; roots without an account get messages of any."""
    ledger = open_ledger(f"sqlite:///{tmp_path}/ledger.db")
    first, second = two_of_azure
    for root, store in two_of_azure.items():
        store.stores(root).write_bytes_atomic(f"{root}/a.txt", b"1\n")
    url = second.replace("abfs://of-both@", "https://").replace(".dfs.", ".blob.").replace("/in", "/of-both/in/a.txt")
    body = json.dumps({"eventType": "Microsoft.Storage.BlobCreated", "data": {"url": url}})
    stores = Stores({root: store.options for root, store in two_of_azure.items()})
    env = Environment(ledger=ledger, stores=stores, observer=Observer())

    assert record_hints(env, NewFilesQuery(feed="one", source=FileSource(first)), [body]).ignored
    assert record_hints(env, NewFilesQuery(feed="both", source=FileSource((first, second))), [body]).new == 1
    assert [row.version.path for row in list_files(ledger, "both", limit=10)] == [f"{second}/a.txt"]
    plain = "abfs://of-both/in"
    env = dataclasses.replace(env, stores=Stores({plain: two_of_azure[first].options}))
    assert record_hints(env, NewFilesQuery(feed="plain", source=FileSource(plain)), [body]).new == 1
    ledger.close()


@pytest.mark.parametrize("host", ["one", "one.privatelink", "one-secondary"])
def test_addresses_of_an_account_are_that_account(host: str) -> None:
    """A private endpoint and the read-only replica are the account in the URI; another account is not."""
    text = f"BlobEndpoint=https://{host}.blob.core.windows.net;SharedAccessSignature=sv=1&sig=s3cret"
    for named, refused in (("one", False), ("one-secondary", False), ("two", True)):
        root = f"abfs://box@{named}.dfs.core.windows.net"
        with pytest.raises(OptionsError, match="not two") if refused else nullcontext():
            Stores({root: {"connection_string": text}}).remote(root)
