"""Iceberg tables that engines other than pyiceberg have made or changed: partitions, versions, and deleted rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestContent, ManifestWriterV2
from pyiceberg.table import Table
from pyiceberg.table.update import snapshot
from pyiceberg.transforms import TruncateTransform
from pyiceberg.typedef import Record

from airflow_provider_blockread.errors import OptionsError, ProofError
from airflow_provider_blockread.options import IcebergSink
from tests.sinks.kinds import Bench, iceberg, opened_iceberg

_ROWS = pa.schema([pa.field("value", pa.string())])


class _Deletes(ManifestWriterV2):
    """Writes a manifest of files with deleted rows, which pyiceberg reads and does not write."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


def delete_rows(table: Table, content: DataFileContent) -> None:
    """Delete rows by a file that names them, as other engines do; nothing here reads that file."""
    file = DataFile.from_args(
        content=content,
        file_path=f"{table.location()}/data/deletes.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=1,
        file_size_in_bytes=1,
        spec_id=0,
        equality_ids=[1] if content == DataFileContent.EQUALITY_DELETES else None,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshot, "write_manifest", lambda format_version, **options: _Deletes(**options))  # noqa: ARG005
        with table.transaction() as change, change.update_snapshot().fast_append() as update:
            update.append_data_file(file)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A table that is not made yet."""
    return Bench("iceberg", str(tmp_path / "out"))


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_table_whose_partitions_were_removed(tmp_path: Path, version: str) -> None:
    """It is one without partitions, also where its version of the format keeps their place."""
    place = str(tmp_path / "out")
    option = iceberg(place)
    with load_catalog(option.catalog, **option.catalog_properties) as catalog:
        catalog.create_namespace("db")
        catalog.create_table(option.uri, schema=_ROWS, properties={"format-version": version})
    with opened_iceberg(place).update_spec() as spec:
        spec.add_field("value", TruncateTransform(1))
    partitioned = Bench("iceberg", place, {"partition_by": ["truncate(1, value)"]})
    partitioned.publish("a", window="w1")
    with opened_iceberg(place).update_spec() as spec:
        spec.remove_field("value_trunc_1")
    plain = Bench("iceberg", place)
    old = plain.publish("b", window="w2")
    plain.apply(plain.steps(plain.stage("c", window="w2", generation=2), old))

    assert plain.values() == ["a", "a", "c", "c"]


def test_a_table_that_was_upgraded_too_far(bench: Bench) -> None:
    """Its library does not write that version: nothing is read for it, and nothing committed."""
    old = bench.publish("a")
    table = opened_iceberg(bench.place)
    metadata = json.loads(table.metadata.model_dump_json()) | {"format-version": 3, "next-row-id": 0}
    upgraded = Path(f"{bench.place}/upgraded.metadata.json")
    upgraded.write_text(json.dumps(metadata), "utf-8")
    assert isinstance(bench.option, IcebergSink)
    with load_catalog(bench.option.catalog, **bench.option.catalog_properties) as catalog:
        catalog.drop_table(bench.option.uri)
        catalog.register_table(bench.option.uri, f"file://{upgraded}")
    refused = r"db\.events has version 3 of Iceberg's format.*choose another table"
    with pytest.raises(OptionsError, match=refused):
        bench.sink.prepare(_ROWS, "")
    with pytest.raises(OptionsError, match=refused):
        bench.undo(old)


@pytest.mark.parametrize(
    ("content", "error", "problem"),
    [
        (DataFileContent.POSITION_DELETES, ProofError, "another writer has rewritten its rows"),
        (
            DataFileContent.EQUALITY_DELETES,
            OptionsError,
            "deleted rows that pyiceberg does not find.*rewrite_data_files",
        ),
    ],
)
def test_rows_that_are_deleted_by_another_file(
    bench: Bench, content: DataFileContent, error: type[Exception], problem: str
) -> None:
    """A window that may have lost some is not replaced; others are published beside it, and go on when the rest is."""
    old = bench.publish("a")
    delete_rows(opened_iceberg(bench.place), content)
    before = opened_iceberg(bench.place).snapshots()[0].snapshot_id
    steps: list[Any] = bench.steps(bench.stage("b", generation=2), old)
    with pytest.raises(error, match=problem):
        bench.apply(steps)
    bench.publish("c", window="w9")
    opened_iceberg(bench.place).manage_snapshots().rollback_to_snapshot(before).commit()
    bench.stage("b", generation=2)
    bench.apply(steps)

    assert bench.values() == ["b", "b"]
