"""What people do with windows while a process dies: give them up, rebuild them, read some files again, prune."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from airflow_provider_blockread.errors import ConflictError
from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.windows.exclusions import InPlan, exclude_file
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import Selection
from airflow_provider_blockread.options.plan import Limits
from airflow_provider_blockread.steps.plan.choosing import FileChoice
from airflow_provider_blockread.steps.running import WindowRunner
from airflow_provider_blockread.steps.upkeep.pruning import PruneRequest, prune
from airflow_provider_blockread.steps.upkeep.rebuilding import RebuildRequest, WindowRange, propose_rebuild, rebuild
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon, undo
from tests.crash.doomed import Doomed, Tasks, apart, die_at
from tests.crash.scenarios.making import FILES, Scenario
from tests.ledger.schema.revisions import one_more_revision
from tests.pipeline.make import START

_DAY_S = 86_400.0


def later(pipe: Doomed) -> None:
    """Let what was prepared be old."""
    pipe.pass_seconds(10 * _DAY_S)


def long_ago(work: Callable[[Doomed], object]) -> Callable[[Doomed], None]:
    """Return what does the work at the beginning of time."""

    def prepare(pipe: Doomed) -> None:
        now, pipe.time = pipe.time, START
        work(pipe)
        pipe.time = now

    return prepare


def _window(pipe: Doomed, key: str = "w") -> Window:
    return get_window(pipe.env.ledger, key, pipe.feed)


def _half_read(pipe: Doomed) -> None:
    pipe.put_old(FILES)
    pipe.read(pipe.plan(), groups=[0])


def _published(pipe: Doomed) -> None:
    """Publish two windows of a file each."""
    for name, data in FILES.items():
        pipe.put_old({name: data})
        pipe.run(name)


def _published_at_once(pipe: Doomed) -> None:
    pipe.put_old(FILES)
    apart(pipe, pipe.run)


def _published_in_the_end(pipe: Doomed) -> None:
    """Publish a window of which one attempt came to nothing and left its folder behind."""
    pipe.put_old(FILES)
    die_at(pipe, "store:exchange.results.write_result/1:before", pipe.run)
    pipe.run()


def _planned_for_nothing(pipe: Doomed) -> None:
    """Leave the manifest of a planner that died; another window takes its files."""
    pipe.put_old(FILES)
    die_at(pipe, "store:steps.plan.planning._choose_and_freeze/1:after", lambda: pipe.plan("dead"))
    pipe.run()


def _abandoning(pipe: Doomed, tasks: Tasks) -> None:
    abandon(pipe.env, _window(pipe), who="me")
    tasks.window(pipe, "another")


def _giving_up(pipe: Doomed, tasks: Tasks) -> None:
    with suppress(ConflictError):  # half published by then, when all is repeated
        tasks.once("abandon", lambda: abandon(pipe.env, _window(pipe), who="me").files)
    tasks.window(pipe, clear_number=2)


def _half_rebuilt(pipe: Doomed) -> None:
    _published_at_once(pipe)
    ref = pipe.plan(clear_number=1)
    exclude_file(pipe.env.ledger, ref.window, pipe.uri("b.csv"), reason="x", who="me", plan=InPlan(range(ref.groups)))
    pipe.read(ref, clear_number=1, groups=[0])


def _undoing(pipe: Doomed, tasks: Tasks) -> None:
    undo(pipe.env, _window(pipe, "a.csv"), files="pending", who="me")
    tasks.window(pipe, "another")


def _undoing_twice(pipe: Doomed, tasks: Tasks) -> None:
    with suppress(ConflictError):  # given back already, when all is repeated
        undo(pipe.env, _window(pipe), files="excluded", who="me")
    undo(pipe.env, _window(pipe), files="pending", who="me")
    tasks.window(pipe, "another")


def _again(pipe: Doomed, files: FileChoice | None) -> None:
    asked = RebuildRequest(range=WindowRange(feed=pipe.feed, until=START + timedelta(days=1)), files=files)
    rebuild(pipe.env, asked, WindowRunner(env=pipe.env, owner=pipe.owner, job=pipe.job, submitter=pipe.submitter))


def _rebuilding(pipe: Doomed, _: Tasks) -> None:
    _again(pipe, None)


def _reprocessing(pipe: Doomed, _: Tasks) -> None:
    files = FileChoice(path="b.csv", status="done")
    propose_rebuild(pipe.env, RebuildRequest(range=WindowRange(feed=pipe.feed), files=files))
    _again(pipe, files)


def _changed(pipe: Doomed) -> None:
    """Publish a window, of which a file changes then."""
    _published_at_once(pipe)
    pipe.put_old({"b.csv": b"id,msg\n33,ww\n44,vv\n"})


def _changed_twice(pipe: Doomed) -> None:
    """Let the file change once more, while its newer version is read."""
    _published_at_once(pipe)
    pipe.put_old({"b.csv": b"id,msg\n30,ww\n40,vv\n50,uu\n"})
    die_at(
        pipe, "commit:ledger.upkeep.requests.start_requested/1:after", lambda: _again(pipe, FileChoice(path="b.csv"))
    )
    pipe.put_old({"b.csv": b"id,msg\n33,ww\n44,vv\n"})


def _pruning(*, keep_manifests: bool) -> Callable[[Doomed, Tasks], None]:
    def act(pipe: Doomed, tasks: Tasks) -> None:
        request = PruneRequest(older_than=_DAY_S, keep=0, feed=pipe.feed, keep_manifests=keep_manifests)
        prune(pipe.env, request)
        for key in FILES if keep_manifests else ():
            tasks.window(pipe, key, clear_number=1)

    return act


def _each_second(pipe: Doomed) -> None:
    """Select by intervals: windows `a` and `w` and `next`, a second each."""
    pipe.selection = Selection(select="interval", late="next")
    pipe.intervals = {"a": (0, 2 * 10**9), "w": (2 * 10**9, 4 * 10**9), "next": (4 * 10**9, 6 * 10**9)}


def _late(pipe: Doomed) -> None:
    names = list(FILES)
    pipe.put_old({names[0]: FILES[names[0]]})
    pipe.run("a")
    pipe.put_old({names[1]: FILES[names[1]]})


def _dated(pipe: Doomed) -> None:
    pipe.time_pattern = "dt=%Y-%m-%d"


def _not_dated_yet(pipe: Doomed) -> None:
    """Leave a file whose time is another one, now that it is looked for in the path."""
    pattern, pipe.time_pattern = pipe.time_pattern, None
    pipe.selection = Selection(limits=Limits(max_files=1))
    pipe.put_old({f"dt=2026-01-0{number}/{name}": FILES[name] for number, name in enumerate(FILES, start=1)})
    pipe.run("one")
    pipe.selection, pipe.time_pattern = Selection(), pattern


def _of_earlier_package(pipe: Doomed) -> None:
    pipe.env.ledger.upgrade()
    _half_read(pipe)


def _upgrading(pipe: Doomed, tasks: Tasks) -> None:
    with one_more_revision():
        pipe.env.ledger.upgrade()
        tasks.window(pipe)


UPKEEP = [
    Scenario(name="time pattern", setup=_dated, prepare=_not_dated_yet, act=lambda pipe, tasks: tasks.window(pipe)),
    Scenario(name="upgrade with rows", prepare=_of_earlier_package, act=_upgrading, makes_ledger=True),
    Scenario(name="undo, then give back", prepare=_published_at_once, act=_undoing_twice),
    Scenario(name="prune leftovers", prepare=_published_in_the_end, act=_pruning(keep_manifests=False)),
    Scenario(name="prune a dead plan", prepare=_planned_for_nothing, act=_pruning(keep_manifests=False)),
    Scenario(name="late file", setup=_each_second, prepare=_late, act=lambda pipe, tasks: tasks.window(pipe)),
    Scenario(name="abandon", prepare=_half_read, act=_abandoning),
    Scenario(name="rebuild given up", prepare=_half_rebuilt, act=_giving_up),
    Scenario(name="undo", prepare=_published, act=_undoing),
    Scenario(name="undo with a log", prepare=_published, act=_undoing, into="parquet with a log"),
    Scenario(name="rebuild windows", setup=later, prepare=long_ago(_published), act=_rebuilding),
    Scenario(name="reprocess", setup=later, prepare=long_ago(_published_at_once), act=_reprocessing),
    *(
        Scenario(name=name, setup=later, prepare=long_ago(prepare), act=_reprocessing, ids=[1, 2, 33, 44], bad=[])
        for name, prepare in (("reprocess newer", _changed), ("reprocess what changed twice", _changed_twice))
    ),
    Scenario(name="prune", setup=later, prepare=long_ago(_published), act=_pruning(keep_manifests=False)),
    Scenario(name="clear pruned", setup=later, prepare=long_ago(_published), act=_pruning(keep_manifests=True)),
]
