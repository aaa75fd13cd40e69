"""What a pipeline goes through while its process dies: all that plan, read and commit can meet."""

from __future__ import annotations

from collections.abc import Callable

from deltalake import DeltaTable

from airflow_provider_blockread.errors import ProofError, RecordError
from airflow_provider_blockread.ledger.windows.exclusions import InPlan, exclude_file
from airflow_provider_blockread.ledger.windows.generations import get_generation
from airflow_provider_blockread.options import SINKS, ArrowFunction, AsRead, Selection
from airflow_provider_blockread.options.plan import Limits
from tests.crash.doomed import Doomed, Tasks, apart, die_at
from tests.crash.scenarios.clean import CLEANING
from tests.crash.scenarios.corrected import CORRECTED
from tests.crash.scenarios.making import FILES, Scenario
from tests.crash.scenarios.parts import PARTS
from tests.crash.scenarios.upkeep import UPKEEP
from tests.disks import another_disk
from tests.pipeline.make import START
from tests.sinks.kinds import KINDS, rewrite_iceberg


def _published(pipe: Doomed) -> None:
    pipe.put_old(FILES)
    apart(pipe, pipe.run)


def _half_planned(key: str) -> Callable[[Doomed], None]:
    def prepare(pipe: Doomed) -> None:
        pipe.put_old(FILES)
        now, pipe.time = pipe.time, START
        die_at(pipe, "commit:ledger.windows.planning.Planner.take/1:after", lambda: pipe.plan(key))
        pipe.time = now

    return prepare


def _half_published(pipe: Doomed) -> None:
    pipe.put_old(FILES)
    die_at(pipe, "store:sinks.directory.Directory._add/1:after", pipe.run)


def _half_lost(pipe: Doomed) -> None:
    _published(pipe)
    die_at(pipe, "store:sinks.directory.Directory._add/1:after", lambda: pipe.run(clear_number=1))
    for staged in pipe.work.glob(f"{pipe.feed}/**/g2/**/data/*"):
        staged.unlink()


def _changing(pipe: Doomed) -> None:
    """Leave every kind of file to the next scan: taken and modified, waiting and modified, gone, and back again."""
    rows = {f"{name}.csv": b"id,msg\n%d,x\n" % number for number, name in enumerate("abcdef", start=1)}
    pipe.put_old(rows)
    pipe.selection = Selection(limits=Limits(max_files=1))
    pipe.run("one")
    aside = pipe.folder / "in" / ".d"
    (pipe.source / "d.csv").rename(aside)
    pipe.run("two")
    aside.rename(pipe.source / "d.csv")
    (pipe.source / "e.csv").unlink()
    for name in ("a.csv", "c.csv"):
        (pipe.source / name).write_bytes(b"id,msg\n33,x\n")
    pipe.put({"g.csv": b"id,msg\n7,x\n"})
    pipe.selection = Selection()


def _excluding(pipe: Doomed, tasks: Tasks) -> None:
    ref = tasks.plan(pipe)
    (pipe.source / "b.csv").unlink(missing_ok=True)
    tasks.read(pipe, ref)
    tasks.read(pipe, ref, again=" again")
    pipe.commit(ref)


def _excluding_by_hand(clear_number: int) -> Callable[[Doomed, Tasks], None]:
    def act(pipe: Doomed, tasks: Tasks) -> None:
        ref = tasks.plan(pipe, clear_number=clear_number)
        tasks.read(pipe, ref, clear_number=clear_number)
        if ref.status == "read" and get_generation(pipe.env.ledger, ref.window, ref.generation).state == "reading":
            path, groups = pipe.uri("b.csv"), range(ref.groups)
            tasks.once(
                "exclude",
                lambda: exclude_file(pipe.env.ledger, ref.window, path, reason="x", who="me", plan=InPlan(groups)),
            )
        tasks.read(pipe, ref, clear_number=clear_number, again=" again")
        pipe.commit(ref)

    return act


def _failing_read(pipe: Doomed, tasks: Tasks) -> None:
    pipe.with_policies(on_bad_record="fail")
    try:
        tasks.window(pipe)
    except RecordError:
        pipe.with_policies(on_bad_record="quarantine")
        tasks.window(pipe)


def _failing_proof(pipe: Doomed, tasks: Tasks) -> None:
    ref = tasks.plan(pipe)
    tasks.read(pipe, ref)
    staged = [path for path in pipe.work.rglob("*-e1-*") if path.parent.name == "data"]
    try:
        if pipe.state() == "reading" and staged:
            staged[0].unlink(missing_ok=True)
        pipe.commit(ref)
    except ProofError:
        tasks.window(pipe, clear_number=1)


def _half_copied(pipe: Doomed) -> None:
    pipe.put_old(FILES)
    ref = pipe.plan()
    pipe.read(ref)
    replaced = "disk:storage.backends.disk._replace_synced/1"  # of the quarantine, on this disk, before the output
    die_at(pipe, replaced, lambda: pipe.commit(ref), skip=1)


def _manifest_lost(pipe: Doomed) -> None:
    pipe.put_old(FILES)
    pipe.plan()
    next(pipe.work.rglob("manifest-*")).unlink()


def _upgrading(pipe: Doomed, tasks: Tasks) -> None:
    pipe.env.ledger.upgrade()
    pipe.env.ledger.upgrade()  # a second time, when it is there
    tasks.window(pipe)


