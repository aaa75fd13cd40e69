"""Windows into a sink of one's own: published, rebuilt and undone; what is no sink is refused by the plan."""

from __future__ import annotations

import pytest

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.steps.upkeep.withdrawing import undo
from tests.pipeline.make import Pipe


@pytest.fixture
def sink() -> str:
    """The documentation's example."""
    return "custom"


def test_a_window_is_published_rebuilt_and_undone(here: Pipe) -> None:
    """With arguments of the class."""
    here.put({"a.txt": b"a1\na2\n", "b.txt": b"b1\n"})
    here.sink_options = {"options": {"codec": "lz4"}}
    done = here.run()

    assert (done.rows, done.outputs) == (3, 1)
    assert here.values() == ["a1", "a2", "b1"]
    before = here.published()
    here.run(clear_number=1)
    assert here.values() == ["a1", "a2", "b1"]
    assert set(here.published()).isdisjoint(before)
    undo(here.env, get_window(here.env.ledger, done.window), who="ann")
    assert here.published() == []


def test_what_is_no_sink_is_refused_by_the_plan(here: Pipe) -> None:
    """Nothing was listed or frozen; with the path corrected the same window is planned."""
    here.put({"a.txt": b"a1\n"})
    here.sink_options = {"path": "pathlib:Path"}
    with pytest.raises(OptionsError, match="lacks uri, kind"):
        here.plan()
    assert not here.work.exists()
    here.sink_options = {}

    assert here.run().rows == 1
