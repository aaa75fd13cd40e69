"""How long a group waits for the ledger during a large plan: python -m tests.crash.load.latency --files 1000000.

One process lists, compares and freezes that many files of a feed. Another one claims, keeps alive and completes groups
of a window of the same feed, one after another, for as long as that takes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from airflow_provider_blockread.blocks import BlockGroup, FileVersion
from airflow_provider_blockread.blocks.ids import window_id
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.model import Claim, GroupOutcome, GroupRef
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.groups import claim_group, complete_group, heartbeat
from airflow_provider_blockread.ledger.windows.selection import pending_files
from airflow_provider_blockread.options import Selection
from tests.crash.server import quick_folder
from tests.ledger.make import Planned, freeze_window
from tests.postgres import new_schema, postgres_server

_FEED = "busy"
_GROUPS = 1000
#: What a group may wait for.
LIMIT_S = 1.0


@dataclass
class Waits:
    """How long each call took, in seconds."""

    database: str
    files: int
    planning_s: float = 0.0
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"claim": [], "heartbeat": [], "complete": []})

    @property
    def worst(self) -> float:
        """The longest of all."""
        return max(max(seconds, default=0.0) for seconds in self.seconds.values())

    @property
    def groups(self) -> int:
        """How many groups were completed meanwhile."""
        return len(self.seconds["complete"])

    def __str__(self) -> str:
        """Return a line for people."""
        calls = ", ".join(
            f"{name} {max(seconds):.3f} s (median {statistics.median(seconds):.4f})"
            for name, seconds in self.seconds.items()
            if seconds
        )
        return (
            f"{self.database}: {self.files:,} files planned in {self.planning_s:.1f} s; meanwhile {self.groups:,}"
            f" groups were completed, the slowest {calls}"
        )

    def timed(self, name: str, call: Callable[[], Claim | None]) -> Claim | None:
        """Return what a call returns, and note how long it took."""
        started = time.perf_counter()
        found = call()
        self.seconds[name].append(time.perf_counter() - started)
        return found


def measure(database: str, url: str, files: int) -> Waits:
    """Return how long groups waited while so many files were planned."""
    waits = Waits(database=database, files=files)
    ledger = Ledger(url)
    ledger.upgrade()
    _freeze(ledger, "first", 10, range(_GROUPS))
    ledger.close()
    planner = get_context("spawn").Process(target=plan_many, args=(url, files), daemon=True)
    started = time.perf_counter()
    planner.start()
    number = 0
    while planner.is_alive() and number < _GROUPS:
        _one_group(ledger, waits, number)
        number += 1
        planner.join(_pause(files))
    planner.join()
    waits.planning_s = time.perf_counter() - started
    ledger.close()
    if planner.exitcode:
        msg = "the planner failed"
        raise RuntimeError(msg)
    return waits


def _pause(files: int) -> float:
    """Return how long to wait between two groups, so that they last as long as the plan does."""
    return min(files / 20_000 / _GROUPS * 2, 0.1)


def _one_group(ledger: Ledger, waits: Waits, number: int) -> None:
    ref = GroupRef(window=window_id(_FEED, "first"), generation=1, group=number)
    claim = waits.timed("claim", lambda: claim_group(ledger, ref, owner="reader", clear_number=0, stale_after_s=60.0))
    assert claim is not None
    outcome = GroupOutcome(result_uri="r", result_hash="h", records=1, bad_records=0, rows=1, read_bytes=1)
    waits.timed("heartbeat", lambda: heartbeat(ledger, claim))
    waits.timed("complete", lambda: complete_group(ledger, claim, outcome))


def plan_many(url: str, files: int) -> None:
    """List, compare and freeze that many files."""
    ledger = Ledger(url)
    _freeze(ledger, "second", files, range(1))
    ledger.close()


def _freeze(ledger: Ledger, key: str, files: int, groups: range) -> None:
    record_files(ledger, _FEED, _versions(key, files), complete=False)
    ids = [item.file for item in pending_files(ledger, _FEED, Selection(), block_size=2**20)]
    parts = [BlockGroup(number=n, files=1, blocks=1, bytes=10, first_path="a", last_path="b") for n in groups]
    window = Planned(
        id=window_id(_FEED, key),
        feed=_FEED,
        key=key,
        manifest_uri="file:///m",
        manifest_hash="h",
        files=files,
        blocks=files,
        bytes=files,
        groups=parts,
        options={},
        clear_number=0,
        owner="planner",
    )
    freeze_window(ledger, window, ids)


def _versions(key: str, files: int) -> Iterator[FileVersion]:
    return (
        FileVersion(path=f"file:///in/{key}/part-{number:09d}.csv", size=1, mtime_ns=number) for number in range(files)
    )


def main(arguments: list[str] | None = None) -> int:
    """Measure on both databases and print; 1 where a group waited for a second."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.load.latency", description=__doc__)
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--database", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--folder", type=Path, help="of the SQLite ledger; in memory without it")
    options = parser.parse_args(arguments)
    with quick_folder() as folder, postgres_server() as server:
        place = options.folder or folder
        urls = {}
        if options.database != "postgresql":
            urls["SQLite"] = f"sqlite:///{place / 'latency.db'}"
        if options.database != "sqlite":
            urls["PostgreSQL"] = new_schema(server, "latency")
        found = [measure(database, url, options.files) for database, url in urls.items()]
    print(*found, sep="\n")
    return int(any(waits.worst >= LIMIT_S for waits in found))


if __name__ == "__main__":
    sys.exit(main())
