"""Many windows rebuilt by one command, which continues where it was stopped."""

from __future__ import annotations

import dataclasses
import os
from datetime import timedelta

import pytest

from airflow_provider_blockread.errors import FileMissingError, OptionsError
from airflow_provider_blockread.ledger.windows.generations import latest_generation
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.steps.running import WindowRunner
from airflow_provider_blockread.steps.upkeep import rebuilding
from airflow_provider_blockread.steps.upkeep.rebuilding import (
    RebuildRequest,
    WindowRange,
    give_up_rebuild,
    propose_rebuild,
    rebuild,
)
from tests.pipeline.dying import param, place
from tests.pipeline.make import START, Pipe

pytestmark = pytest.mark.slow

_KEYS = ["d1", "d2", "d3"]
_ALL = ["d1", "d2", "d3"]


class _Died(BaseException):
    """A process that is gone."""


def _runner(here: Pipe) -> WindowRunner:
    return WindowRunner(env=here.env, owner=here.owner, job=here.job, submitter=here.submitter)


def _three(here: Pipe) -> RebuildRequest:
    """Publish three windows, a day apart."""
    for key in _KEYS:
        here.put({f"{key}.txt": f"{key}\n".encode()})
        here.run(key)
        here.pass_seconds(86_400)
    return RebuildRequest(range=WindowRange(feed=here.feed))


def _generations(here: Pipe) -> list[int]:
    return [latest_generation(here.env.ledger, get_window(here.env.ledger, key).id).number for key in _KEYS]


@pytest.mark.parametrize(
    ("given", "rebuilt"),
    [
        ({}, [2, 2, 2]),
        ({"since": START + timedelta(days=1)}, [1, 2, 2]),
        ({"until": START + timedelta(days=1)}, [2, 1, 1]),
        ({"first_key": "d2", "last_key": "d2"}, [1, 2, 1]),
        ({"window": "d3"}, [1, 1, 2]),
    ],
)
def test_a_range_is_rebuilt(here: Pipe, given: dict[str, object], rebuilt: list[int]) -> None:
    """By time, by key or one by name: each is listed first, read again and replaced, and the others are left alone."""
    _three(here)
    old = here.published()
    which = RebuildRequest(range=WindowRange(**{"feed": here.feed} | given))  # type: ignore[arg-type]
    intent = propose_rebuild(here.env, which)
    done = rebuild(here.env, which, _runner(here))

    assert len(done) == rebuilt.count(2) == sum(window.does for window in intent.windows)
    assert "1 file (3 B) in 1 group read again as generation 2, which replaces generation 1" in intent.lines()[0]
    assert (_generations(here), here.values()) == (rebuilt, _ALL)
    assert len(set(old) & set(here.published())) == rebuilt.count(1)


def test_windows_that_are_not_published_are_left_alone(here: Pipe) -> None:
    """They are listed with the reason, together if it is the same; a range without a feed is refused."""
    which = _three(here)
    here.put({"d4.txt": b"d4\n"})
    here.plan("d4")
    for number in range(5, 10):
        here.run(f"d{number}")
    intent = propose_rebuild(here.env, which)

    waits = get_window(here.env.ledger, "d4").id
    assert intent.lines()[3:] == [
        f"window {waits} 'd4' of feed feed: left alone, since it is not published but waiting",
        "5 windows of feed feed ('d5', 'd6', 'd7' and 2 more), each left alone, since it is empty",
    ]
    assert len(rebuild(here.env, which, _runner(here))) == 3
    with pytest.raises(OptionsError, match="or a feed with --feed"):
        propose_rebuild(here.env, RebuildRequest(range=WindowRange()))


def test_a_failure_stops_and_the_rest_is_done_later(here: Pipe) -> None:
    """The message says what is done and left; the same call does not rebuild again what it has rebuilt."""
    which = _three(here)
    here.with_policies(on_missing="fail")
    (here.source / "d2.txt").rename(here.folder / "aside")
    with pytest.raises(FileMissingError, match=r"(?s)rebuild of window \w+ 'd2' failed.*done before it: \w+; left:"):
        rebuild(here.env, which, _runner(here))
    assert (_generations(here), here.values()) == ([2, 2, 1], _ALL)
    (here.folder / "aside").rename(here.source / "d2.txt")
    here.put({"d4.txt": b"d4\n"})
    here.pass_seconds(60)
    here.run("d4")
    intent = propose_rebuild(here.env, which)
    done = rebuild(here.env, which, _runner(here))

    assert [w.what for w in intent.windows if not w.does] == ["done already, as generation 2"]
    assert "continues with the rebuild that test began" in intent.lines()[-1]
    assert [window.key for window in done] == ["d2", "d3"]
    assert (_generations(here), here.values()) == ([2, 2, 2], [*_ALL, "d4"])
    assert [window.key for window in rebuild(here.env, which, _runner(here))] == [*_KEYS, "d4"]
    assert _generations(here) == [3, 3, 3]


