"""Kill a process at every fault point of every scenario.

python -m tests.crash [--list] [--quick] [--only SCENARIO] [--table FILE]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from tests.crash.cases import Outcome
from tests.crash.killing import Lab, as_table, by_sink, open_lab, unreached
from tests.crash.scenarios.unreached import UNREACHED
from tests.crash.sites import write_list
from tests.postgres import postgres_server


def main() -> int:
    """Run the cases, print failures, and write the table; return 1 if anything was lost, duplicated or left over."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--list", action="store_true", help="only write the list of fault points")
    parser.add_argument("--quick", action="store_true", help="each fault point once on each database")
    parser.add_argument("--only", action="append", default=[], metavar="SCENARIO", help="repeatable; default: all")
    parser.add_argument("--table", type=Path, help="where to write the result of each fault point")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", "1")))
    parser.add_argument("--processes", type=int, default=3)
    options = parser.parse_args()
    if options.list:
        write_list()
        return 0
    return _kill(options)


def _kill(options: argparse.Namespace) -> int:
    started = time.monotonic()
    with (
        postgres_server() as server,
        open_lab(server, processes=options.processes, seed=options.seed, everything=not options.quick) as lab,
    ):
        lab.on_server, lab.only = 1, options.only
        outcomes = list(_outcomes(lab))
    wrong = sum(bool(outcome.wrong) for outcome in outcomes)
    ended = sum(outcome.case.fault is not None for outcome in outcomes)
    figures = (
        f"{ended:,} processes ended in {time.monotonic() - started:.0f} s (seed {options.seed}); "
        f"{sum(outcome.records for outcome in outcomes):,} records checked, {sum(o.lost for o in outcomes)} lost, "
        f"{sum(o.doubled for o in outcomes)} doubled; {wrong} cases failed"
    )
    print(figures, by_sink(outcomes), sep="\n")
    if options.table:
        options.table.write_text(f"{_HEAD}\n{figures}.\n\n{by_sink(outcomes)}\n\n{as_table(outcomes)}\n", "utf-8")
    return int(wrong > 0)


def _outcomes(lab: Lab) -> Iterator[Outcome]:
    traces = lab.traces()
    kills, sleeps = lab.kills(traces), lab.sleeps(traces)
    print(f"{len(traces)} scenarios, {len(kills)} deaths, {len(sleeps)} sleepers", flush=True)
    if not lab.only:
        print("Never reached:", *set(unreached(traces)) - set(UNREACHED))
    for outcome in chain(traces.values(), lab.run(kills + sleeps)):
        if outcome.wrong:
            print(f"{outcome.case}: {outcome.wrong}", flush=True)
        yield outcome


_HEAD = """# Crashes

`make crash` generates this page. A fault point is a statement sent to the ledger, the commit of a transaction, a
change of a store, or a step of such a change on the local disk; `tests/crash` finds them in the code. At each fault
point a process that plans, reads or publishes a window is killed (`SIGKILL`), on SQLite and on PostgreSQL, in
several scenarios. Its task is retried, or another owner repeats the whole run later, and the published records are
compared with the truth. Sleeping processes are stopped instead (`SIGSTOP`), and continued after another process has
published and rebuilt the window. The sink of each scenario changes with the seed, except of those about one sink.
"""


if __name__ == "__main__":
    sys.exit(main())
