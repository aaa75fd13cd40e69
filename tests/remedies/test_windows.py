"""Windows that cannot be given up, left out of or read again as asked: each message names a command, which works."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from airflow_provider_blockread.errors import BlockReadError, ConflictError, SparkJobError
from airflow_provider_blockread.ledger.upkeep.withdrawing import begin_abandoning, begin_undoing
from airflow_provider_blockread.ledger.windows.generations import get_generation, start_generation
from airflow_provider_blockread.ledger.windows.publishing import claim_publication
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import Limits, Selection
from airflow_provider_blockread.steps.plan.choosing import FileChoice
from airflow_provider_blockread.steps.running import WindowRunner
from airflow_provider_blockread.steps.upkeep import withdrawing
from airflow_provider_blockread.steps.upkeep.rebuilding import RebuildRequest, WindowRange, rebuild
from tests.pipeline.dying import Died, dying
from tests.pipeline.make import Pipe, ReadHere
from tests.remedies.advice import commands
from tests.remedies.desk import Desk

_LINES = b"".join(b"%04d\n" % number for number in range(20))


@pytest.fixture
def two(here: Pipe) -> Pipe:
    """Two files in two groups, not planned yet."""
    here.put({"a file.txt": b"a1\na2\n", "b.txt": b"b1\nb2\n"})
    here.group_bytes = 6
    return here


def _half(two: Pipe, *, clear_number: int = 0) -> str:
    """Let a commit die half way, and return its window."""
    ref = two.plan(clear_number=clear_number)
    two.read(ref, clear_number=clear_number)
    with dying("publish_file", 1), pytest.raises(Died):
        two.commit(ref)
    two.pass_seconds(1000)
    return ref.window


def test_a_published_window_is_undone_instead(two: Pipe, desk: Desk) -> None:
    """`abandon` of a published window names `undo`, which takes it away."""
    two.run()
    desk.carry_out(desk.refused("windows", "abandon", "w"))

    assert (two.rows(), two.plan("w2").status) == ([], "empty")


def test_a_half_published_window_is_undone_instead(two: Pipe, desk: Desk) -> None:
    """The same for a first generation that is half published."""
    _half(two)
    message = desk.refused("windows", "abandon", "w")
    assert "half published" in message
    desk.carry_out(message)

    assert two.rows() == []


def test_an_unpublished_window_is_abandoned_instead(two: Pipe, desk: Desk) -> None:
    """`undo` of an unpublished window names `abandon`, which gives the files back."""
    two.plan()
    desk.carry_out(desk.refused("windows", "undo", "w"))

    assert two.run("w2").files == 2


def test_an_unknown_window_is_found_in_the_list(two: Pipe, desk: Desk) -> None:
    """The list that the message names has the name that was meant."""
    two.run()
    listed = desk.carry_out(desk.refused("windows", "show", "v"))
    assert two.plan().window in listed

    desk.done("windows", "show", listed.split()[listed.split().index("w")])


def test_a_key_of_two_feeds_needs_the_feed_or_the_id(two: Pipe, desk: Desk) -> None:
    """Either option of the message distinguishes the two."""
    first = two.plan()
    two.feed = "other"
    two.plan()
    assert "name the feed (--name), or give the window's id" in desk.refused("windows", "show", "w")

    assert first.window in desk.done("windows", "show", "w", "--name", "feed")
    assert first.window in desk.done("windows", "show", first.window)


def test_what_a_window_holds_is_shown(two: Pipe, desk: Desk) -> None:
    """The list of files that the message names has the path that was meant, and that one can be left out."""
    two.plan()
    wrong = f"{two.source}/a.txt"
    listed = desk.carry_out(desk.refused("windows", "exclude", "w", wrong, "--reason", "broken"))
    path = next(line.split("  ")[0] for line in listed.splitlines() if "a file" in line)
    desk.done("windows", "exclude", "w", path, "--reason", "broken")
    two.run()

    assert two.values() == ["b1", "b2"]


def test_a_file_of_a_published_window_goes_by_a_rebuild(two: Pipe, desk: Desk) -> None:
    """A rebuild that was begun and failed leaves the file out, and is gone on with by the same command."""
    two.run()
    command = ("windows", "exclude", "w", two.uri("a file.txt"), "--reason", "broken")
    message = desk.refused(*command)
    two.source.joinpath("a file.txt").rename(two.folder / "away")
    assert "blockread windows exclude" in desk.refused(*commands(message)[0])
    desk.done(*command)
    desk.carry_out(message)

    assert two.values() == ["b1", "b2"]


def test_a_file_of_a_published_window_goes_with_the_window(two: Pipe, desk: Desk) -> None:
    """The other way that the message names."""
    two.run()
    desk.carry_out(desk.refused("windows", "exclude", "w", two.uri("b.txt"), "--reason", "broken"), number=1)

    assert two.rows() == []


def test_a_part_of_a_published_window_goes_with_the_window(here: Pipe, desk: Desk) -> None:
    """A rebuild cannot leave a part out: the window is taken away by the command that the message names."""
    here.put({"a.txt": _LINES})
    here.block_size, here.selection = 16, Selection(limits=Limits(max_bytes=40))
    for key in "123":
        here.run(key)
    ref = here.plan("3", clear_number=1)
    message = desk.refused("windows", "exclude", "3", here.uri("a.txt"), "--reason", "broken")
    assert "with a part of this file" in message
    desk.carry_out(message)

    assert len(here.rows()) < 20
    assert ref.generation == 2


def test_a_part_is_left_out_of_the_last_window_first(here: Pipe, desk: Desk) -> None:
    """The windows that continue behind a part are named, one at a time."""
    here.put({"a.txt": _LINES})
    here.block_size, here.selection = 16, Selection(limits=Limits(max_bytes=40))
    refs = [here.plan(key) for key in "12"]
    path = here.uri("a.txt")
    message = desk.refused("windows", "exclude", refs[0].window, path, "--reason", "broken")
    assert "continues after it" in message
    desk.carry_out(message)
    desk.done("windows", "exclude", refs[0].window, path, "--reason", "broken")

    assert here.plan("3").status == "empty"


@pytest.mark.parametrize("published", [True, False])
def test_parts_are_given_up_from_the_last_one_on(here: Pipe, desk: Desk, *, published: bool) -> None:
    """Each message names the command that gives up the window behind, and in the end the first one goes too."""
    here.put({"a.txt": _LINES})
    here.block_size, here.selection = 16, Selection(limits=Limits(max_bytes=40))
    refs = [here.run(key) if published else here.plan(key) for key in "123"]
    wanted = ["undo", refs[0].window, "--files", "pending"] if published else ["abandon", refs[0].window]
    for _ in range(2):
        message = desk.refused("windows", *wanted)
        desk.carry_out(message)
    desk.done("windows", *wanted)
    for key in "456":
        here.run(key)

    assert len(here.rows()) == 20


def test_files_that_have_gone_back_are_in_another_window(two: Pipe, desk: Desk) -> None:
    """The window that reads them now can be taken away as the message asks."""
    two.run()
    desk.done("windows", "undo", "w", "--files", "pending")
    two.run("w2")
    message = desk.refused("windows", "undo", "w", "--files", "excluded")
    assert "give up the window that reads them" in message
    desk.done("windows", "undo", "w2", "--files", "excluded")

    assert (two.rows(), two.plan("w3").status) == ([], "empty")


def test_an_abandoned_window_reads_nothing_more(two: Pipe, desk: Desk) -> None:
    """Its files are read by a later window, as the message says."""
    ref = two.plan()
    begin_abandoning(two.env.ledger, ref.window, who="me")
    desk.done("windows", "abandon", "w")
    with pytest.raises(ConflictError, match="is abandoned, so it cannot start a generation") as refused:
        start_generation(two.env.ledger, ref.window, options={}, mode="write", clear_number=1)
    assert "its files belong to later windows" in str(refused.value)

    assert two.run("w2").files == 2


def test_a_generation_that_is_not_there_is_looked_up(two: Pipe, desk: Desk) -> None:
    """What the message names shows which generation there is."""
    ref = two.run()
    with pytest.raises(ConflictError, match="has no generation 7") as refused:
        get_generation(two.env.ledger, ref.window, 7)
    assert "generation" in desk.carry_out(refused.value)


def test_an_undoing_waits_for_the_publisher(two: Pipe, desk: Desk) -> None:
    """Once the publisher's heartbeat is stale the same command works."""
    window = _half(two)
    claim_publication(two.env.ledger, window, 1, owner="another process", stale_after_s=60)
    with pytest.raises(BlockReadError, match="another process is publishing generation 1, last heartbeat 0 s ago"):
        begin_undoing(two.env.ledger, window, files=None, who="me")
    two.pass_seconds(200)
    desk.done("windows", "undo", "w")

    assert two.rows() == []
    assert get_window(two.env.ledger, "w", "feed").state == "abandoned"


