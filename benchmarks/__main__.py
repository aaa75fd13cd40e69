"""`python -m benchmarks [NAME...]`: measure, and print a table."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import tempfile
from pathlib import Path

from airflow_provider_blockread.options import parse_size
from benchmarks.harness.lab import Lab
from benchmarks.harness.measure import as_table

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
    "listing": "ledger.listing",
    "planning": "ledger.planning",
    "window": "window",
    "connect": "connect",
    "memory": "memory",
    "ledger_size": "ledger.ledger_size",
    "discovery": "ledger.discovery",
    "pages": "pages",
    "tables": "tables",
}
_LONG = ("special_bytes", "ledger_size", "discovery", "pages")  # half an hour, without comparisons


def main(arguments: list[str] | None = None) -> int:
    """Run the named benchmarks, or all, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    which = f"of {', '.join(NAMES)}; default: all but {', '.join(_LONG)}"
    parser.add_argument("names", nargs="*", metavar="NAME", help=which)
    parser.add_argument("--size", default="1GiB", help="of the large files (default: %(default)s)")
    parser.add_argument("--files", type=int, default=100_000, help="small files to plan (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="timed runs of each side (default: %(default)s)")
    parser.add_argument("--scratch", help="where to make a scratch folder (default: the system's)")
    given = parser.parse_args(arguments)
    if unknown := sorted(set(given.names) - set(NAMES)):
        parser.error(f"there is no benchmark {', '.join(unknown)}; choose from {', '.join(NAMES)}")
    with tempfile.TemporaryDirectory(prefix="blockread-bench-", dir=given.scratch) as scratch:
        lab = Lab(scratch=Path(scratch), size=parse_size(given.size), files=given.files, rounds=given.rounds)
        print(_machine(), flush=True)
        rows = []
        for name in given.names or (name for name in NAMES if name not in _LONG):
            for row in importlib.import_module(f"benchmarks.{NAMES[name]}").run(lab):
                print(f"{row.work}: {row.rival} | {row.ours} | {row.ratio} {row.verdict}", file=sys.stderr, flush=True)
                rows.append(row)
    print(f"\n{as_table(rows)}\n\n{_load('after')}")
    return 0


def _machine() -> str:
    import pyarrow as pa  # noqa: PLC0415 - only for its version
    import pyspark

    parts = f"Python {platform.python_version()}, Spark {pyspark.__version__}, pyarrow {pa.__version__}"
    return f"{os.cpu_count()} cores, {parts}; {_load('before')}"


def _load(when: str) -> str:
    return f"load {when}: " + " ".join(f"{load:.2f}" for load in os.getloadavg())


if __name__ == "__main__":
    sys.exit(main())
