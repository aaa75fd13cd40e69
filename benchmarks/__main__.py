"""`python -m benchmarks [NAME...]`: measure, and print a table."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import psutil

from airflow_provider_blockread.options import parse_size
from benchmarks.harness.lab import Lab
from benchmarks.harness.page import PAGE, Cells, as_table, cells_of, with_results

#: Benchmarks by name, to the module of each, in the order of the table.
NAMES = {
    "lines": "formats.lines",
    "escaped": "formats.escaped",
    "csv": "formats.csv",
    "frames": "frames",
    "json_lines": "formats.json_lines",
    "data_source": "data_source",
    "special_bytes": "formats.special_bytes",
    "small_files": "small_files",
    "merge": "merge",
    "objects": "objects",
    "listing": "ledger.listing",
    "planning": "ledger.planning",
    "window": "window",
    "scaling": "scaling",
    "connect": "connect",
    "memory": "memory",
    "ledger_size": "ledger.ledger_size",
    "discovery": "ledger.discovery",
    "pages": "pages",
    "tables": "tables",
}
_LONG = ("special_bytes", "scaling", "ledger_size", "discovery", "pages")  # half an hour, without comparisons
_QUICK = ("lines", "csv", "json_lines", "small_files", "planning", "window")
_QUICKLY = {"size": "64MiB", "files": 3000, "rounds": 1}


def main(arguments: list[str] | None = None) -> int:
    """Run the named benchmarks, or all, and return the exit code."""
    parser = _parser()
    given = parser.parse_args(arguments)
    quick = given.names == ["quick"]
    if quick:
        parser.set_defaults(**_QUICKLY)
        given = parser.parse_args(arguments)
    names = _QUICK if quick else given.names or [name for name in NAMES if name not in _LONG]
    if unknown := sorted(set(names) - set(NAMES)):
        parser.error(f"there is no benchmark {', '.join(unknown)}; choose quick, or from {', '.join(NAMES)}")
    machine, rows = _machine(), list[Cells]()
    print(machine, flush=True)
    with tempfile.TemporaryDirectory(prefix="blockread-bench-", dir=given.scratch) as scratch:
        lab = Lab(
            scratch=Path(scratch), size=parse_size(given.size), files=given.files, rounds=given.rounds, quick=quick
        )
        for row in _measured(lab, names):
            rows.append(row)
            print(" | ".join(cell for cell in row if cell), file=sys.stderr, flush=True)
            if given.write:
                page = PAGE.read_text("utf-8")
                PAGE.write_text(with_results(page, machine, rows, keep=bool(given.names)), "utf-8")
    print(f"\n{as_table(rows)}")
    return 0


def _measured(lab: Lab, names: Sequence[str]) -> Iterator[Cells]:
    for name in names:
        load = f"{os.getloadavg()[0]:.1f}"
        for row in importlib.import_module(f"benchmarks.{NAMES[name]}").run(lab):
            yield cells_of(row, load)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    which = f"of {', '.join(NAMES)}; default: all but {', '.join(_LONG)}; quick: some with little data, in two minutes"
    parser.add_argument("names", nargs="*", metavar="NAME", help=which)
    parser.add_argument("--size", default="1GiB", help="of the large files (default: %(default)s)")
    parser.add_argument("--files", type=int, default=100_000, help="how many small files (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="timed runs of each side (default: %(default)s)")
    parser.add_argument("--scratch", help="where to make a scratch folder (default: the system's)")
    parser.add_argument(
        "--write", action="store_true", help="put the rows into docs/benchmarks.md; named ones beside the others"
    )
    return parser


def _machine() -> str:
    memory = f"{psutil.virtual_memory().total / 2**30:.0f} GiB of memory"
    versions = ", ".join(f"{name} {version(name)}" for name in ("pyspark", "pyarrow", "duckdb", "polars"))
    return f"{os.cpu_count()} cores, {memory}, Python {platform.python_version()}, {versions}"


if __name__ == "__main__":
    sys.exit(main())
