"""Manifests of windows that cannot be read when a run is repeated."""

from __future__ import annotations

import pytest

from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.storage.stores import Stores
from tests.pipeline.make import Pipe


def test_what_is_published_is_left_alone_where_its_work_area_cannot_be_read(
    here: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule of the store may have archived its manifest, which only another generation needs."""
    here.put({"a": b"1\n"})
    here.run()
    read = Stores.read_bytes

    def denied(stores: Stores, uri: str) -> bytes:
        if "/manifest-" in uri:
            msg = f"{uri}: it is archived (InvalidObjectState); restore it"
            raise SourceError(msg, uri)
        return read(stores, uri)

    monkeypatch.setattr(Stores, "read_bytes", denied)

    assert here.plan().status == "published"
    assert "InvalidObjectState" in here.warnings[-1]
