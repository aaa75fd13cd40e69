"""All cases: which process is killed where, on which database, and the table of the results."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path

from airflow_provider_blockread.options import SINKS
from tests.crash.cases import RETRIES, Case, Outcome, run_case
from tests.crash.faults import Fault
from tests.crash.forks import FORKS
from tests.crash.scenarios.all import SCENARIOS
from tests.crash.scenarios.making import Scenario
from tests.crash.scenarios.unreached import UNREACHED
from tests.crash.server import quick_folder
from tests.crash.sites import all_sites, fault_names
from tests.postgres import new_ledger, new_schema
from tests.sinks.kinds import KINDS

#: Scenarios in which tests let processes fall asleep: one that publishes may wake up with a copy half made.
SLEEPING = ("first", "rebuild", "another disk", "object store")

DATABASES = ("sqlite", "postgresql")

_CASE_S = 60.0  # some take one; that one hangs is an outcome, too
_STORES = ("store", "disk", "table")

#: What each scenario comes by, by database and name.
Traces = dict[tuple[str, str], Outcome]

#: Where processes end, by the fault point's name: the scenario, its sink and the moment.
Ends = dict[str, list[tuple[Scenario, str, Fault]]]


@dataclass
class Lab:
    """Runs cases, several at a time, each in a process forked from one that has everything imported."""

    folder: Path
    urls: dict[str, str]  # of a ledger, by database
    server: str  # of PostgreSQL
    processes: int = 2
    seed: int = 1
    everything: bool = False  # each scenario into every sink, not into one
    only: Sequence[str] = ()  # names of scenarios; empty: all
    on_server: int = 3  # one scenario of so many is tried on a server, too: most statements are the same
    numbers: Iterator[int] = field(default_factory=count)

    def scenarios(self, database: str) -> list[tuple[Scenario, str]]:
        """Return the scenarios, each with a sink that the seed decides, and on a server only some; or all with all."""
        kinds = [name for name in SINKS if not KINDS[name].like]
        turns = range(len(kinds)) if self.everything else range(1)
        every = [(i, s) for i, s in enumerate(SCENARIOS) if not self.only or s.name in self.only]
        found = [(s, kinds[(i + self.seed + turn) % len(kinds)]) for i, s in every for turn in turns]
        each = [(s, s.into or (kind if s.into_tables or KINDS[kind].table is None else kinds[0])) for s, kind in found]
        into = list({(s.name, kind): (s, kind) for s, kind in each}.values())
        if self.everything or database == DATABASES[0]:
            return into
        kept = {*SLEEPING, *(scenario.name for scenario in SCENARIOS if scenario.makes_ledger)}
        return [one for i, one in enumerate(into) if one[0].name in kept or (i + self.seed) % self.on_server == 0]

    def case(
        self, database: str, scenario: Scenario, kind: str, fault: Fault | None = None, *, retry: str = "run"
    ) -> Case:
        """Return a case in a folder of its own."""
        number = next(self.numbers)
        chosen = "run" if scenario.repeats else retry
        folder = self.folder / f"{database}-{number}"
        url = self.urls[database]
        return Case(
            scenario=scenario.name, folder=folder, url=url, server=self.server, fault=fault, retry=chosen, kind=kind
        )

    def run(self, cases: Iterable[Case]) -> Iterator[Outcome]:
        """Run the cases, in order."""
        with ThreadPoolExecutor(self.processes) as threads:
            yield from threads.map(_run_apart, cases)

    def traces(self) -> Traces:
        """Return what each scenario comes by on each database when nothing dies."""
        cases = [self.case(database, *scenario) for database in self.urls for scenario in self.scenarios(database)]
        keys = [(case.database, f"{case.scenario} into {case.kind}") for case in cases]
        return dict(zip(keys, self.run(cases), strict=True))

    def kills(self, traces: Traces) -> list[Case]:
        """Return a case for each fault point, in a scenario that the seed decides; or for each in every scenario."""
        cases: list[Case] = []
        for database in self.urls:
            ends: Ends = defaultdict(list)
            for scenario, kind in self.scenarios(database):
                trace = traces[database, f"{scenario.name} into {kind}"].trace
                for name, last in Counter(name for name, _, _ in trace).items():
                    ends[name] += [(scenario, kind, Fault(name=name, skip=skip)) for skip in sorted({0, last - 1})]
            if database != DATABASES[0] and not self.everything:  # stores are the same, whatever the database
                ends = {name: found for name, found in ends.items() if not name.startswith(_STORES)}
            cases += self._cases(database, ends)
        return cases

    def sleeps(self, traces: Traces) -> list[Case]:
        """Return such cases in which a process falls asleep where it holds no lock, and wakes up when all is done."""
        cases: list[Case] = []
        for database in self.urls:
            ends: Ends = defaultdict(list)
            for scenario, kind in (
                found for found in self.scenarios(database) if self.everything or found[0].name in SLEEPING
            ):
                trace = traces[database, f"{scenario.name} into {kind}"].trace
                free = [name for name, skip, free in trace if free and not skip]
                for name in (name for name in free if name.startswith(("commit", *_STORES))):
                    ends[name].append((scenario, kind, Fault(name=name, signal=signal.SIGSTOP)))
            cases += self._cases(database, ends)
        return cases

    def _cases(self, database: str, ends: Ends) -> list[Case]:
        """Return a case for each end, or for one by name, retried in one way or the other by turns."""
        chance = random.Random(f"{self.seed} {database}")
        found = [
            end for name in sorted(ends) for end in (ends[name] if self.everything else [chance.choice(ends[name])])
        ]
        ways = (RETRIES[(number + self.seed) % len(RETRIES)] for number in count())
        return [self.case(database, *end, retry=way) for end, way in zip(found, ways, strict=False)]

    def some(self, cases: list[Case], number: int) -> list[Case]:
        """Return a sample that the seed decides."""
        return random.Random(self.seed).sample(cases, min(number, len(cases)))


@contextmanager
def open_lab(server: str, *, processes: int = 2, seed: int = 1, everything: bool = False) -> Iterator[Lab]:
    """Give a lab in a folder of its own, and with a schema of its own on a PostgreSQL server."""
    with quick_folder() as folder:
        urls = {"sqlite": new_ledger(f"sqlite:///{folder / 'empty.db'}"), "postgresql": new_schema(server, "crash")}
        yield Lab(folder=folder, urls=urls, server=server, processes=processes, seed=seed, everything=everything)


def _run_apart(case: Case) -> Outcome:
    """Run a case in a process forked from one that has everything imported; it is ended when it takes too long."""
    here, there = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=_answer, args=(case, there))
    process.start()
    there.close()  # so that a process which dies without an answer is noticed
    try:
        if here.poll(_CASE_S):
            return here.recv()
        os.killpg(process.pid or 0, signal.SIGKILL)
        return Outcome(case=case, wrong=[f"not ended after {_CASE_S:.0f} s"])
    except EOFError:
        return Outcome(case=case, wrong=["the process that looks on died"])
    finally:
        here.close()
        process.join()


def _answer(case: Case, there: Connection) -> None:
    os.setpgid(0, 0)  # so that all processes of the case can be ended
    there.send(run_case(case))


def unreached(traces: Traces) -> list[str]:
    """Return the fault points that no scenario comes by."""
    seen = {name for outcome in traces.values() for name, _, _ in outcome.trace}
    return [site for site in all_sites() if not any(name in seen for name in fault_names(site))]


def point_of(fault: Fault | None) -> str:
    """Return the fault point at which a process ends, before it or behind it; empty if it does not."""
    return "" if fault is None else fault.name.removesuffix(":before").removesuffix(":after")


def as_table(outcomes: Iterable[Outcome]) -> str:
    """Return a line for each fault point: what it is, how often a process ended there, and the outcome."""
    ends: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.case.fault is not None:
            ends[point_of(outcome.case.fault)].append(outcome)
    lines = [
        "| fault point | scenarios | killed: SQLite | killed: PostgreSQL | asleep | outcome |",
        "|---|---|---|---|---|---|",
    ]
    for site in all_sites():
        if site in UNREACHED:
            lines.append(f"| `{site}` | | | | | {UNREACHED[site]} |")
            continue
        found = ends[site]
        killed, asleep = _counts(found)
        names = ", ".join(dict.fromkeys(o.case.scenario for o in found))
        counts = f"{killed['sqlite']} | {killed['postgresql']} | {asleep}"
        lines.append(f"| `{site}` | {names} | {counts} | {_verdict(found)} |")
    return "\n".join(lines)


def by_sink(outcomes: Iterable[Outcome]) -> str:
    """Return a line for each sink: how often a process ended that publishes into it, and what was found there."""
    ends: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.case.fault is not None:
            ends[outcome.case.kind].append(outcome)
    lines = [
        "| sink | killed: SQLite | killed: PostgreSQL | asleep | records checked | lost | doubled | failed |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind, found in sorted(ends.items()):
        killed, asleep = _counts(found)
        sums = [sum(getattr(o, name) for o in found) for name in ("records", "lost", "doubled")]
        cells = (killed["sqlite"], killed["postgresql"], asleep, *sums, sum(bool(o.wrong) for o in found))
        lines.append(f"| {kind} | {' | '.join(f'{cell:,}' for cell in cells)} |")
    return "\n".join(lines)


def _counts(found: Iterable[Outcome]) -> tuple[Counter[str], int]:
    """Return how many processes were killed, by database, and how many fell asleep."""
    faults = [(o.case.database, o.case.fault) for o in found if o.case.fault is not None]
    killed = Counter(database for database, fault in faults if fault.signal == signal.SIGKILL)
    return killed, sum(fault.signal == signal.SIGSTOP for _, fault in faults)


def _verdict(found: list[Outcome]) -> str:
    wrong = [outcome for outcome in found if outcome.wrong]
    if not found:
        return "not run"
    lost, doubled = (sum(getattr(o, name) for o in found) for name in ("lost", "doubled"))
    return f"{len(wrong)} FAILED" if wrong else f"each record once: {lost} lost, {doubled} doubled"
