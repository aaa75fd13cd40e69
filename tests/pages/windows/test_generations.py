"""The pages of a window's generations: each has its own numbers, and its links lead to itself."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from airflow_provider_blockread.ledger.windows.generations import start_generation
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import Csv, Policies
from airflow_provider_blockread.pages.app import make_app
from tests.pages.visitors import Person, site_of
from tests.pipeline.make import Pipe, ReadHere

SCHEMA = "id {}, name string"


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    """A window of many files, one with a bad record, which its second generation takes for a good one."""
    made = Pipe(
        tmp_path,
        ReadHere(),
        record_format=Csv(schema=SCHEMA.format("long"), header=True),
        policies=Policies(on_bad_record="quarantine"),
    )
    made.put({f"f{number:03}": b"id,name\n1,x\n2,y\n" for number in range(202)} | {"a": b"id,name\n1,x\nbad,y\n"})
    made.run()
    made.pass_seconds(60)
    yield made
    made.close()


def _page(pipe: Pipe, query: str) -> str:
    window = get_window(pipe.env.ledger, "w", pipe.feed)
    return TestClient(make_app(site_of(pipe.env, Person()))).get(f"/ledgers/main/windows/{window.id}?{query}").text


def _rows(page: str) -> list[list[str]]:
    """Return records and bad records of the listed files."""
    listed = re.search(r'aria-label="Files">(.*?)</table>', page, flags=re.DOTALL)
    rows = re.findall(r"<tr><td.*?</tr>", listed[1] if listed else "", flags=re.DOTALL)
    return [re.findall(r'<td class="num">([^<]*)</td>', row)[-2:] for row in rows]


def _links(page: str) -> dict[str, str]:
    """Return the queries of links to the window's files, by their words; those of the strip by that of all."""
    found = re.findall(r'<a href="[^"]*\?([^"]*)#files"[^>]*?>([^<]*)<', page)
    return {words.strip() or "strip": html.unescape(query) for query, words in found}


def test_a_generation_has_no_numbers_of_another(pipe: Pipe) -> None:
    """Those of files are kept for what is published, which others neither replace nor share."""
    first = _page(pipe, "bad=1")
    pipe.record_format = Csv(schema=SCHEMA.format("string"), header=True)
    pipe.run(clear_number=1)
    [old, second] = (_page(pipe, f"generation={number}") for number in (1, 2))
    window = get_window(pipe.env.ledger, "w", pipe.feed)
    start_generation(pipe.env.ledger, window.id, options={}, mode="write", clear_number=2)
    [at_work, shown] = (_page(pipe, query) for query in ("generation=3", ""))

    assert _rows(first) == [["2", "1"]]
    assert _rows(second)[:2] == _rows(shown)[:2] == [["2", "0"], ["2", "0"]]
    assert _rows(old)[:2] == _rows(at_work)[:2] == [["-", "-"], ["-", "-"]]
    assert "known of the published generation only" in _page(pipe, "generation=1&bad=1")
    assert "known once it is proven" in _page(pipe, "generation=3&bad=1")
    assert "No file of this window has bad records." in _page(pipe, "bad=1")


def test_links_to_files_lead_to_the_same_generation(pipe: Pipe) -> None:
    """All of them, further ones and those with bad records, from the list and from the strip."""
    every, bad, newest = (_page(pipe, query) for query in ("generation=1", "generation=1&bad=1", ""))

    assert _links(every) == {
        "with bad records": "generation=1&bad=1",
        "More files": "generation=1&file=50",
        "strip": _links(every)["strip"],
    }
    assert _links(every)["strip"].startswith("generation=1&file=")
    assert _links(bad)["all files"] == "generation=1"
    assert _links(newest)["with bad records"] == "bad=1"
