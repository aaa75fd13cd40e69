"""A commit to a table that died somewhere: it goes forward or is taken back, and readers see whole windows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from airflow_provider_blockread.errors import ConflictError, ProofError
from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.ledger.windows.generations import get_generation
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import SINKS
from airflow_provider_blockread.sinks.tables.table import Table
from airflow_provider_blockread.steps import WindowRef, commit
from airflow_provider_blockread.steps.upkeep.pruning import PruneRequest, prune
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon, propose_undoing, undo
from tests.pipeline.dying import Died, dying
from tests.pipeline.make import Pipe, ReadHere
from tests.sinks.kinds import KINDS, opened_iceberg, rewrite_iceberg

pytestmark = pytest.mark.slow  # into each kind of table

_ALL = ["a1", "a2", "b1", "b2"]
_MOMENTS = ["before", "after"]


@pytest.fixture(params=[name for name in SINKS if KINDS[name].table])
def tables(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Pipe]:
    """A feed into each kind of table."""
    made = Pipe(folder=tmp_path, submitter=ReadHere(), kind=request.param)
    yield made
    made.close()


@contextmanager
def _dying(moment: str, name: str = "apply") -> Iterator[None]:
    """Let the process die before or right after a change of the table."""
    change = getattr(Table, name)

    def die(self: Table, *arguments: Any) -> Any:
        if name == "apply" and not arguments[0]:
            return change(self, *arguments)
        if moment == "after":
            change(self, *arguments)
        raise Died

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Table, name, die)
        with pytest.raises(Died):
            yield


def _half(here: Pipe, moment: str, *, clear_number: int = 0) -> WindowRef:
    here.put({"a.txt": b"a1\na2\n", "b.txt": b"b1\nb2\n"})
    here.group_bytes = 6
    if clear_number:
        here.run()
    ref = here.plan(clear_number=clear_number)
    here.read(ref, clear_number=clear_number)
    with _dying(moment):
        here.commit(ref)
    assert here.state() == "publishing"
    return ref


def _lose(here: Pipe, generation: int) -> None:
    """Remove the files of a generation, as somebody does who clears what no table names."""
    for path in here.folder.rglob(f"part-w*-g{generation}-*"):
        path.unlink()


@pytest.mark.sampled(2, each="moment")
@pytest.mark.parametrize("moment", _MOMENTS)
@pytest.mark.parametrize("clear_number", [0, 1])
def test_whole_run_is_cleared(tables: Pipe, moment: str, clear_number: int) -> None:
    """Clearing a run whose commit died completes what it had begun; the ledger knows the table's version."""
    ref = _half(tables, moment, clear_number=clear_number)
    assert tables.values() == ([] if moment == "before" and not clear_number else _ALL)
    done = tables.run(clear_number=clear_number + 1)

    assert (done.status, done.generation, tables.values()) == ("published", ref.generation, _ALL)
    assert get_generation(tables.env.ledger, ref.window, ref.generation).table_version
    assert tables.run(clear_number=clear_number + 2).generation == ref.generation + 1
    assert tables.values() == _ALL


@pytest.mark.parametrize("clear_number", [0, 1])
def test_staged_files_are_lost(tables: Pipe, clear_number: int) -> None:
    """A generation that cannot go forward makes way for another, and what was published before stays."""
    ref = _half(tables, "before", clear_number=clear_number)
    _lose(tables, ref.generation)
    with pytest.raises(ProofError, match="clear the run from its plan on"):
        tables.commit(ref)
    assert "lost files before they were published" in tables.plan(clear_number=clear_number).message
    assert tables.values() == (_ALL if clear_number else [])
    done = tables.run(clear_number=clear_number)

    assert (done.status, done.generation, tables.values()) == ("published", clear_number + 2, _ALL)


@pytest.mark.parametrize("moment", _MOMENTS)
def test_taking_back_a_lost_generation_dies(tables: Pipe, moment: str) -> None:
    """The next try takes it back again, and changes nothing of what is published."""
    ref = _half(tables, "before", clear_number=1)
    _lose(tables, ref.generation)
    with _dying(moment, "undo"):
        tables.plan(clear_number=1)
    tables.plan(clear_number=1)
    assert tables.values() == _ALL

    assert (tables.run(clear_number=1).generation, tables.values()) == (3, _ALL)


@pytest.mark.sampled(3, each="moment")
@pytest.mark.parametrize("clear_number", [0, 1])
@pytest.mark.parametrize("committed", _MOMENTS)
@pytest.mark.parametrize("moment", [*_MOMENTS, ""])
def test_undo_of_a_half(tables: Pipe, moment: str, committed: str, clear_number: int) -> None:
    """What a dead publisher may have committed goes, the files are read by a later window, and each record is once."""
    ref = _half(tables, committed, clear_number=clear_number)
    tables.pass_seconds(1000)
    window = get_window(tables.env.ledger, "w")
    if moment:
        with _dying(moment, "undo"):
            undo(tables.env, window, files="pending", who="me")
    undo(tables.env, window, files="pending", who="me")
    assert (tables.values(), tables.published()) == ([], [])
    with pytest.raises(ConflictError, match="abandoned"):
        commit(tables.env, ref, owner="asleep")

    assert (tables.run("next").records, tables.values()) == (4, _ALL)


def test_a_publisher_that_wakes_up(tables: Pipe) -> None:
    """One that was overtaken while it slept right before its commit finds the later change, and adds nothing."""
    ref = _half(tables, "before")
    journal: list[Any] = []
    apply = Table.apply

    def keep(self: Table, *arguments: Any) -> Any:
        journal.append((self, arguments))
        return apply(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Table, "apply", keep)
        tables.commit(ref)
    sink, (steps, marker, _) = journal[-1]
    undo(tables.env, get_window(tables.env.ledger, "w"), who="me")
    with pytest.raises(ProofError, match="is gone from the table, or a later change"):
        sink.apply(steps, marker, lambda: None)

    assert tables.values() == []