def _to_bucket(pipe: Doomed) -> None:
    pipe.scheme = "bucket://"


def _to_another_disk(pipe: Doomed) -> None:
    place = f"{pipe.folder.parent.name}-{pipe.folder.name}.blockread"  # of this run alone
    pipe.elsewhere = another_disk(pipe.folder.parent) / place


def _of_a_run(pipe: Doomed) -> None:
    pipe.airflow_run = "dag/run"


def _partitioned(pipe: Doomed) -> None:
    pipe.partition_by = ("msg",)


def _with_more(pipe: Doomed) -> None:
    pipe.schema, pipe.function = "add_columns", ArrowFunction("tests.crash.as_lines:with_more")


def _published_without_more(pipe: Doomed) -> None:
    evolving, pipe.function = pipe.function, AsRead()
    pipe.put_old(FILES)
    apart(pipe, lambda: pipe.run("before"))
    pipe.function = evolving
    pipe.put({"c.csv": b"id,msg\n5,x\n"})


def _deleting_rows(pipe: Doomed) -> None:
    pipe.sink_options = {"audit": ["_window"], "on_rewritten": "delete_rows"}


def _compacted(pipe: Doomed) -> None:
    """Leave two windows in one file of another writer."""
    _published(pipe)
    pipe.put({"c.csv": b"id,msg\n5,x\n"})
    apart(pipe, lambda: pipe.run("after"))
    place = str(pipe.out)
    apart(pipe, lambda: DeltaTable(place).optimize.compact() if pipe.kind == "delta" else rewrite_iceberg(place))


def _small_row_groups(pipe: Doomed) -> None:
    pipe.writes_early, pipe.group_bytes = True, 2**20  # so that something is written before the record that is bad


def _window(clear_number: int = 0) -> Callable[[Doomed, Tasks], object]:
    return lambda pipe, tasks: tasks.window(pipe, clear_number=clear_number)


def _policies(**policies: str) -> Callable[[Doomed], object]:
    return lambda pipe: pipe.with_policies(**policies)


SCENARIOS = [
    *UPKEEP,
    *PARTS,
    *CLEANING,
    *CORRECTED,
    Scenario(name="first", setup=_of_a_run, act=_window()),
    Scenario(name="rebuild", prepare=_published, act=_window(1)),
    Scenario(name="verify", setup=_policies(on_rerun="verify"), prepare=_published, act=_window(1)),
    Scenario(name="empty", prepare=lambda _: None, act=_window(), ids=[], bad=[]),
    Scenario(
        name="empty files", prepare=lambda pipe: pipe.put({"a.csv": b"", "b.csv": b""}), act=_window(), ids=[], bad=[]
    ),
    Scenario(name="changing files", prepare=_changing, act=_window(), ids=[1, 2, 4, 6, 7, 33], bad=[]),
    Scenario(
        name="dead planner", setup=lambda pipe: pipe.pass_seconds(1000), prepare=_half_planned("dead"), act=_window()
    ),
    Scenario(name="own dead plan", prepare=_half_planned("w"), act=_window()),
    Scenario(name="half published", prepare=_half_published, act=_window()),
    Scenario(name="half lost", prepare=_half_lost, act=_window(1)),
    Scenario(name="vanished file", setup=_policies(on_missing="exclude"), act=_excluding, ids=[1, 2], bad=[]),
    Scenario(name="exclude", act=_excluding_by_hand(0), ids=[1, 2], bad=[]),
    Scenario(name="exclude from a rebuild", prepare=_published, act=_excluding_by_hand(1), ids=[1, 2], bad=[]),
    Scenario(name="failed read", setup=_small_row_groups, act=_failing_read, repeats=True),
    Scenario(name="failed proof", act=_failing_proof, repeats=True),
    Scenario(name="lost manifest", prepare=_manifest_lost, act=_window()),
    Scenario(name="object store", setup=_to_bucket, prepare=_published, act=_window(1), into_tables=False),
    Scenario(name="another disk", setup=_to_another_disk, prepare=_published, act=_window(1), into_tables=False),
    Scenario(name="half copied", setup=_to_another_disk, prepare=_half_copied, act=_window(), into_tables=False),
    Scenario(name="partitions", setup=_partitioned, prepare=_published, act=_window(1), into="parquet"),
    Scenario(name="log", prepare=_half_lost, act=_window(1), into="parquet with a log"),
    Scenario(name="log of csv", prepare=_half_lost, act=_window(1), into="csv with a log"),
    *(
        Scenario(
            name=f"new column in {kind}",
            setup=_with_more,
            prepare=_published_without_more,
            act=_window(),
            ids=[1, 2, 3, 5],
            into=kind,
        )
        for kind in ("parquet with a log", *SINKS)
        if KINDS[kind].table
    ),
    *(
        Scenario(
            name=f"compacted {kind}",
            setup=_deleting_rows,
            prepare=_compacted,
            act=_window(1),
            ids=[1, 2, 3, 5],
            into=kind,
        )
        for kind in ("delta", "iceberg")
    ),
    Scenario(name="archives", prepare=_published, act=_window(1), into="archive"),
    Scenario(name="archives, failed read", setup=_small_row_groups, act=_failing_read, repeats=True, into="archive"),
    Scenario(name="upgrade", act=_upgrading, makes_ledger=True),
]
