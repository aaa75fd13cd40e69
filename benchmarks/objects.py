"""Requests to a Ceph gateway as tasks and commits send them, many at once, against the same ones one after another.

A proxy that holds each request for a while stands for a store that is far away.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from airflow_provider_blockread.blocks import Block, FileVersion
from airflow_provider_blockread.options import Bounds, FileSource
from airflow_provider_blockread.steps.commit.versions import with_versions
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.ranges import RANGE_BYTES
from airflow_provider_blockread.storage.versions import open_version, version_now
from airflow_provider_blockread.storage.whole import read_whole
from benchmarks.harness.lab import Lab
from benchmarks.harness.measure import Contender, Row, alternate, ratio_row
from tests.servers import all as servers
from tests.servers.proxies import Slow, running

_DELAY_S = 0.02
_NEAR, _FAR = 2, 10  # times the rate of requests one after another
_SMALL = range(3000, 8000)  # bytes
_OBJECTS, _MEDIUM_OBJECTS, _MEDIUM = 200, 60, 1_500_000

#: Reads versions of objects and returns their bytes.
Read = Callable[[Stores, list[FileVersion]], int]


def run(lab: Lab) -> Iterator[Row]:
    """Yield rows for small objects and for a large one, each near and far away."""
    chance = random.Random(3)  # noqa: S311 - data, not secrets
    with servers.ceph() as store, ExitStack() as stack:
        slow = stack.enter_context(running(Slow(store.port, seconds=_DELAY_S)))
        small = [chance.choice(_SMALL) for _ in range(_OBJECTS)]
        works: tuple[tuple[str, list[int], tuple[Read, Read]], ...] = (
            (f"{_OBJECTS} objects of 3 to 8 KB", small, (_singly, _whole)),
            (f"versions of {_OBJECTS} objects, for the proof", small, (_looked_up, _looked_up_ahead)),
            (f"{_MEDIUM_OBJECTS} objects of 1.5 MB", [_MEDIUM] * _MEDIUM_OBJECTS, (_singly, _whole)),
            (f"an object of {lab.size / 4e9:.2f} GB", [lab.size // 4], (_by_ranges, _opened)),
        )
        for what, sizes, sides in works:
            root = store.new_root()
            _fill(store.stores(root), root, sizes, chance)
            for where, least, port in (("", _NEAR, store.port), (", 20 ms away", _FAR, slow.port)):
                # For larger objects, the client's work on their bytes counts.
                at_least = least if sizes is small and sides[0] is _singly else None
                yield _compare(lab, f"{what}{where}", store.behind(root, port), root, sides, at_least)


def _compare(lab: Lab, work: str, stores: Stores, root: str, reads: tuple[Read, Read], at_least: float | None) -> Row:
    versions = list(list_files(stores, FileSource(root), now_s=time.time()))
    size = sum(version.size for version in versions)

    def contender(read: Read) -> Contender:
        def require() -> None:
            if (found := read(stores, versions)) != size:
                msg = f"{root}: {found} bytes were read instead of {size}"
                raise ValueError(msg)

        return Contender(run=require)

    both = alternate([contender(read) for read in reads], lab.rounds)
    amount = (size / 1e6, "MB") if len(versions) == 1 else (len(versions), "files")
    return ratio_row(work, both, amount, at_least=at_least)


def _singly(stores: Stores, versions: list[FileVersion]) -> int:
    return sum(len(content or b"") for version in versions for content in read_whole(stores, [version], Bounds()))


def _whole(stores: Stores, versions: list[FileVersion]) -> int:
    return sum(len(content or b"") for content in read_whole(stores, versions, Bounds()))


def _looked_up(stores: Stores, versions: list[FileVersion]) -> int:
    return sum(version_now(stores, version).size for version in versions)


def _looked_up_ahead(stores: Stores, versions: list[FileVersion]) -> int:
    blocks = [Block(n, 0, n, version, 0, version.size, 0, version.size) for n, version in enumerate(versions)]
    return sum(now().size for _, now in with_versions(stores, blocks, ()))


def _by_ranges(stores: Stores, versions: list[FileVersion]) -> int:
    """Read in ranges of the same length, the next one when the one before has come."""
    total = 0
    for version in versions:
        fetch = stores.pinned(version)
        if fetch is None:
            msg = f"{version.path}: its store compares no versions"
            raise ValueError(msg)
        for start in range(0, version.size, RANGE_BYTES):
            total += len(fetch(start, min(start + RANGE_BYTES, version.size)))
    return total


def _opened(stores: Stores, versions: list[FileVersion]) -> int:
    total = 0
    for version in versions:
        with open_version(stores, version, Bounds()) as file:
            while data := file.read(2**20):
                total += len(data)
    return total


def _fill(stores: Stores, root: str, sizes: list[int], chance: random.Random) -> None:
    piece = chance.randbytes(2**20)

    def put(number: int) -> None:
        with stores.open_write(f"{root}/{number:04d}") as file:
            left = sizes[number]
            while left:
                left -= file.write(piece[:left])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, range(len(sizes))))
