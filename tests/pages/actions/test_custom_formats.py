"""A record format of the user's own is code: workers and Spark run it, pages never do."""

from __future__ import annotations

import gzip
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from airflow_provider_blockread.ledger.windows.generations import list_generations
from airflow_provider_blockread.ledger.windows.queries import get_window, list_files
from airflow_provider_blockread.options import CustomFormat
from airflow_provider_blockread.pages.actions.kinds import ACTIONS
from airflow_provider_blockread.pages.app import make_app
from airflow_provider_blockread.pages.site import Again, Tasks
from airflow_provider_blockread.steps import plan
from tests.pages.visitors import Person, site_of
from tests.pipeline.here import ReadHere
from tests.pipeline.make import Pipe

MODULE = "tests.records.quoted_lines"


class Clearable(Tasks):
    """Tasks of a run that may be cleared at any time."""

    def refusal(self, again: Again) -> str:  # noqa: ARG002
        """Return nothing: they can be."""
        return ""

    def clear(self, again: Again, who: str, begin: Callable[[int], object]) -> None:  # noqa: ARG002
        """Begin what they would read."""
        begin(1)


def test_no_page_and_no_action_loads_a_class_that_the_ledger_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a window whose files were scanned over several groups, one of them compressed and one newer by now."""
    pipe = Pipe(tmp_path, ReadHere(), block_size=3, group_bytes=3)
    pipe.record_format = CustomFormat(path=f"{MODULE}:QuotedLines")
    pipe.put({"a": b"a1\na2\n", "b": b"b1\nb2\n", "c.gz": gzip.compress(b"c1\n")})
    pipe.owner = "load/manual__1/logs.plan/-1"
    ref = plan(pipe.env, replace(pipe.request("w"), run="load/manual__1"))
    pipe.read(ref)
    window = pipe.commit(ref).window
    assert get_window(pipe.env.ledger, window).scan_epoch == 1
    pipe.put({"b": b'b1\n"b2"\n'})
    monkeypatch.delitem(sys.modules, MODULE)

    client = TestClient(make_app(replace(site_of(pipe.env, Person()), tasks=Clearable())))
    shown = {row.version.path[-1]: f"/ledgers/main/files/{row.file}" for row in list_files(pipe.env.ledger, pipe.feed)}
    pages = [client.get(f"{page}{part}").text for page in shown.values() for part in ("", "/records?at=3")]
    assert any(re.search("c1", page) for page in pages)
    here = f"/ledgers/main/windows/{window}"
    given = {"path": "**/b", "status": "done", "files": "pending", "reason": "none"}
    for action in ACTIONS:
        client.get(f"{here}/actions/{action}", params=given)
    form = client.get(f"{here}/actions/reprocess", params=given).text
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form))
    done = client.post(f"{here}/actions/reprocess", data=given | fields, headers={"origin": "http://testserver"})

    assert done.status_code == 200
    assert [one.number for one in list_generations(pipe.env.ledger, window)] == [1, 2]
    assert MODULE not in sys.modules
    pipe.close()
