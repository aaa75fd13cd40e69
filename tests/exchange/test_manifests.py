"""The manifest of a window as another version of this package may have written it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_blockread.blocks import Block, FileVersion
from airflow_provider_blockread.errors import ExchangeError
from airflow_provider_blockread.exchange.files import content_hash
from airflow_provider_blockread.exchange.manifest import read_manifest, write_manifest
from airflow_provider_blockread.storage.stores import Stores

BLOCKS = [
    Block(number, number // 2, 7 + number, FileVersion(f"/in/{number}", 9, 5, None), 0, 9, 0, 9) for number in range(4)
]


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """A manifest of two groups."""
    write_manifest(Stores(), str(tmp_path / "manifest.parquet"), BLOCKS, identity={})
    return tmp_path / "manifest.parquet"


def read(path: Path, table: pa.Table, group: int | None = None) -> list[Block]:
    """Return the blocks of a manifest with these rows, each group in a row group."""
    pq.write_table(table, path, row_group_size=2)
    return list(read_manifest(Stores(), str(path), content_hash(path.read_bytes()), group=group))


def test_columns_are_found_by_name(manifest: Path) -> None:
    """Their order means nothing, and neither do columns that this version does not know."""
    table = pq.read_table(manifest)
    others = table.select(table.column_names[::-1]).append_column("note", pa.array(["x"] * 4))

    assert read(manifest, others) == BLOCKS
    assert read(manifest, others, group=1) == BLOCKS[2:]


@pytest.mark.parametrize("name", ["path", "group"])
def test_a_manifest_without_a_column_is_refused(manifest: Path, name: str) -> None:
    """The error names the column, and what to do."""
    with pytest.raises(ExchangeError, match=rf"cannot be read \(.*{name}.*\); restore the file"):
        read(manifest, pq.read_table(manifest).drop_columns([name]), group=1)
