"""A commit on an object store: requests about many files, and moves of them, are on the way at once."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from airflow_provider_blockread.blocks import Block, FileVersion
from airflow_provider_blockread.errors import FileMissingError, TransientError
from airflow_provider_blockread.options import FileSource, ParquetSink
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import Earlier, Marker
from airflow_provider_blockread.sinks.registry import make_sink
from airflow_provider_blockread.sinks.staging import counted
from airflow_provider_blockread.steps.commit.versions import with_versions
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.ranges import REQUESTS
from airflow_provider_blockread.testing.bench import batch
from tests.servers.proxies import Slow, running
from tests.servers.store import Store


class _Busy(Stores):
    """Stores that ask to slow down once."""

    refusals = 1

    def stat(self, uri: str) -> FileVersion:
        """Return the version of a file, but not at first."""
        if self.refusals:
            self.refusals -= 1
            msg = f"{uri}: slow down"
            raise TransientError(msg)
        return super().stat(uri)


MARKER = Marker(
    ledger="l", feed="f", window="ab12", number=3, at=datetime(2026, 1, 1, tzinfo=UTC), is_recorded=lambda *_: True
)


def test_versions_are_looked_up_ahead(moto: Store) -> None:
    """Of all files that staged groups have read; a file that is gone is an error when its turn comes."""
    root = moto.new_root()
    direct = moto.stores(root)
    for number in range(60):
        direct.write_bytes_atomic(f"{root}/in/{number:03d}", b"x")
    with running(Slow(moto.port, seconds=0.02)) as proxy:
        stores = moto.behind(root, proxy.port)
        versions = list(list_files(stores, FileSource(root), now_s=time.time()))
        blocks = [Block(n, n % 2, n, version, 0, 1, 0, 1) for n, version in enumerate(versions)]
        stores.remove(f"{root}/in/058")
        proxy.most = 0
        found = list(with_versions(stores, blocks, carried={1}))

        assert [now() for _, now in found[:58]] == versions[:58]
        with pytest.raises(FileMissingError, match="in/058"):
            found[58][1]()
    assert [block for block, _ in found] == blocks
    assert 2 < proxy.most <= REQUESTS


def test_a_store_that_asks_to_slow_down_is_asked_again() -> None:
    """Many requests at once may be too many; a proof does not fail by that."""
    Stores().write_bytes_atomic("memory:///busy/a", b"x")
    version, stores = Stores().stat("memory:///busy/a"), _Busy()
    [(_, now)] = with_versions(stores, [Block(0, 0, 0, version, 0, 1, 0, 1)], ())

    assert (now(), stores.refusals) == (version, 0)


def test_outputs_are_counted_and_moved_at_once(moto: Store) -> None:
    """Counts are in order; a repeated step changes nothing."""
    root = moto.new_root()
    with running(Slow(moto.port, seconds=0.02)) as proxy:
        stores = moto.behind(root, proxy.port)
        option = ParquetSink(f"{root}/out")
        sink = make_sink(stores, option)
        target = sink.prepare(None, f"{option.work_area}/stage")
        files = []
        for attempt in range(12):
            name = AttemptName(window="ab12", generation=1, group=0, epoch=1, attempt=attempt)
            writer = sink.writer(target, name, None)
            writer.write(batch(*["x"] * attempt, "y"), 5)
            files += writer.close()
        proxy.most = 0
        assert list(counted(stores, files, sink.count)) == [
            (file.size, number + 1) for number, file in enumerate(files)
        ]
        assert proxy.most > 2

        placed = [sink.placed(file) for file in files]
        steps = sink.steps(placed, Earlier())
        proxy.most = 0
        for _ in range(2):
            sink.apply(steps, MARKER, lambda: None)
        assert 2 < proxy.most <= REQUESTS
        assert sorted(uri for uri, _ in stores.list_names(f"{root}/out")) == sorted(file.uri for file in placed)
        assert sink.undo(Earlier({1: placed}), MARKER) == 12
        assert list(stores.list_names(f"{root}/out")) == []
