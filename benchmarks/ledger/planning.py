"""Plans and commits of many files, on SQLite and PostgreSQL; beside Spark's own listing, which keeps nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_blockread.steps import WindowRef
from benchmarks.harness.data import write_small_files
from benchmarks.harness.lab import Lab, Windows
from benchmarks.harness.measure import Row, Times, limit_row
from tests.postgres import new_schema, postgres_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LIMIT = 2.0  # seconds for 100,000 files, on SQLite


@dataclass(frozen=True, slots=True, kw_only=True)
class _Costs:
    """Of a first plan, of one that finds nothing new, and of the commit of what the first one took."""

    windows: Windows
    new: Times = field(default_factory=Times)
    known: Times = field(default_factory=Times)
    commit: Times = field(default_factory=Times)

    def measure(self, files: int) -> None:
        """Take the files, look for others, and publish them."""
        windows, plans = self.windows, list[WindowRef]()
        windows.prepare()
        self.new.add(lambda: plans.append(windows.plan("first")))
        self.known.add(lambda: plans.append(windows.plan("second")))
        windows.process(plans[0])
        self.commit.seconds.append(windows.seconds["commit"])
        planned = [plan.files for plan in plans]
        if planned != [files, 0]:
            msg = f"the plans hold {planned} files instead of {files} and none"
            raise ValueError(msg)


def run(lab: Lab) -> Iterator[Row]:
    """Yield rows for a first plan of many files, a second one, and the commit, on each database."""
    folder, listing = lab.folder("planning"), Times()
    source = folder / "source"
    write_small_files(source, lab.files, range(10, 60))
    with lab.spark(cores=2) as spark, postgres_server(waits_for_disk=True) as server:
        new_ledger = partial(_new_ledger, server, count())
        places = {"": Windows(folder / "ours", source, spark=spark)}
        places[", ledger in PostgreSQL"] = Windows(folder / "ours", source, spark=spark, new_ledger=new_ledger)
        costs = {where: _Costs(windows=windows) for where, windows in places.items()}
        for _ in range(lab.rounds):
            listing.add(lambda: _list(spark, source))
            for one in costs.values():
                one.measure(lab.files)
    shutil.rmtree(folder)
    rival = f"{listing.best:.2f} s, lists only"
    for where, found in costs.items():
        limit = None if where else _LIMIT * max(lab.files / 100_000, 0.3)
        yield limit_row(f"plan {lab.files:,} new files{where}", found.new, limit, rival=rival)
        yield limit_row(f"plan {lab.files:,} known files{where}", found.known, limit, rival=rival)
        yield limit_row(f"commit {lab.files:,} files, proof included{where}", found.commit, limit)


def _list(spark: SparkSession, source: Path) -> None:
    spark.read.format("binaryFile").load(str(source))


def _new_ledger(server: str, numbers: Iterator[int]) -> str:
    return new_schema(server, f"ledger{next(numbers)}", upgraded=False)
