"""Plans that are refused: what each message asks for, done, makes the same plan."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import ExchangeError, OptionsError, PlanConflictError, WrongLedgerError
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.ledger.windows.planning import claim_window
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.steps import WindowRef
from airflow_provider_blockread.steps.upkeep.withdrawing import undo
from tests.pipeline.make import Pipe, ReadHere
from tests.remedies.desk import Desk


def _planned(desk: Desk, *options: str) -> tuple[str, ...]:
    return ("plan", str(desk.pipe.source), "--name", "feed", *options)


@pytest.mark.parametrize("remedy", ["restore", "add", "ignore"])
def test_a_modified_file(here: Pipe, desk: Desk, remedy: str) -> None:
    """It is restored, or `on_modified` is set to one of the words that the message names."""
    here.put({"a.txt": b"a\n"})
    before = (here.source / "a.txt").stat().st_mtime_ns
    here.run()
    here.put({"a.txt": b"longer\n"})
    message = desk.refused(*_planned(desk, "--on-modified", "fail"))
    assert "restore it, or set on_modified to 'add' or 'ignore'" in message

    if remedy == "restore":
        here.put({"a.txt": b"a\n"})
        os.utime(here.source / "a.txt", ns=(before, before))
    word = "fail" if remedy == "restore" else remedy
    assert ("1" if remedy == "add" else "0") in desk.done(*_planned(desk, "--on-modified", word))


@pytest.mark.parametrize(
    "remedy", [["--time-pattern", "%Y-%m"], ["--exclude", "notes.txt"], ["--on-untimed", "ignore"]]
)
def test_a_file_without_a_time(here: Pipe, desk: Desk, remedy: list[str]) -> None:
    """The pattern is corrected, the file left out, or `on_untimed` set to the word that the message names."""
    here.put({"2026-01.txt": b"a\n", "notes.txt": b"b\n"} if remedy[0] != "--time-pattern" else {"2026-01.txt": b"a\n"})
    pattern = "%Y-%m-%d" if remedy[0] == "--time-pattern" else "%Y-%m"
    options = ["--interval", "2026-01-01/2026-02-01", "--time-pattern", pattern, "--on-untimed", "fail"]
    message = desk.refused(*_planned(desk, *options))
    assert "correct the pattern, leave the file out by `exclude`, or set on_untimed to 'ignore'" in message

    assert "2026-01.txt" in desk.done(*_planned(desk, *options, *remedy))


@pytest.mark.parametrize("remedy", ["touch", "exclude"])
def test_a_time_that_the_ledger_cannot_hold(here: Pipe, desk: Desk, remedy: str) -> None:
    """It is corrected, or the file excluded; the message names the file."""
    here.put({"a.txt": b"a\n", "far.txt": b"b\n"})
    os.utime(here.source / "far.txt", ns=(0, 2**63))
    message = desk.refused(*_planned(desk))
    assert f"{here.uri('far.txt')}: its modification time is not between the years 1677 and 2262" in message
    if remedy == "touch":
        (here.source / "far.txt").touch()
        desk.done(*_planned(desk))
    else:
        desk.done(*_planned(desk, "--exclude", "far.txt"))


def test_several_sources_need_a_name(here: Pipe, desk: Desk) -> None:
    """Under it, a source that is added does not make those before another feed, whose files would be read again."""
    here.put({"a/1.txt": b"a\n", "b/1.txt": b"b\n", "c/1.txt": b"c\n"})
    roots = [str(here.source / name) for name in "abc"]
    run = ("run", "--output", str(here.out))
    assert "2 sources need a name" in desk.refused(*run, *roots[:2])
    desk.done(*run, *roots[:2], "--name", "landing")
    desk.done(*run, *roots, "--name", "landing")

    assert here.values() == ["a", "b", "c"]


def test_a_window_that_is_begun_stays_with_its_output(here: Pipe, desk: Desk) -> None:
    """Another output takes its files only once it is given up, or under another feed."""
    here.put({"a.txt": b"a\n"})
    plan, elsewhere = here.plan(), str(here.folder / "elsewhere")
    run = ("run", str(here.source), "--output", elsewhere)
    message = desk.refused(*run, "--name", "feed")
    assert f"window 'w' was begun for output file://{here.out}" in message
    desk.done(*run, "--name", "another")
    desk.carry_out(message)
    desk.done(*run, "--name", "feed", "--output", f"{elsewhere}2")
    assert get_window(here.env.ledger, plan.window).state == "abandoned"


@pytest.mark.parametrize("remedy", ["rename", "exclude"])
def test_a_name_that_is_no_text(here: Pipe, desk: Desk, remedy: str) -> None:
    """It is renamed, or excluded by the pattern that the message gives."""
    (here.source / "good.txt").write_bytes(b"a\n")
    wrong = os.fsencode(here.source) + b"/\xff.txt"
    Path(os.fsdecode(wrong)).write_bytes(b"b\n")
    message = desk.refused(*_planned(desk))
    assert "is not UTF-8" in message
    if remedy == "rename":
        Path(os.fsdecode(wrong)).rename(here.source / "right.txt")
        desk.done(*_planned(desk))
    else:
        desk.done(*_planned(desk, "--exclude", message.split("exclude='")[1].partition("'")[0]))


def test_a_feed_that_the_ledger_does_not_know(here: Pipe, desk: Desk) -> None:
    """The name is among those that the message lists."""
    here.put({"a.txt": b"a\n"})
    here.run()
    message = desk.refused("files", "list", "fed")
    assert "it knows feed" in message

    assert "a.txt" in desk.done("files", "list", message.rpartition(" ")[2])


def test_a_blank_key(here: Pipe, desk: Desk) -> None:
    """With a value it is planned, in a DAG as by a command."""
    here.put({"a.txt": b"a\n"})
    with pytest.raises(OptionsError, match="give it a value that names the run's data"):
        here.plan(" ")
    assert "--window is blank; give it a value" in desk.refused(*_planned(desk, "--window", " "))

    assert here.plan("2026-01-01").files == 1
    desk.done(*_planned(desk, "--window", "2026-01-01"))


@pytest.mark.parametrize("remedy", ["output", "pattern"])
def test_an_output_in_the_source(here: Pipe, desk: Desk, remedy: str) -> None:
    """Another place, or a pattern that leaves the output out."""
    here.put({"a.txt": b"a\n"})
    command = ("run", str(here.source), "--name", "feed")
    inside = ("--output", str(here.source / "out"))
    message = desk.refused(*command, *inside)
    assert "choose another place for the output, or a pattern that leaves it out" in message

    desk.done(*command, *(("--output", str(here.out)) if remedy == "output" else (*inside, "--pattern", "*.txt")))


@pytest.mark.parametrize("remedy", ["ledger", "output", "name", "remove"])
def test_an_output_of_another_ledger(here: Pipe, desk: Desk, remedy: str) -> None:
    """Each of the four ways that the message names."""
    here.put({"a.txt": b"a\n"})
    here.run()
    other = f"sqlite:///{here.folder}/other.db"

    def command(name: str = "feed", out: str = "out") -> tuple[str, ...]:
        return ("run", str(here.source), "--name", name, "--output", str(here.folder / out))

    message = desk.refused(*command(), state=other)
    assert "use that ledger, another output or feed name, or remove the output if its ledger is gone" in message
    if remedy == "ledger":
        desk.done(*command())
    elif remedy == "output":
        desk.done(*command(out="elsewhere"), state=other)
    elif remedy == "name":
        desk.done(*command(name="another"), state=other)
    else:
        for path in here.out.iterdir():
            path.unlink()
        desk.done(*command(), state=other)


def test_a_work_area_in_another_store(here: Pipe, desk: Desk) -> None:
    """It is refused before anything is read; beside the output it works."""
    here.put({"a.txt": b"a\n"})
    command = ("run", str(here.source), "--output", str(here.out), "--sink-option")

    message = desk.refused(*command, "work_uri=memory://staged")
    assert "is in another store than the output" in message
    assert "choose a place beside the output" in message
    assert not here.out.exists()
    desk.done(*command, f"work_uri={here.folder}/staged")
    assert here.values() == ["a"]


def test_a_step_that_reaches_another_ledger(here: Pipe) -> None:
    """Given the ledger of the plan, it works."""
    here.put({"a.txt": b"a\n"})
    ref = here.plan()
    mine, other = here.env, here.environment("other.db")
    here.env = other
    with pytest.raises(WrongLedgerError, match="give all tasks of the run the same ledger connection"):
        here.commit(ref)
    other.ledger.close()
    here.env = mine
    here.read(ref)

    assert here.commit(ref).records == 1


def test_a_planner_that_lives(here: Pipe) -> None:
    """The plan of the same key waits for it: read again when it is done, the window is there."""
    here.put({"a.txt": b"a\n"})
    here.plan("before")
    here.put({"b.txt": b"b\n"})
    with (
        claim_window(here.env.ledger, "feed", "w", owner="another process"),
        pytest.raises(PlanConflictError, match="is planning it, last heartbeat 0 s ago; wait, then plan again"),
    ):
        here.plan()

    assert here.run().records == 1


def test_a_key_that_another_planner_took(here: Pipe) -> None:
    """Planned again, it is that planner's window."""
    here.put({"a.txt": b"a\n"})
    ref = here.plan()
    with pytest.raises(PlanConflictError, match=r"is open since .*; plan again, to continue with it"):
        claim_window(here.env.ledger, "feed", "w", owner="me")

    assert here.plan().window == ref.window


