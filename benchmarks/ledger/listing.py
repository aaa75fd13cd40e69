"""Listing: local trees against a bare walk, and an S3 server's objects against fetching its pages."""

from __future__ import annotations

import os
import re
import shutil
import tracemalloc
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html import unescape

from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing.files import list_files
from benchmarks.harness.data import write_small_files
from benchmarks.harness.lab import Lab
from benchmarks.harness.measure import Contender, Row, Times, alternate, limit_row
from tests.servers import all as servers
from tests.servers.store import Store

_RATE = 100_000  # local files a second
_AHEAD_MIB = 24  # limit of the pages read ahead in eight folders at once
_NOISE = 1.1  # of two runs that do the same
_TOKEN = re.compile(rb"<NextContinuationToken>([^<]*)<")


def run(lab: Lab) -> Iterator[Row]:
    """Yield a row for local files, one for objects, and one for the memory of listing these."""
    yield _local(lab)
    with servers.ceph() as store:
        root = store.new_root()
        _fill(store, root, lab.files)
        yield _objects(lab, store, root)
        yield _memory(lab, store, root)


def _local(lab: Lab) -> Row:
    folder = lab.folder("listing")
    write_small_files(folder, lab.files, range(10, 60))
    ours, bare = Times(), Times()
    for _ in range(lab.rounds):
        bare.add(lambda: _require(sum(1 for _ in _walk(str(folder))), lab.files))
        ours.add(lambda: _require(_listed(Stores(), str(folder)), lab.files))
    shutil.rmtree(folder)
    shown = bare.show(lab.files, "files")
    return limit_row(f"list {lab.files:,} local files", ours, lab.files / _RATE, rival=f"scandir and stat: {shown}")


def _objects(lab: Lab, store: Store, root: str) -> Row:
    stores = store.stores(root)
    sides = (
        Contender(run=lambda: _require(_arrive(store, root), lab.files)),
        Contender(run=lambda: _require(_listed(stores, root), lab.files)),
    )
    bare, ours = alternate(sides, lab.rounds)
    return Row(
        work=f"list {lab.files:,} objects of a Ceph gateway",
        rival=f"its pages, unread: {bare.show(lab.files, 'files')}",
        ours=ours.show(lab.files, "files"),
        ratio=f"{bare.best / ours.best:.2f} x",
        target="as fast as the pages arrive",
        met=ours.best <= bare.best * _NOISE,
    )


def _memory(lab: Lab, store: Store, root: str) -> Row:
    peaks = []
    for number in (0, None):  # the first of ten folders, then all
        tracemalloc.start()
        _listed(store.stores(root), root if number is None else f"{root}/{number}")
        peaks.append(tracemalloc.get_traced_memory()[1] / 2**20)
        tracemalloc.stop()
    few, many = peaks
    return Row(
        work=f"memory to list {lab.files // 10:,} and {lab.files:,} objects",
        rival="",
        ours=f"at most {few:.1f} and {many:.1f} MiB at once",
        target="does not grow with the objects",
        met=many <= few + _AHEAD_MIB,
    )


def _listed(stores: Stores, root: str) -> int:
    return sum(1 for _ in list_files(stores, FileSource(root), now_s=4e9))


def _walk(folder: str) -> Iterator[os.stat_result]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(entry.path)
            else:
                yield entry.stat()


def _arrive(store: Store, root: str) -> int:
    """Return the number of keys on all pages, fetched one after the other and parsed for their cursor only."""
    client, cursor, keys = servers.s3_client(store), "", 0
    while True:
        asked = {"Bucket": root.removeprefix("s3://")} | ({"ContinuationToken": cursor} if cursor else {})
        address = client.generate_presigned_url("list_objects_v2", Params=asked)
        with urllib.request.urlopen(address) as answer:  # noqa: S310 - the server started here
            page: bytes = answer.read()
        keys += page.count(b"<Key>")
        following = _TOKEN.search(page)
        if following is None:
            return keys
        cursor = unescape(following[1].decode())


def _fill(store: Store, root: str, count: int) -> None:
    client, bucket = servers.s3_client(store), root.removeprefix("s3://")

    def put(number: int) -> None:
        key = f"{number * 10 // count}/part-{number:07d}.csv"
        client.put_object(Bucket=bucket, Key=key, Body=b"x")

    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(put, range(count)):
            pass


def _require(found: int, wanted: int) -> None:
    if found != wanted:
        msg = f"the listing holds {found} files instead of {wanted}"
        raise ValueError(msg)