def test_what_failed_attempts_have_left_goes(tables: Pipe) -> None:
    """Files that no commit names go with the next publication of the window, or when it is given up."""
    tables.put({"a.txt": b"a1\n"})
    ref = tables.plan()
    tables.read(ref)
    tables.read(ref, clear_number=1)
    found = [path.name for path in tables.folder.rglob("part-w*")]
    assert len(found) == 2
    tables.commit(ref)
    _only_published(tables)

    tables.put({"b.txt": b"b1\n"})
    tables.read(tables.plan("other"))
    abandon(tables.env, get_window(tables.env.ledger, "other"), who="me")
    _only_published(tables)


def _only_published(tables: Pipe) -> None:
    """See that no other data files are there; those that were staged for a table of rows go with the next prune."""
    if not KINDS[tables.kind].in_folder:
        tables.pass_seconds(1000)
        prune(tables.env, PruneRequest(older_than=0, keep=0))
    shown = tables.published() if KINDS[tables.kind].in_folder else []
    assert [path.name for path in tables.folder.rglob("part-w*")] == shown


def test_readers_of_an_earlier_version_keep_their_files(tables: Pipe) -> None:
    """A rebuild and an undo leave the files that they replace; the table's owner removes them."""
    tables.put({"a.txt": b"a1\n"})
    tables.run()
    (old,) = tables.published()
    tables.run(clear_number=1)
    (new,) = tables.published()
    undo(tables.env, get_window(tables.env.ledger, "w"), who="me")

    kept = {old, new} if KINDS[tables.kind].in_folder else set()  # a table of rows has no earlier versions
    assert {path.name for path in tables.folder.rglob("part-w*")} == kept
    assert tables.published() == []


def test_a_pruned_window_stays(tables: Pipe) -> None:
    """Pruning takes nothing from the table."""
    tables.put({"a.txt": b"a1\n"})
    tables.run()
    tables.pass_seconds(1000)
    prune(tables.env, PruneRequest(older_than=0, keep=0))

    assert (tables.values(), tables.plan("next").status) == (["a1"], "empty")


def test_a_window_without_rows(tables: Pipe) -> None:
    """It is published, and a rebuild that finds none takes out what was there."""
    tables.put({"a.txt": b""})
    assert (tables.run().status, tables.values()) == ("published", [])
    assert list_windows(tables.env.ledger)[0].shown.number == 1


def test_a_work_area_that_dies_between_sinks(tables: Pipe) -> None:
    """The quarantine is published before the table's commit, so that only a whole window is ever seen."""
    tables.put({"a.txt": b"a1\n\xff\n"})
    tables.with_policies(on_bad_record="quarantine")
    with dying("publish_file", 0), pytest.raises(Died):
        tables.run()
    assert tables.values() == []
    tables.run(clear_number=1)

    assert tables.values() == ["a1"]
    assert len(list((tables.work / "quarantine").rglob("*.parquet"))) == 1


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_an_undo_that_the_table_refuses(tmp_path: Path, kind: str) -> None:
    """Nothing is recorded of it, also by a dry run, so that the window can be read again as the error advises."""
    here = Pipe(folder=tmp_path, submitter=ReadHere(), kind=kind, sink_options={"audit": ["_window"]})
    here.put({"a.txt": b"a1\na2\n"})
    here.run()
    here.put({"b.txt": b"b1\n"})
    here.run("other")
    if kind == "delta":
        DeltaTable(str(here.out)).optimize.compact()
    else:
        rewrite_iceberg(str(here.out))
    window = get_window(here.env.ledger, "w")
    for change in (lambda: propose_undoing(here.env, window), lambda: undo(here.env, window, who="me")):
        with pytest.raises(ProofError, match=r"set on_rewritten='delete_rows'.*clear the run"):
            change()
        assert get_window(here.env.ledger, "w").state == "open"
    here.sink_options["on_rewritten"] = "delete_rows"
    here.run(clear_number=1)
    undo(here.env, window, files="pending", who="me")
    assert here.values() == ["b1"]

    assert (here.run("next").records, here.values()) == (2, ["a1", "a2", "b1"])
    here.close()


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_table_that_was_emptied(tmp_path: Path, kind: str) -> None:
    """Without the column of windows nothing says that no rows are left, but another feed reads the files again."""
    here = Pipe(folder=tmp_path, submitter=ReadHere(), kind=kind)
    here.put({"a.txt": b"a1\n"})
    here.run()
    if kind == "delta":
        DeltaTable(str(here.out)).delete()
    else:
        opened_iceberg(str(here.out)).delete()
    with pytest.raises(ProofError, match="table was emptied, read all files again under another feed"):
        here.run(clear_number=1)
    here.feed = "again"
    here.run()

    assert here.values() == ["a1"]
    here.close()


def test_an_undo_in_a_table_to_which_rows_are_only_added(tmp_path: Path) -> None:
    """It is refused before anything is recorded, and the window is undone once rows may be removed."""
    here = Pipe(folder=tmp_path, submitter=ReadHere(), kind="delta")
    here.put({"a.txt": b"a1\n"})
    here.run()
    window = get_window(here.env.ledger, "w")
    table = DeltaTable(str(here.out))
    table.alter.set_table_properties({"delta.appendOnly": "true"})
    with pytest.raises(ProofError, match="is append-only"):
        undo(here.env, window, who="me")
    assert get_window(here.env.ledger, "w").state == "open"
    table.alter.set_table_properties({"delta.appendOnly": "false"})
    undo(here.env, window, who="me")

    assert here.values() == []
    here.close()
