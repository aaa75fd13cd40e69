"""Discovery of local files: files a second on SQLite and PostgreSQL, memory, and new files among many known ones.

Each measurement runs in a separate process, so that its memory does not affect the next one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from airflow_provider_blockread.observer import Observer
from airflow_provider_blockread.options import FileSource, GenerationOptions, Lines, ParquetSink
from airflow_provider_blockread.steps import Environment, PlanRequest, plan
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.stores import Stores
from benchmarks.harness.lab import Lab
from benchmarks.harness.measure import Row, peak_memory
from tests.postgres import postgres_server

_PER_FOLDER = 1_000
_SIZE = 4_096  # bytes, sparse
_NEW = 1_000
_RATES = {"SQLite": 40_000, "PostgreSQL": 25_000}  # files a second
_MOST_MIB = 400
_SPREAD = 1.10  # more than this is growth
_MOST_INCREMENTAL = 1.5  # times the bare listing
_MIB = 2**20


def run(lab: Lab) -> Iterator[Row]:
    """Yield the rows for 100,000 and for 1 M files."""
    few, many = lab.files, lab.files * 10
    with tempfile.TemporaryDirectory(prefix="blockread-discovery-", dir=lab.scratch) as name:
        folder = Path(name)
        for count in (few, many):
            write_tree(folder / f"in-{count}", count)
        yield from _of_database("SQLite", f"sqlite:///{folder}/{{}}.db", folder, (few, many))
        with postgres_server(waits_for_disk=True) as url:
            yield from _of_database("PostgreSQL", url, folder, (few, many))


def write_tree(root: Path, count: int, start: int = 0) -> None:
    """Create sparse files, a thousand in each folder, as in a landing zone with a folder for each hour."""
    for number in range(start, start + count):
        folder = root / f"hour={number // _PER_FOLDER:06}"
        if number % _PER_FOLDER == 0 or number == start:
            folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / f"part-{number:09}.log", os.O_CREAT | os.O_WRONLY)
        os.ftruncate(handle, _SIZE)
        os.close(handle)


def _of_database(database: str, url: str, folder: Path, counts: tuple[int, int]) -> Iterator[Row]:
    peaks = []
    for count in counts:
        source = folder / f"in-{count}"
        place = url.format(count)
        found = _apart("first", place, source)
        peaks.append(found["mib"])
        rate, target = count / found["seconds"], _RATES[database]
        yield Row(
            work=f"{database}: list, compare and freeze {count:,} files",
            rival=_listing(found),
            ours=f"{_times(found)}, {rate:,.0f} files/s ({count / found['cpu']:,.0f} a cpu second)",
            target=f">= {target:,} files/s",
            met=rate >= target,
        )
        write_tree(source, _NEW, start=10 * counts[-1])
        found = _apart("again", place, source)
        yield Row(
            work=f"{database}: find and freeze {_NEW:,} new files among {count:,} known",
            rival=_listing(found),
            ours=_times(found),
            ratio=f"{found['seconds'] / found['listing']:.2f} x (cpu {found['cpu'] / found['listing_cpu']:.2f})",
            target=f"< {_MOST_INCREMENTAL:g} x" if count == counts[-1] else "",
            met=found["seconds"] < _MOST_INCREMENTAL * found["listing"] if count == counts[-1] else None,
        )
        shutil.rmtree(source / f"hour={10 * counts[-1] // _PER_FOLDER:06}")
    yield Row(
        work=f"{database}: peak memory at {counts[0]:,} and {counts[1]:,} files",
        rival="",
        ours=", ".join(f"{peak:.0f} MiB" for peak in peaks),
        ratio=f"{peaks[1] / peaks[0]:.2f} x",
        target=f"< {_MOST_MIB} MiB and < {_SPREAD:.2f} x",
        met=max(peaks) < _MOST_MIB and peaks[1] < _SPREAD * peaks[0],
    )


def _listing(found: dict[str, float]) -> str:
    return f"{found['listing']:.2f} s (cpu {found['listing_cpu']:.2f}), the bare listing"


def _times(found: dict[str, float]) -> str:
    return f"{found['seconds']:.2f} s (cpu {found['cpu']:.2f})"


def _apart(key: str, url: str, source: Path) -> dict[str, Any]:
    """Return the cost of a plan in a separate process, and that of the bare listing."""
    command = [sys.executable, "-m", "benchmarks.ledger.discovery", key, url, str(source)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ourselves
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(key: str, url: str, source: str) -> dict[str, float]:
    """Return seconds, processor seconds and peak memory for planning a window, and for the listing."""
    from airflow_provider_blockread.ledger.store import Ledger  # noqa: PLC0415 - the parent needs none of it

    ledger = Ledger(url)
    ledger.upgrade()
    env = Environment(ledger=ledger, stores=Stores(), observer=Observer())
    files = FileSource(source)
    began, used = time.perf_counter(), time.process_time()
    for _ in list_files(env.stores, files, now_s=time.time()):
        pass
    bare = {"listing": time.perf_counter() - began, "listing_cpu": time.process_time() - used}
    request = PlanRequest(
        feed=source,
        key=key,
        source=files,
        generation=GenerationOptions(sink=ParquetSink(f"{source}-out"), record_format=Lines()),
        owner="benchmark",
    )
    os.sync()
    with peak_memory(lambda: [psutil.Process()]) as peaks:
        began, used = time.perf_counter(), time.process_time()
        ref = plan(env, request)
        seconds, cpu = time.perf_counter() - began, time.process_time() - used
    ledger.close()
    return bare | {"seconds": seconds, "cpu": cpu, "mib": max(peaks.values()) / _MIB, "files": ref.files}


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:])))
