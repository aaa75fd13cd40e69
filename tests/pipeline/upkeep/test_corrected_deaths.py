"""A process dies while a corrected file is taken, read or published: it is read once, and the old one never shown."""

from __future__ import annotations

import pytest

from airflow_provider_blockread.steps.plan import replaying
from airflow_provider_blockread.steps.upkeep import rebuilding
from tests.pipeline.correcting import NEW, ONCE, Died, correct, fail, kill, reprocess, states
from tests.pipeline.dying import place_param
from tests.pipeline.make import Pipe

pytestmark = pytest.mark.slow

_PLAN = ["choose_newer", "plan_newer", "start_corrected", "open_ref"]
_COMMIT = ["mark_proven", "journal", "publish_file", "confirm_entries", "sweep", "finish_publication"]


@pytest.mark.sampled(2, each="step")
@pytest.mark.parametrize(("module", "step"), [*((replaying, name) for name in _PLAN), *map(place_param, _COMMIT)])
@pytest.mark.parametrize(("after", "way"), [(False, "retry"), (False, "reprocess"), (True, "retry"), (True, "clear")])
def test_whatever_dies_it_goes_on(here: Pipe, module: object, step: str, way: str, *, after: bool) -> None:
    """The corrected file is read once, by a retry, another clear, or the command; nothing of the old one is shown."""
    fail(here)
    with pytest.MonkeyPatch.context() as patch:
        kill(patch, module, step, after=after)
        with pytest.raises(Died):
            here.run(clear_number=1)
    assert not set(here.values()) & {"b1", "b2"}
    if way == "reprocess":
        reprocess(here)
    here.run(clear_number=1 if way == "retry" else 2)

    assert (here.values(), len(here.published()), states(here)) == (NEW, 3, ONCE)
    assert here.plan("next").status == "empty"


_COMMAND = [
    *((rebuilding, name) for name in ("plan_newer", "start_requested", "open_ref", "finish_request")),
    *map(place_param, ("mark_proven", "publish_file", "finish_publication")),
]


@pytest.mark.sampled(2, each="step")
@pytest.mark.parametrize(("module", "step"), _COMMAND)
@pytest.mark.parametrize("after", [False, True])
def test_whatever_dies_the_same_command_goes_on(here: Pipe, module: object, step: str, *, after: bool) -> None:
    """A reprocess of what is not published is resumed; one whose file changed once more reads it as it is then."""
    fail(here)
    with pytest.MonkeyPatch.context() as patch:
        kill(patch, module, step, after=after)
        with pytest.raises(Died):
            reprocess(here)
    changes = module is rebuilding and step != "finish_request"
    if changes:
        correct(here, "b6")
    reprocess(here)

    assert here.values() == (["a1", "a2", "b6", "c1", "c2"] if changes else NEW)
    assert here.plan("next").status == "empty"