def test_a_manifest_that_was_lost(here: Pipe) -> None:
    """Planned under the splitting of before it is written again; put back, it is as it was."""
    here.put({"a.txt": b"a1\na2\n"})
    ref: WindowRef = here.plan()
    [manifest] = here.work.rglob("manifest-*.parquet")
    planned = manifest.read_bytes()
    for lost in (manifest.unlink, lambda: manifest.write_bytes(planned[:-1])):
        lost()
        with pytest.raises(
            Exception, match="restore the file; or, to write it again with the same splitting as before, clear the run"
        ):
            here.read(ref)
        here.plan()
        assert manifest.read_bytes() == planned
    manifest.unlink()
    manifest.write_bytes(planned)
    here.read(ref)

    assert here.commit(ref).records == 2


@pytest.mark.parametrize("command", [["windows", "verify", "w"], ["windows", "rebuild", "w"], ["reprocess"]])
def test_a_manifest_of_a_published_window_that_was_lost(here: Pipe, desk: Desk, command: list[str]) -> None:
    """Repeated with the window's key, as the message says, the run writes it again; under other splitting it warns."""
    here.put({"a.txt": b"a\n"})
    run = ("run", str(here.source), "--output", str(here.out), "--name", "feed", "--window", "w")
    desk.done(*run)
    [manifest] = here.work.rglob("manifest-*.parquet")
    planned = manifest.read_bytes()
    manifest.unlink()
    assert f"Warning: manifest file://{manifest} is missing" in desk.done(*run, "--block-size", "1")
    assert not manifest.exists()
    again = [*command, *(["--window", "w"] if command == ["reprocess"] else [])]
    message = desk.refused(*again)
    assert f"manifest file://{manifest} is missing; restore the file; or, to write it again" in message
    assert "or repeat it on the command line with --window and the window's key" in message

    assert "Warning" not in desk.done(*run)
    assert manifest.read_bytes() == planned
    desk.done(*again)


def test_a_withdrawal_to_a_word_that_is_none(here: Pipe) -> None:
    """One of the words that the message names is taken."""
    here.put({"a.txt": b"a\n"})
    here.run()
    window = get_window(here.env.ledger, "w")
    with pytest.raises(OptionsError, match="files must be pending or excluded, not 'gone'"):
        undo(here.env, window, files="gone", who="me")

    assert undo(here.env, window, files="pending", who="me").files == 1


def test_a_specification_that_was_replaced(here: Pipe) -> None:
    """The task is cleared, as the message says, and writes it again."""
    here.put({"a.txt": b"a\n"})
    ref = here.plan()

    class Replaced(ReadHere):
        """Somebody else writes to the work area."""

        def submit(self, submission: Submission, *, name: str) -> None:
            path = Path(submission.spec_uri.removeprefix("file://"))
            path.write_bytes(path.read_bytes() + b" ")
            super().submit(submission, name=name)

    here.submitter = Replaced()
    with pytest.raises(ExchangeError, match="clear the task, which writes it again"):
        here.read(ref)
    here.submitter = ReadHere()
    here.read(ref, clear_number=1)

    assert here.commit(ref).records == 1
