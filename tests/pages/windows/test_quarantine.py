"""Bad records on the pages of a window and a file: which are shown, and why others are not."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import Csv, Policies
from airflow_provider_blockread.pages.app import make_app
from tests.pages.visitors import Person, site_of
from tests.pipeline.make import Pipe, ReadHere

_LIMITS = "airflow_provider_blockread.pages.views.evidence._MOST_{}"


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    """A window of groups of one file each, each of which has a bad record and so a file in the quarantine."""
    made = Pipe(
        tmp_path,
        ReadHere(),
        group_bytes=8,
        record_format=Csv(schema="id long, name string", header=True),
        policies=Policies(on_bad_record="quarantine"),
    )
    made.put({f"f{number}.csv": b"id,name\n1,x\nbad,%d\n" % number for number in range(3)})
    made.run()
    yield made
    made.close()


def _bad(pipe: Pipe, page: str, person: Person | None = None) -> str:
    """Return what a page says of bad records."""
    text = TestClient(make_app(site_of(pipe.env, person or Person()))).get(f"/ledgers/main/{page}").text
    part = re.search("<h2>Bad records</h2>(.*?)<(h2|p><a)", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", part[1] if part else "")).split())


def _window(pipe: Pipe) -> str:
    return f"windows/{get_window(pipe.env.ledger, 'w', pipe.feed).id}"


def test_a_file_shows_its_bad_records_however_many_others_have_some(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page opens only what the groups of the file have written."""
    monkeypatch.setattr(_LIMITS.format("FILES"), 1)
    shown = [_bad(pipe, f"files/{number}") for number in (1, 2, 3)]

    assert [re.findall("bad,[0-9]", text) for text in shown] == [["bad,0"], ["bad,1"], ["bad,2"]]
    assert "more is in" not in "".join(shown)


def test_a_page_says_what_it_does_not_read_of_the_quarantine(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside what it has read; nothing is said of rights to those who have them."""
    monkeypatch.setattr(_LIMITS.format("FILES"), 2)
    some = _bad(pipe, _window(pipe))
    monkeypatch.setattr(_LIMITS.format("BYTES"), 10)
    none = [_bad(pipe, page) for page in (_window(pipe), "files/1")]
    stranger = _bad(pipe, _window(pipe), Person(reads=set()))

    more = "A page does not read all of the quarantine; more is in file:///"
    assert re.findall("bad,[0-9]", some) == ["bad,0", "bad,1"]
    assert some.startswith(more)
    assert all(text.startswith(more) and "holds none" not in text for text in none)
    assert stranger == "3 bad records; their bytes are shown to those who may read the logs of the feed's DAGs."


def test_a_file_whose_bad_records_are_dropped_says_so(pipe: Pipe) -> None:
    """The quarantine has none of them."""
    pipe.with_policies(on_bad_record="drop")
    pipe.run(clear_number=1)

    assert _bad(pipe, "files/1") == "1 bad record; the quarantine of window w holds none of them."
