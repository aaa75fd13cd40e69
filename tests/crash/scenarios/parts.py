"""Files that windows read in parts, while a process dies: published in order, given back, left out."""

from __future__ import annotations

from contextlib import suppress

from airflow_provider_blockread.errors import ConflictError
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import Selection
from airflow_provider_blockread.options.plan import Limits
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon, undo
from tests.crash.doomed import Doomed, Tasks
from tests.crash.scenarios.making import FILES, Scenario

_LONG = {"a.csv": FILES["a.csv"] + b"5,q\n6,r\n7,s\n"}  # its third part has a record too


def _two_blocks(pipe: Doomed) -> None:
    pipe.selection = Selection(limits=Limits(max_blocks=2))


def _two_blocks_of_what_is_there(pipe: Doomed) -> None:
    _two_blocks(pipe)
    pipe.with_policies(on_missing="exclude")


def _windows(pipe: Doomed, tasks: Tasks, *keys: str) -> None:
    for key in keys:
        tasks.window(pipe, key)


def _begun(pipe: Doomed) -> None:
    pipe.put_old(FILES)
    pipe.run()


def _begun_and_read_on(pipe: Doomed) -> None:
    _begun(pipe)
    pipe.read(pipe.plan("p2"))


def _begun_and_changed(pipe: Doomed) -> None:
    _begun(pipe)
    pipe.put_old({"a.csv": b"id,msg\n9,changed\n"})


def _planned_to_the_end(pipe: Doomed) -> None:
    pipe.put_old(FILES | _LONG)
    pipe.run()
    for key in ("p2", "p3"):
        pipe.plan(key)


def _giving_back(pipe: Doomed, tasks: Tasks) -> None:
    abandon(pipe.env, get_window(pipe.env.ledger, "p2", pipe.feed), who="me")
    _windows(pipe, tasks, "p3", "p4", "p5")


def _undone(pipe: Doomed, *keys: str) -> None:
    windows = [get_window(pipe.env.ledger, key, pipe.feed) for key in keys]
    for window in windows:
        with suppress(ConflictError):  # given back already, when all is repeated
            undo(pipe.env, window, files="excluded", who="me")
    for window in windows:
        undo(pipe.env, window, files="pending", who="me")


def _both_read(pipe: Doomed) -> None:
    _begun(pipe)
    pipe.run("p2")


def _undoing(pipe: Doomed, tasks: Tasks) -> None:
    _undone(pipe, "w")
    _windows(pipe, tasks, "q1", "q2", "q3", "q4")


def _undoing_both(pipe: Doomed, tasks: Tasks) -> None:
    _undone(pipe, "p2", "w")
    _windows(pipe, tasks, "q1", "q2", "q3", "q4")


def _rebuilding(pipe: Doomed, tasks: Tasks) -> None:
    tasks.window(pipe, "w", clear_number=1)
    _windows(pipe, tasks, "p2", "p3", "p4")


def _vanishing(pipe: Doomed, tasks: Tasks) -> None:
    ref = tasks.plan(pipe, "p2")
    (pipe.source / "a.csv").unlink(missing_ok=True)
    tasks.read(pipe, ref)
    pipe.commit(ref)
    _windows(pipe, tasks, "p3", "p4", "p5")


PARTS = [
    Scenario(name="parts", setup=_two_blocks, act=lambda pipe, tasks: _windows(pipe, tasks, "w", "p2", "p3", "p4")),
    Scenario(name="part given back", setup=_two_blocks, prepare=_begun_and_read_on, act=_giving_back),
    Scenario(name="part undone", setup=_two_blocks, prepare=_begun, act=_undoing),
    Scenario(name="parts undone", setup=_two_blocks, prepare=_both_read, act=_undoing_both),
    Scenario(name="part rebuilt", setup=_two_blocks, prepare=_begun_and_read_on, act=_rebuilding),
    Scenario(
        name="part of a changed file",
        setup=_two_blocks,
        prepare=_begun_and_changed,
        act=lambda pipe, tasks: _windows(pipe, tasks, "p2", "p3"),
    ),
    Scenario(
        name="parts of a vanished file",
        setup=_two_blocks_of_what_is_there,
        prepare=_planned_to_the_end,
        act=_vanishing,
    ),
]