def test_windows_of_a_planner_whose_clock_was_ahead_are_rebuilt_by_the_repetition(here: Pipe) -> None:
    """The rebuild begins on a host whose clock is behind theirs, and stops at the first one."""
    which = _three(here)
    here.time -= timedelta(days=30)
    (here.source / "d1.txt").rename(here.folder / "aside")
    with pytest.raises(FileMissingError, match="repeat the command: it continues from this window"):
        rebuild(here.env, which, _runner(here))
    (here.folder / "aside").rename(here.source / "d1.txt")

    assert [window.key for window in rebuild(here.env, which, _runner(here))] == _KEYS
    assert (_generations(here), here.values()) == ([2, 2, 2], _ALL)


@pytest.mark.slow
@pytest.mark.parametrize(
    "step", [*map(param, ("publish_file", "remove_file", "confirm_entries", "finish_publication"))]
)
def test_a_rebuild_that_died_while_publishing_is_resumed(here: Pipe, step: str) -> None:
    """What was half published is completed, and nothing is read again."""
    which = _three(here)

    def die(*_: object, **__: object) -> None:
        raise _Died

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*place(step), die)
        with pytest.raises(_Died):
            rebuild(here.env, which, _runner(here))
    done = rebuild(here.env, which, _runner(here))

    assert [window.generation for window in done] == [2, 2, 2]
    assert (here.values(), len(here.published())) == (_ALL, 3)


def test_a_rebuild_that_died_between_windows_is_resumed(here: Pipe) -> None:
    """Wherever it died around its own records, the repetition rebuilds each window once, and then it is finished."""
    which = _three(here)

    def die(*_: object, **__: object) -> None:
        raise _Died

    for step in ("open_ref", "finish_request"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rebuilding, step, die)
            with pytest.raises(_Died):
                rebuild(here.env, which, _runner(here))
        assert len(rebuild(here.env, which, _runner(here))) == (3 if step == "open_ref" else 0)
    assert (_generations(here), here.values()) == ([3, 3, 3], _ALL)


@pytest.mark.files
def test_somebody_elses_half_is_completed_first(here: Pipe) -> None:
    """A half published generation goes forward; where it has lost files it is taken back; then the rebuild begins."""
    here.put({"a.txt": b"a1\na2\n", "b.txt": b"b1\nb2\n"})
    here.group_bytes = 6
    here.run()

    def die(*_: object, **__: object) -> None:
        raise _Died

    for clear_number, lose in ((1, False), (2, True)):
        ref = here.plan(clear_number=clear_number)
        here.read(ref, clear_number=clear_number)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(*place("publish_file"), die)
            with pytest.raises(_Died):
                here.commit(ref)
        if lose:
            for path in here.work.glob("**/data/*"):
                path.unlink()
        (done,) = rebuild(here.env, RebuildRequest(range=WindowRange(window="w")), _runner(here))
        # What is lost is replaced at once, whatever becomes of the rebuild.
        assert (done.generation, here.values()) == (ref.generation + 1 + lose, ["a1", "a2", "b1", "b2"])


def test_one_that_is_given_up_begins_anew(here: Pipe) -> None:
    """A rebuild that nobody finished does not stand in the way of the next one."""
    which = _three(here)
    (here.source / "d2.txt").rename(here.folder / "aside")
    with pytest.raises(FileMissingError):
        rebuild(here.env, which, _runner(here))
    (here.folder / "aside").rename(here.source / "d2.txt")
    give_up_rebuild(here.env, which)
    intent = propose_rebuild(here.env, which)

    assert all(window.does for window in intent.windows)
    assert "generation 2, now failed, is dropped" in intent.windows[1].what
    assert [window.generation for window in rebuild(here.env, which, _runner(here))] == [3, 3, 2]
    assert here.values() == _ALL


def test_another_run_asks_for_itself(here: Pipe) -> None:
    """What one run of a DAG left unfinished is its own; the next one's request holds the windows planned since."""
    asked = _three(here)
    first, second = (dataclasses.replace(asked, task=f"dag/{number}/rebuild/-1") for number in (1, 2))
    kept = (here.source / "d2.txt").read_bytes()
    times = (here.source / "d2.txt").stat().st_mtime_ns
    (here.source / "d2.txt").unlink()
    with pytest.raises(FileMissingError):
        rebuild(here.env, first, _runner(here))
    here.pass_seconds(1)
    (here.source / "d2.txt").write_bytes(kept)
    os.utime(here.source / "d2.txt", ns=(times, times))
    here.put({"d4.txt": b"d4\n"})
    here.run("d4")

    assert [done.key for done in rebuild(here.env, second, _runner(here))] == [*_KEYS, "d4"]
    assert [done.key for done in rebuild(here.env, first, _runner(here))] == ["d2", "d3"]
    assert here.values() == [*_ALL, "d4"]