def test_a_window_that_was_withdrawn_by_hand(two: Pipe, desk: Desk) -> None:
    """A backup of the ledger in its place has the window as it was."""
    two.run()
    two.close()
    file = two.folder / "ledger.db"
    backup = file.read_bytes()
    with two.env.ledger.writing() as connection:
        connection.execute(text("UPDATE windows SET state = 'abandoned'"))
    two.close()
    assert "restore the ledger from a backup" in desk.refused("windows", "undo", "w")
    for path in two.folder.glob("ledger.db*"):
        path.unlink()
    file.write_bytes(backup)
    desk.done("windows", "undo", "w")

    assert two.rows() == []


def test_a_withdrawal_that_somebody_else_changed(two: Pipe, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command repeated, as the message says, continues as that one wants it."""
    two.run()
    release, done = withdrawing.release_files, []

    def late(ledger: Any, held: Any) -> int:
        if not done:
            done.append(True)
            begin_undoing(ledger, held.window, files="pending", who="another process")
        return release(ledger, held)

    monkeypatch.setattr(withdrawing, "release_files", late)
    assert "repeat the command" in desk.refused("windows", "undo", "w")
    desk.done("windows", "undo", "w")

    assert two.run("w2").files == 2


def test_a_newer_version_that_a_rebuild_is_about_to_read(two: Pipe, desk: Desk) -> None:
    """The rebuild is given up by the command that the message names; then another one can leave the file out."""
    two.run()
    two.put({"b.txt": b"longer than it was\n"})
    path = two.source / "b.txt"

    class Away(ReadHere):
        """Fails before it reads."""

        def submit(self, submission: Any, *, name: str) -> None:
            del submission
            msg = f"{name}: the store is away; retry"
            raise SparkJobError(msg)

    asked = RebuildRequest(range=WindowRange(window="w"), files=FileChoice(path="b.txt"))
    with pytest.raises(SparkJobError, match="the store is away"):
        rebuild(two.env, asked, WindowRunner(env=two.env, owner="me", job=two.job, submitter=Away()))
    command = ("windows", "exclude", "w", two.uri("b.txt"), "--reason", "broken")
    message = desk.refused(*command)
    assert "about to read a newer version" in message
    desk.carry_out(message)
    path.unlink()
    desk.refused("windows", "rebuild", "w")
    desk.done(*command)
    desk.done("windows", "rebuild", "w")

    assert two.values() == ["a1", "a2"]
