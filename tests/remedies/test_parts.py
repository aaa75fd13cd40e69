"""Files that several windows read: what is refused between them, and what helps."""

from __future__ import annotations

import pytest

from airflow_provider_blockread.errors import ConflictError, OptionsError, ProofError
from airflow_provider_blockread.options import Limits, Lines, Selection, WholeFile
from tests.pipeline.make import Pipe
from tests.remedies.advice import commands
from tests.remedies.desk import Desk

_LINES = b"".join(b"%04d\n" % number for number in range(20))
_TWO_KINDS = b"x" * 30 + b"\n" + b"y\r" + b"y" * 20 + b"\n" + b"z\n" * 20  # by line feeds, the second line ends late


def _limited(here: Pipe, data: bytes = _LINES) -> None:
    here.put({"a.txt": data})
    here.block_size, here.selection = 16, Selection(limits=Limits(max_bytes=40))


def test_the_window_of_the_part_before_comes_first(here: Pipe, desk: Desk) -> None:
    """Whether the later window is read or committed first; the message names the one that is to be published."""
    _limited(here)
    first, second = here.plan("1"), here.plan("2")
    here.read(second)
    with pytest.raises(ConflictError, match=rf"before is in window {first.window}.*let that one be published first"):
        here.commit(second)
    here.read(first)
    here.commit(first)
    here.commit(second)
    here.run("3")

    assert len(here.values()) == 20
    assert desk.pipe is here


@pytest.mark.parametrize("remedy", ["undo", "format"])
def test_a_part_that_would_end_elsewhere(here: Pipe, desk: Desk, remedy: str) -> None:
    """The window behind is taken away by the command that the message names, or the format is put back."""
    _limited(here, _TWO_KINDS)
    for key in "123":
        here.run(key)
    here.record_format = Lines(newline="lf")
    with pytest.raises(ProofError, match="or restore the format") as refused:
        here.run("1", clear_number=1)
    if remedy == "format":
        here.record_format = Lines()
        assert here.run("1", clear_number=1).status == "published"
        assert len(here.values()) == 23
        return
    behind = desk.refused(*commands(str(refused.value))[0])  # another one continues behind that one, and is named
    desk.carry_out(behind)
    desk.carry_out(refused.value)
    here.run("1", clear_number=1)
    for key in "45":
        here.run(key)

    assert len(here.values()) == 22


@pytest.mark.parametrize("remedy", ["format", "undo"])
def test_the_rest_of_a_file_that_a_format_cannot_enter(here: Pipe, desk: Desk, remedy: str) -> None:
    """Planned under the old format, or whole once the windows before are taken away, it is read."""
    _limited(here)
    here.run("1")
    here.run("2")
    here.record_format = WholeFile()
    with pytest.raises(OptionsError, match="plan with the format that they were read with, or give these") as refused:
        here.plan("3")
    if remedy == "format":
        here.record_format = Lines()
        here.run("3")
        assert len(here.values()) == 20
        return
    for command in commands(str(refused.value)):
        desk.done(*command)
    here.run("3")

    assert len(here.values()) == 1


@pytest.mark.parametrize("remedy", ["format", "abandon"])
def test_a_part_is_not_read_again_by_a_format_of_whole_files(here: Pipe, desk: Desk, remedy: str) -> None:
    """It would publish the whole file; the format is put back, or the windows are given up as the message says."""
    _limited(here)
    here.plan("1")
    here.record_format = WholeFile()
    with pytest.raises(OptionsError, match=r"reads bytes 0 to \d+ of .*whole_file reads files whole") as refused:
        here.plan("1")
    if remedy == "format":
        here.record_format = Lines()
        for key in ("1", "2", "3"):
            here.run(key)
        assert len(here.values()) == 20
    else:
        desk.carry_out(refused.value)
        here.selection = Selection()
        here.run("2")
        assert here.values() == [_LINES.decode()]
