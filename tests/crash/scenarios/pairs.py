"""Two processes that start the same work at the same moment."""

from __future__ import annotations

from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path

from airflow_provider_blockread.steps import WindowRef
from tests.crash.doomed import Doomed
from tests.crash.forks import FORKS

_START_S = 120.0  # until both are ready


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A step for one of the two: what, as whom, on which window."""

    folder: Path
    url: str
    step: str  # plan, read or commit
    owner: str
    key: str = "w"


def open_pipe(folder: Path, url: str, owner: str = "test") -> Doomed:
    """Return the pipeline of a folder, on a ledger that is there."""
    return Doomed(folder=folder, url=url, owner=owner)


def run_pair(jobs: list[Job]) -> list[str]:
    """Run the jobs at once and return what each came to: a status, or the error's class and text."""
    start = FORKS.Barrier(len(jobs))
    pipes, ends, processes = [], [], []
    for job in jobs:
        here, there = FORKS.Pipe(duplex=False)
        processes.append(FORKS.Process(target=_work, args=(job, start, there), daemon=True))
        pipes.append(here)
        ends.append(there)
    for process, end in zip(processes, ends, strict=True):
        process.start()
        end.close()  # so that a process which dies without an answer is noticed
    answers = [str(pipe.recv()) for pipe in pipes]
    for process in processes:
        process.join()
    return answers


def _work(job: Job, start: Barrier, answer: Connection) -> None:
    pipe = open_pipe(job.folder, job.url, job.owner)
    try:
        ref = None if job.step == "plan" else pipe.plan(job.key)
        start.wait(_START_S)
        answer.send(_step(pipe, job, ref))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        answer.send(f"{type(error).__name__}: {error}")
    finally:
        pipe.close()


def _step(pipe: Doomed, job: Job, ref: WindowRef | None) -> str:
    if ref is None:
        return pipe.plan(job.key).status
    if job.step == "read":
        return "done before" if all(outcome.done_before for outcome in pipe.read(ref)) else "done"
    return pipe.commit(ref).status
