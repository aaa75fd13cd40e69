"""Expired credentials: a plan or a read fails at once with the cause, and works again once they are renewed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import BlockReadError, SourceError
from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.ledger.windows.queries import list_files
from airflow_provider_blockread.options import FileSource, Limits, Selection
from airflow_provider_blockread.steps import PlanRequest
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.backends.azure import AzurePages
from airflow_provider_blockread.storage.backends.shared.pages import Page
from tests.pipeline.make import Pipe, ReadHere
from tests.servers.azure import address_of, signature, withdrawable
from tests.servers.store import Store

SAYS = r"access denied \(Auth\w+\); give the account .* access; renew its key, signature or token if that has expired"
FILES = {f"{number}.txt": b"one\ntwo\n" for number in range(3)}


@dataclasses.dataclass
class Feed(Pipe):
    """A feed of a store's folder; the output is local."""

    root: str = ""

    def request(self, key: str, clear_number: int = 0) -> PlanRequest:
        """Return what to plan."""
        return dataclasses.replace(super().request(key, clear_number), source=FileSource(self.root))

    def opens_by(self, stores: Stores) -> None:
        """Use these credentials from now on."""
        self.env = dataclasses.replace(self.env, stores=stores)
        self.submitter = ReadHere(stores)


@dataclasses.dataclass(frozen=True)
class Place:
    """A feed, and the options of its store: a valid signature, an expired one, and the text of the latter."""

    feed: Feed
    lasting: Stores
    expired: Stores
    secret: str
    store: Store

    def denied(self, error: BlockReadError) -> bool:
        """Return whether an error is that of the expired signature, without quoting it."""
        shown = f"{error!r} {error.__cause__!r} {self.feed.messages}"
        return self.secret not in shown and self.feed.root in shown and "tried" not in shown


@pytest.fixture
def place(tmp_path: Path, azurite: Store) -> Iterator[Place]:
    """Three files in Azurite."""
    root = f"{azurite.new_root()}/in"
    tokens = [signature(azurite, lasts) for lasts in (timedelta(hours=1), timedelta(minutes=-5))]
    texts = [f"BlobEndpoint={address_of(azurite, 'blob')};SharedAccessSignature={token}" for token in tokens]
    lasting, expired = (Stores({root: {"connection_string": text}}) for text in texts)
    for name, data in FILES.items():
        lasting.write_bytes_atomic(f"{root}/{name}", data)
    feed = Feed(folder=tmp_path, submitter=ReadHere(lasting), root=root)
    yield Place(feed=feed, lasting=lasting, expired=expired, secret=tokens[1].rpartition("sig=")[2], store=azurite)
    feed.close()


def test_a_plan_with_an_expired_signature(place: Place) -> None:
    """The first request fails and names the root; nothing is planned, and the next plan takes every file."""
    feed = place.feed
    feed.opens_by(place.expired)
    for _ in range(2):
        with pytest.raises(SourceError, match=SAYS) as failed:
            feed.plan()
        assert place.denied(failed.value)
    assert list(list_files(feed.env.ledger, feed.feed, limit=10)) == []
    assert [one.generation for one in list_windows(feed.env.ledger, feed.feed)] in ([], [None])

    feed.opens_by(place.lasting)
    assert feed.run().records == 6
    assert feed.values() == ["one"] * 3 + ["two"] * 3


def test_a_reading_with_an_expired_signature(place: Place) -> None:
    """It expired after the plan: the group fails, nothing is published; once renewed, the same window is read."""
    feed = place.feed
    feed.opens_by(place.lasting)
    ref = feed.plan()
    feed.opens_by(place.expired)
    with pytest.raises(SourceError, match=SAYS) as failed:
        feed.read(ref)
    assert place.denied(failed.value)
    with pytest.raises(BlockReadError):
        feed.commit(ref)
    assert feed.published() == []

    feed.opens_by(place.lasting)
    assert feed.run().records == 6
    assert feed.values() == ["one"] * 3 + ["two"] * 3


def test_a_signature_that_ends_in_the_midst_of_a_listing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is revoked after some pages: no window is planned, and no file of later pages becomes missing."""
    feed, page, asked = place.feed, AzurePages.page, count(1)
    for number in range(20):
        place.lasting.write_bytes_atomic(f"{feed.root}/{number:02}.txt", b"one\n")
    feed.opens_by(place.lasting)
    feed.selection = Selection(limits=Limits(max_files=1))
    assert feed.run("first").records == 2
    text, withdraw = withdrawable(place.store, feed.root)

    def page_of_two(self: AzurePages, folder: str, cursor: str | None, *, flat: bool) -> Page:
        if next(asked) == 4:
            withdraw()
        return page(self, folder, cursor, flat=flat)

    with monkeypatch.context() as patch:
        patch.setattr(AzurePages, "size", 2)
        patch.setattr(AzurePages, "page", page_of_two)
        feed.opens_by(Stores({feed.root: {"connection_string": text}}))
        with pytest.raises(SourceError, match=SAYS):
            feed.plan("second")
    assert next(asked) < 8
    assert {one.state for one in list_files(feed.env.ledger, feed.feed, limit=30)} == {"done", "pending"}

    feed.opens_by(place.lasting)
    feed.selection = Selection()
    assert feed.run("second").records == 24
