"""Some files of published windows read again: their groups again, the others' results carried over and proven again."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import FileMissingError, OptionsError, ProofError
from airflow_provider_blockread.ledger.windows.generations import latest_generation, list_groups
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.steps.plan.choosing import FileChoice
from airflow_provider_blockread.steps.upkeep.pruning import PruneRequest, prune
from airflow_provider_blockread.steps.upkeep.rebuilding import RebuildRequest, WindowRange, propose_rebuild
from airflow_provider_blockread.steps.upkeep.withdrawing import undo
from tests.pipeline.correcting import OLD, Died, carry_out, die, publish
from tests.pipeline.dying import param, place
from tests.pipeline.make import Pipe, ReadHere


def _asked(path: str | None = None, status: str = "done") -> RebuildRequest:
    return RebuildRequest(range=WindowRange(feed="feed"), files=FileChoice(path=path, status=status))


def _reads(here: Pipe) -> list[list[int]]:
    """Return, for each generation, the epochs of its groups."""
    window = get_window(here.env.ledger, "w").id
    newest = latest_generation(here.env.ledger, window).number
    return [[len(list(here.work.glob(f"**/g{g}/{n:05d}-e*"))) for n in range(3)] for g in range(1, newest + 1)]


@pytest.mark.carried
@pytest.mark.parametrize("path", ["b.txt", "**/b.*", "{source}/b*", "file://{source}/?.txt", "nothing.txt"])
def test_only_the_groups_of_the_files_are_read(here: Pipe, path: str) -> None:
    """The others keep their published files, and the sums are those of the whole window."""
    old = publish(here)
    path = path.format(source=here.source).replace("?", "b" if "file:" in path else "?")
    asked = _asked(path)
    intent = propose_rebuild(here.env, asked)
    done = carry_out(here, asked)
    new = dict(zip("abc", sorted(here.published(), key=lambda name: name.split("-")), strict=False))

    if path == "nothing.txt":
        assert (intent.windows, done) == ((), [])
        return
    assert intent.windows[0].what.startswith("1 of 3 groups read again for 1 file as generation 2, which replaces")
    assert [(d.generation, d.records, d.files, d.outputs) for d in done] == [(2, 6, 3, 3)]
    assert _reads(here) == [[1, 1, 1], [0, 1, 0]]
    assert (here.values(), len(new)) == (OLD, 3)
    assert {old["a"], old["c"]} < set(here.published())
    assert old["b"] not in here.published()


@pytest.mark.slow
@pytest.mark.carried
def test_what_was_carried_over_is_carried_on_and_replaced(here: Pipe) -> None:
    """A second reprocess carries results of two generations; a rebuild replaces all; an undo takes all away."""
    publish(here)
    carry_out(here, _asked("b.txt"))
    (second,) = carry_out(here, _asked("c.txt"))
    names = here.published()
    assert (second.generation, second.records, here.values()) == (3, 6, OLD)
    assert _reads(here) == [[1, 1, 1], [0, 1, 0], [0, 0, 1]]

    here.run(clear_number=1)
    assert set(here.published()).isdisjoint(names)
    assert here.values() == OLD
    carry_out(here, _asked("a.txt"))
    undo(here.env, get_window(here.env.ledger, "w"), who="me")
    assert here.published() == []


@pytest.mark.slow
@pytest.mark.carried
def test_files_with_bad_records(here: Pipe) -> None:
    """By what was found in them: the quarantined bytes of the other groups stay too."""
    here.put({"a.txt": b"a\n\xff\n", "b.txt": b"b\n", "c.txt": b"\xfe\n"})
    here.group_bytes = 4
    here.with_policies(on_bad_record="quarantine")
    here.run()
    kept = sorted(path.name for path in (here.work / "quarantine").rglob("*.parquet"))
    groups = len(list_groups(here.env.ledger, get_window(here.env.ledger, "w").id, 1))
    (done,) = carry_out(here, RebuildRequest(range=WindowRange(window="w"), files=FileChoice(path="a*", status="bad")))
    now = sorted(path.name for path in (here.work / "quarantine").rglob("*.parquet"))

    assert (done.bad_records, done.rows, here.values()) == (2, 2, ["a", "b"])
    assert groups == 2
    assert (len(kept), len(now), len(set(kept) & set(now))) == (2, 2, 1)
    assert [d.generation for d in carry_out(here, _asked(status="quarantined"))] == [3]
    with pytest.raises(OptionsError, match="status must be done, bad, quarantined, not 'gone'"):
        FileChoice(status="gone")


def test_without_bad_records_nothing_is_read(here: Pipe) -> None:
    """A window without a file of that status is not listed at all."""
    publish(here)
    for status in ("bad", "quarantined"):
        assert propose_rebuild(here.env, _asked(status=status)).is_empty
        assert carry_out(here, _asked(status=status)) == []


@pytest.mark.slow
@pytest.mark.carried
def test_a_source_that_is_gone(here: Pipe) -> None:
    """Files of the groups that are carried over may be archived; one that must be read again may not."""
    publish(here)
    (here.source / "a.txt").unlink()
    (done,) = carry_out(here, _asked("b.txt"))
    assert (done.records, here.values()) == (6, OLD)

    assert propose_rebuild(here.env, _asked("b.txt")).all_warnings() == []
    (here.source / "b.txt").unlink()
    (alert,) = propose_rebuild(here.env, _asked("b.txt")).all_warnings()
    assert "this will fail, as files are gone at the source: file://" in alert
    with pytest.raises(FileMissingError, match=r"reprocess of window \w+ 'w' failed"):
        carry_out(here, _asked("b.txt"))
    assert here.values() == OLD


@pytest.mark.slow
@pytest.mark.files
def test_a_published_file_that_was_harmed_is_not_carried_over(here: Pipe) -> None:
    """The proof counts what readers see, so that a file which is gone fails it and nothing is replaced."""
    old = publish(here)
    (here.out / old["c"]).unlink()
    with pytest.raises(ProofError, match=r"fails its proof: output file .* cannot be counted"):
        carry_out(here, _asked("b.txt"))
    assert set(here.published()) == {old["a"], old["b"]}
    assert here.state() == "failed"

    (done,) = carry_out(here, _asked("b.txt"))  # after a failed proof every group is read again
    assert (done.generation, here.values()) == (2, OLD)


@pytest.mark.slow
@pytest.mark.carried
def test_a_group_whose_result_is_gone_is_read_again(here: Pipe) -> None:
    """What can be proven no more cannot be carried over."""
    publish(here)
    next(here.work.glob("**/g1/00002-e1/result.json")).unlink()
    asked = _asked("b.txt")

    assert "2 of 3 groups read again for 1 file, 1 of them since" in propose_rebuild(here.env, asked).windows[0].what
    assert [d.records for d in carry_out(here, asked)] == [6]
    assert (_reads(here), here.values()) == ([[1, 1, 1], [0, 1, 1]], OLD)


@pytest.mark.postgres
def test_a_table_of_rows_has_nothing_to_take_over(tmp_path: Path) -> None:
    """Its output files went when their rows were there, so every group is read again, and that is said before."""
    with closing(Pipe(folder=tmp_path, submitter=ReadHere(), kind="postgres")) as here:
        publish(here)
        said = propose_rebuild(here.env, _asked("b.txt")).windows[0].what
        assert said.startswith("3 of 3 groups read again for 1 file, 2 of them since they have no output files to")
        assert [d.records for d in carry_out(here, _asked("b.txt"))] == [6]
        assert (_reads(here), here.values()) == ([[1, 1, 1], [1, 1, 1]], OLD)


@pytest.mark.slow
@pytest.mark.parametrize(
    "step", [*map(param, ("publish_file", "remove_file", "confirm_entries", "sweep", "finish_publication"))]
)
def test_one_that_died_while_publishing_goes_on(here: Pipe, step: str) -> None:
    """Whatever was moved or removed by then, the repetition ends with each record once."""
    publish(here)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*place(step), die)
        with pytest.raises(Died):
            carry_out(here, _asked("b.txt"))
    assert set(here.values()) == set(OLD)
    (done,) = carry_out(here, _asked("b.txt"))

    assert (done.generation, here.values(), len(here.published())) == (2, OLD, 3)


@pytest.mark.slow
@pytest.mark.files
def test_a_half_that_lost_its_files_is_taken_back(here: Pipe) -> None:
    """Nothing that was carried over goes with it: readers see those files."""
    old = publish(here)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*place("publish_file"), die)
        with pytest.raises(Died):
            carry_out(here, _asked("b.txt"))
    for path in here.work.glob("**/g2/**/data/*"):
        path.unlink()
    here.plan()
    assert (set(here.published()), here.values()) == (set(old.values()), OLD)

    assert (here.run().generation, here.values()) == (3, OLD)
    assert set(here.published()).isdisjoint(old.values())


@pytest.mark.slow
@pytest.mark.columns
@pytest.mark.carried
def test_csv_that_spans_groups(here: Pipe) -> None:
    """All groups of a file are read again; a neighbour in one of them too, and quotes across borders hold."""
    rows = [f'{n},"x\n{n}"' for n in range(40)]
    here.put({"a.csv": "\n".join(rows).encode(), "b.csv": b'100,"y"\n', "c.csv": b'101,"z"\n'})
    here.record_format = Csv(schema="n long, s string")
    here.block_size, here.group_bytes = 64, 128
    here.run()
    before = here.rows()
    window = get_window(here.env.ledger, "w")
    (done,) = carry_out(here, _asked("b.csv"))

    assert window.groups > 3
    assert sorted(map(str, here.rows())) == sorted(map(str, before))
    assert done.records == 42
    again = len(list(here.work.glob("**/g2/*/job.json")))
    assert 0 < again < window.groups


@pytest.mark.slow
@pytest.mark.parametrize("status", ["bad", "quarantined"])
def test_bad_records_of_a_pruned_window_are_told(here: Pipe, status: str) -> None:
    """Which files had them was pruned, so the window is named and left alone; also when it was read again since."""
    here.with_policies(on_bad_record="quarantine")
    here.put({"a.txt": b"a1\n\xff\n", "b.txt": b"b1\n"})
    here.run()
    here.pass_seconds(86_400)
    prune(here.env, PruneRequest(older_than=0, keep=0, keep_manifests=True))

    for clear_number in (1, 2):
        (intent,) = propose_rebuild(here.env, _asked(status=status)).windows
        assert (intent.key, intent.does) == ("w", False)
        assert "1 of its records are bad, but in which files was pruned" in intent.what
        assert carry_out(here, _asked(status=status)) == []
        here.run(clear_number=clear_number)
    assert propose_rebuild(here.env, _asked("a.txt")).windows[0].does
