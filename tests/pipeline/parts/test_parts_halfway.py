"""A part whose rebuild stops halfway: the next part is proven against the end of what is published, and no other."""

from __future__ import annotations

import shutil
from contextlib import suppress
from itertools import count

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import BlockReadError, ConflictError, ProofError
from airflow_provider_blockread.options import Lines, Selection
from airflow_provider_blockread.options.plan import Limits
from tests.examples import examples
from tests.pipeline.dying import Died, dying
from tests.pipeline.make import Pipe
from tests.pipeline.reading_by_hand import FORMATS, PIECES, records, shown_records

pytestmark = pytest.mark.slow

# By line feeds the second line ends at byte 54, else at byte 33.
_TWO_KINDS = "x" * 30 + "\n" + "y\r" + "y" * 20 + "\n" + "z\n" * 20
_FEEDS = count()


def _land(pipe: Pipe, text: str, *, most: int = 32) -> None:
    pipe.put({"a.txt": text.encode()})
    pipe.block_size = most // 2
    pipe.selection = Selection(limits=Limits(max_bytes=most))


def _rebuild_dies(pipe: Pipe, key: str, step: str, after: int = 0, *, clear_number: int = 1) -> None:
    ref = pipe.plan(key, clear_number=clear_number)
    pipe.read(ref, clear_number=clear_number)
    with dying(step, after), pytest.raises(Died):
        pipe.commit(ref)


def _lose_what_is_staged(pipe: Pipe) -> None:
    for path in pipe.attempt_files("*.parquet"):
        if path.parent.name == "data":
            path.unlink()


def _values(name: str) -> list[str]:
    return sorted(value for _, _, value in records(_TWO_KINDS, 0, name))


def _lost_rebuild(here: Pipe) -> None:
    _land(here, _TWO_KINDS)
    here.run("1")
    here.record_format = Lines(newline="lf")
    _rebuild_dies(here, "1", "publish_file")
    _lose_what_is_staged(here)
    assert "lost files before they were published: generation 3 starts" in here.plan("1", clear_number=1).message


def test_a_lost_rebuild_moves_no_end(here: Pipe) -> None:
    """A part may continue from what is published, and then no rebuild of the part before may end elsewhere."""
    _lost_rebuild(here)
    here.record_format = Lines()
    here.run("2")
    here.record_format = Lines(newline="lf")
    with pytest.raises(ProofError, match=r"end at byte 54 in state 0, but window \w+ is published from byte 33"):
        here.run("1", clear_number=2)
    here.record_format = Lines()
    here.run("3")
    assert here.values() == _values("lines")
    here.run("1", clear_number=3)
    assert here.values() == _values("lines")


def test_a_part_does_not_go_on_from_a_lost_rebuild(here: Pipe) -> None:
    """Nor from one that is half published; when the rebuild is published, it does."""
    _lost_rebuild(here)
    with pytest.raises(ProofError, match=r"bytes \[33, 54\) are lost .*, with the record format of that window"):
        here.run("2")
    ref = here.plan("1", clear_number=1)
    here.read(ref, clear_number=1)
    with dying("finish_publication", 0), pytest.raises(Died):
        here.commit(ref)
    with pytest.raises((ProofError, ConflictError)):
        here.run("2", clear_number=1)
    here.commit(ref)
    for key in "23":
        here.run(key, clear_number=2)
    assert here.values() == _values("line feeds")


def test_a_half_published_part_is_waited_for(here: Pipe) -> None:
    """What continues from the generation that is still published is not published beside another half."""
    _land(here, _TWO_KINDS)
    here.run("1")
    here.record_format = Lines(newline="lf")
    _rebuild_dies(here, "1", "publish_file")
    here.record_format = Lines()
    with pytest.raises(ConflictError, match=r"the part before, in window \w+, is not published"):
        here.run("2")
    here.record_format = Lines(newline="lf")
    here.run("1", clear_number=1)
    here.run("2", clear_number=1)
    here.run("3")
    assert here.values() == _values("line feeds")


_RETURNS = ["e\n", "e\n", "f\r", "f\r", "a long line\n"]
stops = st.tuples(st.sampled_from(["publish_file", "remove_file", "finish_publication"]), st.integers(0, 1))


@examples(12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pieces=st.lists(st.sampled_from(PIECES), min_size=5, max_size=8),
    names=st.permutations(list(FORMATS)),
    rebuilt=st.integers(1, 2),
    stop=stops,
    loses=st.booleans(),
)
@example(pieces=_RETURNS, names=["lines", "line feeds"], rebuilt=1, stop=("publish_file", 0), loses=True)
def test_parts_are_one_reading(
    here: Pipe, pieces: list[str], names: list[str], rebuilt: int, stop: tuple[str, int], *, loses: bool
) -> None:
    """Wherever a rebuild under another format stops and whatever it loses, later parts follow what readers see."""
    shutil.rmtree(here.source)
    here.source.mkdir()
    here.feed, here.group_bytes = f"feed{next(_FEEDS)}", 4
    here.out_name = here.feed
    text = "".join(pieces)
    _land(here, text, most=8)
    here.record_format = FORMATS[names[0]]
    for number in range(rebuilt):
        here.run(str(number + 1))

    here.record_format = FORMATS[names[1]]
    with suppress(BlockReadError, Died), dying(*stop):
        here.run(str(rebuilt), clear_number=1)
    if loses:
        _lose_what_is_staged(here)
        here.plan(str(rebuilt), clear_number=1)
    for clears, (name, number) in enumerate(((1, 1), (0, 1), (1, 0), (1, 1), (1, 2)), 2):
        here.record_format = FORMATS[names[name]]
        with suppress(BlockReadError):
            here.run(str(rebuilt + number), clear_number=clears)
        expected = shown_records(here, text)
        assert expected is None or here.values() == expected
