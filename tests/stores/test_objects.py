"""Small objects of a task: fetched many at once ahead of use, in bounded memory, and read as if each were alone."""

from __future__ import annotations

import random
import time

import pytest

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.options import Bounds, FileSource, GenerationOptions, Lines, ParquetSink
from airflow_provider_blockread.records import make_format
from airflow_provider_blockread.spark.tasks.joined_read import Together
from airflow_provider_blockread.spark.tasks.small_files import SmallFiles
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.ranges import REQUESTS
from airflow_provider_blockread.storage.whole import read_whole
from tests.servers.proxies import Slow, running
from tests.servers.store import Store

MIB = 2**20


def content(seed: int, size: int) -> bytes:
    """Return bytes without a newline, others for each seed."""
    return random.Random(seed).randbytes(size).replace(b"\n", b"x")


@pytest.mark.parametrize("name", ["moto", "azurite", "gcs"])
def test_small_objects_are_fetched_at_once(request: pytest.FixtureRequest, name: str) -> None:
    """Many requests wait at once, but no more than may; what was overwritten since it was planned is not read."""
    store: Store = request.getfixturevalue(name)
    root = store.new_root()
    for number in range(100):
        store.stores(root).write_bytes_atomic(f"{root}/in/{number:03d}", content(number, 1 + number))
    with running(Slow(store.port, seconds=0.05)) as proxy:
        stores = store.behind(root, proxy.port)
        versions = list(list_files(stores, FileSource(root), now_s=time.time()))
        stores.write_bytes_atomic(f"{root}/in/050", content(1, 51))
        proxy.most = 0
        found = list(read_whole(stores, versions, Bounds()))

    assert found == [None if number == 50 else content(number, 1 + number) for number in range(100)]
    assert 2 < proxy.most <= REQUESTS


def test_objects_on_the_way_are_bounded_in_memory(moto: Store) -> None:
    """Of objects of 6 MiB, no more than two are on the way or held at once, and all are read in order."""
    root = moto.new_root()
    for number in range(6):
        moto.stores(root).write_bytes_atomic(f"{root}/{number}", content(number, 6 * MIB))
    with running(Slow(moto.port, seconds=0.05)) as proxy:
        stores = moto.behind(root, proxy.port)
        versions = list(list_files(stores, FileSource(root), now_s=time.time()))
        proxy.most = 0
        found = read_whole(stores, versions, Bounds())

        assert [data == content(number, 6 * MIB) for number, data in enumerate(found)] == [True] * 6
    assert proxy.most == 2


def test_objects_of_one_task_are_read_as_if_each_were_alone(moto: Store) -> None:
    """Small ones together, larger ones each by itself, and one that was overwritten alone, whose error is raised."""
    root, folder = moto.new_root(), moto.new_root()
    sizes = [3, 0, 2 * MIB, 5, 5 * MIB, 7, 900_000, 9]
    stores = moto.stores(root)
    for number, size in enumerate(sizes):
        stores.write_bytes_atomic(f"{root}/{number}", content(number, size))
    versions = list(list_files(stores, FileSource(root), now_s=time.time()))
    options = GenerationOptions(record_format=Lines(encoding="binary", newline="lf"), sink=ParquetSink(f"{folder}/out"))
    blocks = [Block(number, 0, number, v, 0, v.size, 0, v.size) for number, v in enumerate(versions) if v.size]
    reader = SmallFiles(stores, options, make_format(options.record_format))

    read = list(reader.read(blocks, {}))
    assert [len(f.rows.blocks) if isinstance(f, Together) else f for f in read] == [1, 1, 1, [blocks[3]], 3]
    rows = [value for found in read if isinstance(found, Together) for value in found.rows.batch["value"].to_pylist()]
    assert rows == [stores.read_bytes(v.path) for v in versions if v.size and v.size < 4 * MIB]

    stores.write_bytes_atomic(f"{root}/3", b"other")
    assert [blocks[2]] in list(reader.read(blocks, {}))
