"""A file is corrected before its window is published, and a process dies while the newer version is taken and read."""

from __future__ import annotations

from collections.abc import Callable

from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.steps.plan.choosing import FileChoice
from airflow_provider_blockread.steps.running import WindowRunner
from airflow_provider_blockread.steps.upkeep.rebuilding import RebuildRequest, WindowRange, rebuild
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon
from tests.crash.doomed import Doomed, Tasks, apart, die_at
from tests.crash.scenarios.making import FILES, Scenario

_CORRECTED = {"b.csv": b"id,msg\n33,ww\n44,vv\n"}


def _half_read(pipe: Doomed) -> None:
    pipe.put_old(FILES)
    apart(pipe, lambda: pipe.read(pipe.plan(), groups=[0]))


def _corrected(pipe: Doomed) -> None:
    _half_read(pipe)
    pipe.put_old(_CORRECTED)


def _corrected_twice(pipe: Doomed) -> None:
    """Let the file be corrected once more, when its newer version is about to be read."""
    _half_read(pipe)
    pipe.put_old({"b.csv": b"id,msg\n30,ww\n40,vv\n50,uu\n"})
    die_at(pipe, "commit:ledger.windows.correcting.start_corrected/1:after", lambda: pipe.plan(clear_number=1))
    pipe.put_old(_CORRECTED)


def _clearing(clear_number: int) -> Callable[[Doomed, Tasks], object]:
    return lambda pipe, tasks: tasks.window(pipe, clear_number=clear_number)


def _reprocessing(pipe: Doomed, _: Tasks) -> None:
    asked = RebuildRequest(range=WindowRange(window="w", feed=pipe.feed), files=FileChoice(path="b.csv"))
    rebuild(pipe.env, asked, WindowRunner(env=pipe.env, owner=pipe.owner, job=pipe.job, submitter=pipe.submitter))


def _giving_up(pipe: Doomed, tasks: Tasks) -> None:
    tasks.plan(pipe, clear_number=1)
    abandon(pipe.env, get_window(pipe.env.ledger, "w", pipe.feed), who="me")
    tasks.window(pipe, "another")


def _scenario(name: str, prepare: Callable[[Doomed], object], act: Callable[[Doomed, Tasks], object]) -> Scenario:
    return Scenario(name=name, prepare=prepare, act=act, ids=[1, 2, 33, 44], bad=[])


CORRECTED = [
    _scenario("corrected", _corrected, _clearing(1)),
    _scenario("corrected twice", _corrected_twice, _clearing(2)),
    _scenario("corrected by hand", _corrected, _reprocessing),
    _scenario("corrected, then abandoned", _corrected, _giving_up),
]
