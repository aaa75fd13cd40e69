"""A window that a person asks for again is read by the run that is cleared for it, and as the person was shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import OptionsError, OwnedError
from airflow_provider_blockread.ledger.model import GroupRef, Window
from airflow_provider_blockread.ledger.windows.generations import latest_generation, list_groups, start_generation
from airflow_provider_blockread.ledger.windows.groups import claim_group, heartbeat
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import Lines
from airflow_provider_blockread.steps import Published, WindowRef, plan
from airflow_provider_blockread.steps.plan.choosing import FileChoice
from airflow_provider_blockread.steps.upkeep.handing_over import Reading, hand_over, propose_reading
from tests.pipeline.here import ReadHere
from tests.pipeline.make import Pipe

RUN = "load/manual__1"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Pipe]:
    """Two files in a group each, published by a run."""
    made = Pipe(folder=tmp_path, submitter=ReadHere(), group_bytes=1)
    made.put({"a": b"1\n2\n", "b": b"3\n"})
    ref = _planned(made, 0)
    made.read(ref)
    made.commit(ref)
    yield made
    made.close()


def _planned(pipe: Pipe, clear_number: int) -> WindowRef:
    return plan(pipe.env, replace(pipe.request("w", clear_number), run=RUN))


def _window(pipe: Pipe) -> Window:
    return get_window(pipe.env.ledger, "w")


def _cleared(pipe: Pipe) -> Published:
    """Return what the run publishes once it is cleared, by options of the DAG that have changed since."""
    pipe.record_format = Lines(newline="lf")
    ref = _planned(pipe, 1)
    pipe.read(ref, clear_number=1)
    return pipe.commit(ref)


@pytest.mark.slow
def test_a_rebuild_keeps_the_options_of_what_is_published(here: Pipe) -> None:
    """The run reads the generation that was begun for it, although the DAG has other options by then."""
    before = latest_generation(here.env.ledger, _window(here).id)
    begun = hand_over(here.env, _window(here), Reading(action="rebuild"), who="ann", run=RUN, clear_number=1)
    done = _cleared(here)

    assert (begun.number, begun.options_digest) == (2, before.options_digest)
    assert (done.generation, done.status) == (2, "published")
    assert here.values() == ["1", "2", "3"]


def test_a_verification_stays_one(here: Pipe) -> None:
    """It writes nothing, whatever the DAG does with a window that is cleared."""
    intent = propose_reading(here.env, _window(here), Reading(action="verify"))
    before = here.published()
    hand_over(here.env, _window(here), Reading(action="verify"), who="ann", run=RUN, clear_number=1)
    done = _cleared(here)

    assert "nothing is written" in intent.lines()[0]
    assert (done.generation, done.status) == (2, "verified")
    assert here.published() == before


def test_only_the_groups_of_some_files_are_read(here: Pipe) -> None:
    """The others are done before the run begins, and keep their files."""
    reading = Reading(action="reprocess", files=FileChoice(path="**/b"))
    begun = hand_over(here.env, _window(here), reading, who="ann", run=RUN, clear_number=1)
    states = [group.state for group in list_groups(here.env.ledger, begun.window, begun.number)]
    ref = _planned(here, 1)
    outcomes = here.read(ref, clear_number=1)
    done = here.commit(ref)

    assert states == ["done", "pending"]
    assert [outcome.done_before for outcome in outcomes] == [True, False]
    assert (done.generation, done.status) == (2, "published")
    assert here.values() == ["1", "2", "3"]


@pytest.mark.slow
def test_the_next_clear_is_an_ordinary_one(here: Pipe) -> None:
    """What was asked for is over then: the DAG's own options hold again."""
    hand_over(here.env, _window(here), Reading(action="rebuild"), who="ann", run=RUN, clear_number=1)
    _cleared(here)
    ref = _planned(here, 2)

    assert ref.generation == 3
    assert latest_generation(here.env.ledger, ref.window).options["record_format"]["newline"] == "lf"


def test_what_is_not_published_cannot_be_verified(here: Pipe) -> None:
    """A rebuild that is not finished must be finished or given up before."""
    hand_over(here.env, _window(here), Reading(action="rebuild"), who="ann", run=RUN, clear_number=1)

    with pytest.raises(OptionsError, match="not published; repeat the command or clear the run that began it"):
        propose_reading(here.env, _window(here), Reading(action="verify"))


def test_a_verification_at_work_is_not_fenced_by_another(here: Pipe) -> None:
    """Neither where it is proposed nor where it is begun: the command line refuses it, too."""
    ledger, window = here.env.ledger, _window(here)
    shown = latest_generation(ledger, window.id)
    begun = start_generation(ledger, window.id, options=shown.options, mode="verify", clear_number=0)
    group = GroupRef(window=window.id, generation=begun.number, group=0)
    claim = claim_group(ledger, group, owner="ann's shell", clear_number=0, stale_after_s=60)
    assert claim is not None
    asked = Reading(action="verify")
    with pytest.raises(OwnedError, match="ann's shell is at work on generation 2"):
        propose_reading(here.env, window, asked)
    with pytest.raises(OwnedError, match="ann's shell is at work on generation 2"):
        hand_over(here.env, window, asked, who="bob", run=RUN, clear_number=1)
    heartbeat(ledger, claim)
    here.pass_seconds(61)

    assert hand_over(here.env, window, asked, who="bob", run=RUN, clear_number=1).number == 3
