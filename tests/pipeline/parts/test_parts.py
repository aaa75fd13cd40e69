"""A file larger than a window may be: several windows read it, a part each, in order and each record once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_blockread.errors import ConflictError, FileChangedError, OptionsError, ProofError
from airflow_provider_blockread.ledger.noop import noop_ledger
from airflow_provider_blockread.ledger.windows.queries import feed_counts, get_window
from airflow_provider_blockread.options import Csv, Lines, Selection, WholeFile
from airflow_provider_blockread.options.plan import Limits
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon, propose_undoing, undo
from tests.pipeline.make import Pipe

pytestmark = pytest.mark.slow

_LINES = b"".join(b"%04d\n" % number for number in range(20))
_RECORDS = [f"{number:04d}" for number in range(20)]
_QUOTED = b'id,msg\n1,"a\nb\nc"\n2,"d"\n3,"e\n4,f\n5,g"\n6,h\n'


def _limited(here: Pipe, data: bytes = _LINES, *, most: int = 40) -> None:
    here.put({"a.txt": data})
    here.block_size = 16
    here.selection = Selection(limits=Limits(max_bytes=most))


def test_a_large_file_is_read_by_several_windows(here: Pipe) -> None:
    """Each takes as many whole blocks as fit, and the last one what is left and the files behind it."""
    _limited(here)
    here.put({"b.txt": b"z\n"})
    refs = []
    for key in "123":
        refs.append(here.plan(key))
        here.read(refs[-1])
        here.commit(refs[-1])

    assert [(ref.files, ref.bytes, ref.blocks) for ref in refs] == [(1, 32, 2), (1, 32, 2), (2, 38, 4)]
    assert "part 1 of a file, bytes 0 to 32 of 100; the next windows continue there" in refs[0].message
    assert "part 3 of a file, bytes 64 to 100 of 100" in refs[2].message
    assert here.values() == [*_RECORDS, "z"]
    assert feed_counts(here.env.ledger, "feed") == {"done": 2}
    assert here.plan("4").status == "empty"


def test_a_part_is_published_after_the_part_before(here: Pipe) -> None:
    """Both may be planned and read at once; the commit of the later one says which window comes first."""
    _limited(here)
    first, second = here.plan("1"), here.plan("2")
    here.read(second)
    with pytest.raises(ConflictError, match=rf"at byte 32 of .*a.txt; the part before is in window {first.window} '1'"):
        here.commit(second)
    assert (here.values(), here.state("2")) == ([], "reading")

    here.read(first)
    here.commit(first)
    here.owner = "another"  # who was refused holds nothing that it would have to wait for
    here.commit(second)
    here.run("3")
    assert here.values() == _RECORDS


def _csv(here: Pipe) -> None:
    _limited(here, _QUOTED, most=8)
    here.block_size, here.group_bytes = 4, 8
    here.record_format = Csv(header=True, schema="id long, msg string")


def test_quoted_newlines_across_parts(here: Pipe) -> None:
    """A part is entered in the state in which the part before was left, and the header is found from the head."""
    _csv(here)
    keys = [str(number) for number in range(7)]
    done = [here.run(key) for key in keys]

    assert sum(window.records for window in done) == 4
    assert sorted(row["id"] for row in here.rows()) == [1, 2, 3, 6]
    assert {row["msg"] for row in here.rows()} == {"a\nb\nc", "d", "e\n4,f\n5,g", "h"}


def test_a_state_is_not_guessed(here: Pipe) -> None:
    """A part of a format with states is read only when the part before is published."""
    _csv(here)
    first, second = here.plan("1"), here.plan("2")
    with pytest.raises(ConflictError, match=rf"the part before is in window {first.window} '1'"):
        here.read(second)
    here.read(first)
    here.commit(first)
    here.read(second)
    assert here.commit(second).status == "published"


_TWO_KINDS = b"x" * 30 + b"\n" + b"y\r" + b"y" * 20 + b"\n" + b"z\n" * 20  # by line feeds, the second line ends late


def test_a_rebuilt_part_ends_where_it_did(here: Pipe) -> None:
    """A rebuild by which a part would end elsewhere is refused while the next is published, and what is there stays."""
    _limited(here, _TWO_KINDS)
    done = [here.run(key) for key in "123"]
    again = here.run("1", clear_number=1)
    assert (again.generation, again.records, len(here.values())) == (2, done[0].records, 23)

    here.record_format = Lines(newline="lf")
    with pytest.raises(ProofError, match=r"end at byte 54 in state 0, but window \w+ is published from byte 33"):
        here.run("1", clear_number=2)
    assert len(here.values()) == 23


def test_the_end_of_a_part_is_that_of_what_is_published(here: Pipe) -> None:
    """Rebuilt before the next part is published, a part may end elsewhere; the next one, cleared, begins there."""
    _limited(here, _TWO_KINDS)
    here.run("1")
    second = here.plan("2")
    here.read(second)
    here.record_format = Lines(newline="lf")
    here.run("1", clear_number=1)
    message = r"\[33, 54\) are read twice between it and the part before.*from its plan on, with the record format of"
    with pytest.raises(ProofError, match=message):
        here.commit(second)
    here.run("2", clear_number=1)
    here.run("3")
    assert len(here.values()) == 22


def test_files_in_parts_are_files_for_other_limits(here: Pipe) -> None:
    """A part counts as a file; the newest file is begun first, and ended before any other, however new."""
    _limited(here)
    here.selection = Selection(order="newest", limits=Limits(max_files=2, max_blocks=3))
    first = here.plan("1")
    here.put({"b.txt": b"b\n", "c.txt": b"c\n", "d.txt": b"d\n"})
    refs = [first, *(here.plan(key) for key in "2345")]
    assert [(ref.files, ref.blocks, ref.bytes) for ref in refs[:3]] == [(1, 3, 48), (1, 3, 48), (2, 2, 6)]
    assert [ref.status for ref in refs] == ["read"] * 4 + ["empty"]


def test_a_lost_manifest_of_a_part_is_written_again(here: Pipe) -> None:
    """The ledger knows the ranges, and the hash shows that they make the same plan."""
    _limited(here)
    for key in "123":
        here.plan(key)
    for manifest in here.work.rglob("manifest-*"):
        manifest.unlink()
    for key in "123":
        here.run(key)
    assert here.values() == _RECORDS
    assert sum("byte for byte the same" in message for message in here.messages) == 3


def test_parts_are_given_up_from_the_last_one_on(here: Pipe) -> None:
    """What another window continues from is neither abandoned nor undone; then the same bytes are read once more."""
    _limited(here)
    here.run("1")
    here.run("2")
    here.plan("3")
    one, two, three = (get_window(here.env.ledger, key, "feed") for key in "123")
    with pytest.raises(ConflictError, match=rf"after it, at byte 64: .* by `blockread windows abandon {three.id}`"):
        propose_undoing(here.env, two, files="pending")
    with pytest.raises(ConflictError, match=rf"window {three.id} '3' continues after it"):
        undo(here.env, one, who="me")

    assert abandon(here.env, three, who="me").files == 1
    assert undo(here.env, two, files="pending", who="me").files == 1
    assert here.values() == _RECORDS[:7]
    assert "part 2 of a file, bytes 32 to 64 of 100" in here.plan("4").message
    here.run("4")
    here.run("5")
    assert here.values() == _RECORDS
    assert feed_counts(here.env.ledger, "feed") == {"done": 1}


def test_an_undone_part_ends_its_file(here: Pipe) -> None:
    """By default nothing reads it again, nor the rest of its file; given back, the file is read on from there."""
    _limited(here)
    here.run("1")
    here.run("2")
    two = get_window(here.env.ledger, "2", "feed")
    assert undo(here.env, two, who="me").files == 1
    assert (here.plan("3").status, feed_counts(here.env.ledger, "feed")) == ("empty", {"excluded": 1})
    assert undo(here.env, two, files="pending", who="me").files == 1
    here.run("4")
    here.run("5")
    assert here.values() == _RECORDS


def test_a_part_given_back_behind_an_excluded_one(here: Pipe) -> None:
    """It stays excluded with that one, whose command is shown, and is no file that waits; then both are read again."""
    _limited(here)
    for key in "123":
        here.run(key)
    two, three = (get_window(here.env.ledger, key, "feed") for key in "23")
    undo(here.env, three, who="me")
    undo(here.env, two, who="me")
    message = f"`blockread windows undo {two.id} --files pending` returns both to the feed"
    assert any(message in note for note in propose_undoing(here.env, three, files="pending").notes)
    assert undo(here.env, three, files="pending", who="me").files == 0
    assert any(message in warning for warning in here.warnings)
    assert (here.plan("4").status, feed_counts(here.env.ledger, "feed")) == ("empty", {"excluded": 1})

    assert propose_undoing(here.env, two, files="pending").notes == ()
    assert undo(here.env, two, files="pending", who="me").files == 1
    assert "part 2 of a file, bytes 32 to 64 of 100" in here.plan("4").message
    here.run("4")
    here.run("5")
    assert here.values() == _RECORDS


def test_what_comes_back_behind_an_excluded_part(here: Pipe) -> None:
    """A file that vanished before its last part was read, and came back after the part before was undone."""
    _limited(here)
    here.with_policies(on_missing="exclude")
    here.run("1")
    here.run("2")
    path, aside = here.source / "a.txt", here.folder / "aside"
    third = here.plan("3")
    path.rename(aside)
    here.read(third)
    here.commit(third)
    two = get_window(here.env.ledger, "2", "feed")
    undo(here.env, two, who="me")
    aside.rename(path)
    assert (here.plan("4").status, feed_counts(here.env.ledger, "feed")) == ("empty", {"excluded": 1})
    undo(here.env, two, files="pending", who="me")
    here.run("5")
    here.run("6")
    assert here.values() == _RECORDS


def test_a_file_changed_between_its_parts(here: Pipe) -> None:
    """The rest of the old version is gone, which is reported; the new one is a modification of a taken file."""
    _limited(here)
    here.run("1")
    here.put({"a.txt": b"new\n"})
    ref = here.plan("2")

    assert ref.left_out == {"modified": 1, "cut_short": 1}
    assert any("so that the rest of the old content is missing; restore them" in line for line in here.warnings)
    assert (ref.status, here.values()) == ("empty", _RECORDS[:7])
    assert feed_counts(here.env.ledger, "feed") == {"changed": 1, "ignored": 1}
    here.put({"a.txt": _LINES})


def test_a_file_gone_between_its_parts(here: Pipe) -> None:
    """That is reported as well."""
    _limited(here)
    here.run("1")
    (here.source / "a.txt").unlink()
    assert here.plan("2").left_out == {"cut_short": 1}
    assert any(f"keep their output: {here.uri('a.txt')}" in line for line in here.warnings)


def test_a_file_changed_before_its_parts_are_read(here: Pipe) -> None:
    """A part fails, or is excluded with all that continue behind it; restored, the file is read on from there."""
    _limited(here)
    here.run("1")
    second, third = here.plan("2"), here.plan("3")
    path = here.source / "a.txt"
    aside = here.folder / "aside"
    path.rename(aside)
    here.put({"a.txt": b"x" * 100})
    with pytest.raises(FileChangedError):
        here.read(second)
    here.with_policies(on_changed="exclude")
    second = here.plan("2")
    here.read(second)
    here.commit(second)
    third = here.plan("3")
    here.read(third)
    here.commit(third)
    assert (here.values(), here.plan("4").status) == (_RECORDS[:7], "empty")

    path.unlink()
    aside.rename(path)
    assert "part 2 of a file, bytes 32 to 64 of 100" in here.plan("5").message
    here.run("5")
    here.run("6")
    assert here.values() == _RECORDS


def test_a_ledger_that_forgets_takes_files_whole(here: Pipe) -> None:
    """It would begin the same file in every run."""
    _limited(here)
    here.env = replace(here.env, ledger=noop_ledger(here.folder / "noop", "run", now=lambda: here.time))
    ref = here.plan()
    assert (ref.bytes, ref.files) == (100, 1)
    here.env.ledger.close()


def test_the_rest_of_a_file_needs_a_format_that_can_be_split(here: Pipe) -> None:
    """A plan under another format says so, and freezes nothing."""
    _limited(here)
    here.run("1")
    here.record_format = WholeFile()
    with pytest.raises(OptionsError, match="up to byte 32 by earlier windows, and format whole_file cannot continue"):
        here.plan("2")
    here.record_format = Lines()
    here.run("2")
    here.run("3")
    assert here.values() == _RECORDS
