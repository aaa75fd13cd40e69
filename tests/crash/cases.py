"""One case: a process dies at a fault point, another takes over, and the records are counted."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from airflow_provider_blockread.errors import ConflictError, error_class
from airflow_provider_blockread.steps.upkeep.pruning import PruneRequest, prune
from tests.crash.doomed import Doomed, Tasks, in_a_child, leftovers, open_files, strays
from tests.crash.faults import Fault, Faults
from tests.crash.scenarios.all import SCENARIOS
from tests.crash.scenarios.making import Scenario
from tests.postgres import new_schema, share_postgres

#: How a crash is made good: the task that died is tried again, or another owner runs everything again, later.
RETRIES = ("task", "run")
_LATER_S = 3600.0
_REBUILT = 9  # a clear number above those of all scenarios


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A scenario and its end. Without a fault nothing dies, and the points that it passes are returned."""

    scenario: str
    folder: Path
    url: str  # of a ledger: PostgreSQL's is shared with other cases, SQLite's is copied
    server: str  # of PostgreSQL, for tables; shared with other cases
    fault: Fault | None = None
    retry: str = "task"
    kind: str = "parquet"  # of the sink

    @property
    def database(self) -> str:
        """Which database the ledger lives in."""
        return self.url.partition(":")[0]

    def __str__(self) -> str:
        """Return what happens."""
        at = f"{self.fault.name} ({self.fault.skip} before)" if self.fault else "the end"
        return f"{self.scenario} into {self.kind}, {self.database}, ends at {at}, retried as {self.retry}"


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What a case came to; nothing is wrong where `wrong` is empty."""

    case: Case
    wrong: list[str] = field(default_factory=list)
    records: int = 0
    lost: int = 0
    doubled: int = 0
    trace: list[tuple[str, int, bool]] = field(default_factory=list)
    zombie: str = ""  # the error of a process that woke up too late


def run_case(case: Case) -> Outcome:
    """Run one case."""
    share_postgres(case.server)
    scenario = next(s for s in SCENARIOS if s.name == case.scenario)
    outcome = Outcome(case=case)
    case.folder.mkdir(parents=True)
    url = _ledger_url(case, scenario)
    report = case.folder / "test-report"
    first = in_a_child(partial(_first, case, scenario, url), report)
    _, status = os.waitpid(first, os.WUNTRACED)
    if case.fault is None:
        outcome.wrong += [report.read_text("utf-8")] if status else []
        outcome.trace = json.loads((case.folder / "test-trace").read_text("utf-8")) if not status else []
    elif not (os.WIFSIGNALED(status) or os.WIFSTOPPED(status)):
        outcome.wrong.append(f"nothing died: {report.read_text('utf-8') if report.exists() else 'not reached'}")
    with _opened(case, scenario, url) as pipe:
        _retry(case, scenario, pipe, outcome)
        if os.WIFSTOPPED(status):
            pipe.run(clear_number=_REBUILT)  # so that what the sleeper was publishing is not even shown any more
            _wake(first, report, outcome)
        _check(scenario, pipe, outcome)
    if not outcome.wrong:
        shutil.rmtree(case.folder)
        if pipe.elsewhere:
            shutil.rmtree(pipe.elsewhere, ignore_errors=True)
    return outcome


def _ledger_url(case: Case, scenario: Scenario) -> str:
    """Return the URL of the case's ledger, which is there but in scenarios that make it."""
    if case.database == "sqlite":
        file = case.folder / "ledger.db"
        if not scenario.makes_ledger:
            shutil.copyfile(case.url.removeprefix("sqlite:///"), file)
        return f"sqlite:///{file}"
    if not scenario.makes_ledger:
        return case.url
    server = case.url.partition("options=")[0].rstrip("?&")
    return new_schema(server, case.folder.name.replace("-", "_"), upgraded=False)


def _first(case: Case, scenario: Scenario, url: str) -> None:
    faults = Faults(fault=case.fault)
    with _opened(case, scenario, url, faults) as pipe:
        faults.fault = None
        scenario.prepare(pipe)
        faults.fault = case.fault
        faults.seen.clear()
        faults.trace.clear()
        with faults.arm():
            scenario.act(pipe, _tasks(case))
    faults.save(case.folder / "test-trace")


@contextmanager
def _opened(case: Case, scenario: Scenario, url: str, faults: Faults | None = None) -> Iterator[Doomed]:
    pipe = Doomed(folder=case.folder, url=url, faults=faults or Faults(), kind=case.kind)
    scenario.setup(pipe)
    try:
        yield pipe
    finally:
        pipe.close()


def _tasks(case: Case) -> Tasks:
    return Tasks(path=case.folder / "test-tasks.json", keeps=case.retry == "task")


def _retry(case: Case, scenario: Scenario, pipe: Doomed, outcome: Outcome) -> None:
    if case.retry == "run":
        pipe.owner = "another"
        pipe.pass_seconds(_LATER_S)
    try:
        scenario.act(pipe, _tasks(case))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the outcome
        outcome.wrong.append(f"the retry failed: {type(error).__name__}: {error}")


def _wake(process: int, report: Path, outcome: Outcome) -> None:
    """Let the stopped process continue: it ends in peace, or with a conflict."""
    os.kill(process, signal.SIGCONT)
    _, status = os.waitpid(process, 0)
    if status:
        outcome.zombie = report.read_text("utf-8").strip().splitlines()[-1]
        name = outcome.zombie.partition(":")[0].rpartition(".")[2]
        if not issubclass(error_class(name), ConflictError):
            outcome.wrong.append(f"the one that woke up ended with {outcome.zombie}")


def _check(scenario: Scenario, pipe: Doomed, outcome: Outcome) -> None:
    """Compare what is published with the truth, now and after the next window, which must find nothing to read."""
    if outcome.wrong:
        return
    for moment in ("after the retry", "after the next window"):
        found, bad = pipe.ids(), pipe.quarantined()
        outcome.records = len(found) + len(bad)
        outcome.lost = sum(found.count(i) < scenario.ids.count(i) for i in set(scenario.ids))
        outcome.doubled = sum(found.count(i) > scenario.ids.count(i) for i in set(found))
        if (found, bad) != (scenario.ids, scenario.bad):
            outcome.wrong.append(f"{moment} there are {found} and bad {bad}, not {scenario.ids} and {scenario.bad}")
        slept = outcome.case.fault is not None and outcome.case.fault.signal == signal.SIGSTOP
        outcome.wrong += [f"{moment}: stray {path}" for path in strays(pipe, named=slept)]
        outcome.wrong += [f"{moment}: {line}" for line in open_files(pipe)]
        if not outcome.wrong and moment == "after the retry":
            status = pipe.run("next").status
            outcome.wrong += [] if status == "empty" else [f"the next window is {status}"]
    _check_pruned(scenario, pipe, outcome)


def _check_pruned(scenario: Scenario, pipe: Doomed, outcome: Outcome) -> None:
    """Prune everything: nothing is left in the work area then, and readers see what they saw."""
    if outcome.wrong:
        return
    pipe.pass_seconds(_LATER_S)
    for hidden in pipe.work.rglob(".*.tmp"):  # time passes for files, too
        os.utime(hidden, (0, 0))
    prune(pipe.env, PruneRequest(older_than=0, keep=0, feed=pipe.feed))
    outcome.wrong += [f"pruned: left {path}" for path in leftovers(pipe)]
    if (pipe.ids(), pipe.quarantined()) != (scenario.ids, scenario.bad):
        outcome.wrong.append(f"pruned: there are {pipe.ids()} and bad {pipe.quarantined()}")
