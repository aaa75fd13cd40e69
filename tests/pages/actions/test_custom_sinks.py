"""A sink of the user's own is code: workers and Spark run it, pages never do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.pages.actions.kinds import ACTIONS
from airflow_provider_blockread.pages.app import make_app
from airflow_provider_blockread.steps.upkeep.withdrawing import undo
from tests.pages.visitors import Person, site_of
from tests.pipeline.here import ReadHere
from tests.pipeline.make import Pipe
from tests.sinks.documented import MODULE


def test_no_page_and_no_action_loads_a_sink_that_the_ledger_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An action that needs the sink names the command that does it; from a shell it is done."""
    pipe = Pipe(tmp_path, ReadHere(), kind="custom")
    pipe.put({"a": b"a1\na2\n"})
    window = pipe.run().window
    assert pipe.values() == ["a1", "a2"]
    with monkeypatch.context() as hidden:
        hidden.delitem(sys.modules, MODULE)
        client = TestClient(make_app(site_of(pipe.env, Person())))
        here = f"/ledgers/main/windows/{window}"
        given = {"path": "**/a", "status": "done", "files": "pending", "reason": "none"}
        shown = {action: client.get(f"{here}/actions/{action}", params=given).text for action in ACTIONS}
        assert client.get(here).status_code == 200
        assert MODULE not in sys.modules

    assert "runs no code that an option names" in shown["undo"]
    assert "blockread windows" in shown["undo"]
    assert "runs no code" not in shown["reprocess"]
    undo(pipe.env, get_window(pipe.env.ledger, window), who="ann")
    assert pipe.values() == []
    pipe.close()
