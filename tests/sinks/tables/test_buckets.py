"""Delta and Iceberg tables in a bucket: published, replaced and taken back, and read by polars with its own client."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.options import DeltaSink, IcebergSink
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import Change, Earlier, Marker
from airflow_provider_blockread.sinks.registry import make_sink
from airflow_provider_blockread.sinks.tables.iceberg.properties import io_properties
from airflow_provider_blockread.storage.backends.registry import table_options
from tests.servers import all as servers
from tests.servers.store import Store

# Warnings of the store's own clients pass; those caused by this package stay errors.
pytestmark = [pytest.mark.system, pytest.mark.filterwarnings("ignore", "error:::airflow_provider_blockread")]


@pytest.fixture(scope="module")
def ceph() -> Iterator[Store]:
    """A Ceph gateway: S3."""
    with servers.ceph() as store:
        yield store


class _Table:
    """A table in a new bucket of a store."""

    def __init__(self, store: Store, folder: Path, kind: str) -> None:
        self._root = store.new_root()
        self._stores = store.stores(self._root)
        place, work = f"{self._root}/lake", f"{self._root}/work"
        catalog = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": place}
        iceberg = IcebergSink("db.events", catalog_properties=catalog, work_uri=work)
        self._option = DeltaSink(place, work_uri=work) if kind == "delta" else iceberg
        self.sink = make_sink(self._stores, self._option)

    def stage(self, *values: str, generation: int) -> list[OutputFile]:
        """Return a file of rows, as a task leaves it."""
        name = AttemptName(window="ab12", generation=generation, group=0, epoch=1, attempt=0)
        writer = self.sink.writer(self.sink.prepare(None, f"{self._root}/stage"), name, None)
        writer.write(pa.RecordBatch.from_pydict({"value": list(values)}))
        return [self.sink.placed(file) for file in writer.close()]

    def marker(self, generation: int, change: Change = Change.PUBLISH) -> Marker:
        """Return the marker of a change."""
        number = Marker.number_of(generation, change)
        now = datetime.now(UTC)
        return Marker(ledger="l", feed="f", window="ab12", number=number, at=now, is_recorded=lambda *_: True)

    def publish(self, new: list[OutputFile], generation: int, earlier: Earlier) -> None:
        """Publish files in the place of earlier ones; twice, as a retry does."""
        for _ in range(2):
            self.sink.apply(self.sink.steps(new, earlier), self.marker(generation), lambda: None)

    def values(self) -> list[str]:
        """Return what polars finds."""
        options = self._stores.options_of(self._root)
        reading = table_options(self._root, options)
        if isinstance(self._option, DeltaSink):
            found = pl.read_delta(self._option.uri, storage_options=reading)
        else:
            known = {**self._option.catalog_properties, **io_properties(self._root, options)}
            with load_catalog("default", **known) as catalog:
                table = catalog.load_table("db.events")
            found = pl.scan_iceberg(table, storage_options=reading).collect()
        return sorted(found["value"]) if found.columns else []


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_table_on_the_gateway(ceph: Store, tmp_path: Path, kind: str) -> None:
    """Its files and its commits go through the store's connection; a repeated commit finds its marker."""
    table = _Table(ceph, tmp_path, kind)
    old = table.stage("a", "b", generation=1)
    table.publish(old, 1, Earlier())
    assert table.values() == ["a", "b"]
    new = table.stage("c", generation=2)
    table.publish(new, 2, Earlier({1: old}, shown=1))
    assert table.values() == ["c"]
    stray = table.stage("never published", generation=3)

    assert table.sink.undo(Earlier({2: new}), table.marker(2, Change.WITHDRAW)) == 1
    assert table.values() == []
    assert table.sink.sweep("ab12", [], [file.uri for file in (*old, *new)]) == [file.uri for file in stray]
