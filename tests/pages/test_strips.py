"""Strips and texts: what is drawn how wide, and how bytes read."""

from __future__ import annotations

import re
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from starlette.testclient import TestClient

from airflow_provider_blockread.ledger.windows.generations import list_groups
from airflow_provider_blockread.ledger.windows.groups import complete_group, fail_group
from airflow_provider_blockread.options import Lines
from airflow_provider_blockread.pages.app import make_app
from airflow_provider_blockread.pages.display.dumps import Passage, passage, text_of
from airflow_provider_blockread.pages.display.paces import groups_strip, pace_of
from airflow_provider_blockread.pages.display.strips import bars
from airflow_provider_blockread.pages.display.words import begins
from airflow_provider_blockread.steps.model import Environment
from tests.ledger.clock import Clock
from tests.ledger.make import claim, open_window, outcome, publish, ref
from tests.pages.visitors import Person, site_of
from tests.pipeline.make import Pipe, ReadHere


def test_small_bars_are_one_path() -> None:
    """The highest fills the height but two pixels, the smallest number is visible, and 0 has no bar."""
    assert bars([0, 5, 10], 24) == "M1 24v-11h.84v11zM2 24v-22h.84v22z"
    assert bars([1, 10_000], 24) == "M0 24v-1h.84v1zM1 24v-22h.84v22z"
    assert bars([0, 0], 24) == bars([], 24) == ""


def test_windows_are_drawn_over_time(client: TestClient, env: Environment, clock: Clock) -> None:
    """A pause is as wide as the windows that it lacks, and one that follows at once is narrow."""
    for number, hours in enumerate((1.0, 1.0, 1.0, 8.0, 0.1, 1.0)):
        publish(env.ledger, open_window(env.ledger, f"w{number}", (f"f{number}",)))
        clock.time += timedelta(hours=hours)
    text = client.get("/ledgers/main/feeds/1").text
    chart = text[text.index('<svg class="chart"') :]
    widths = [float(found) for found in re.findall(r'<rect class="hit" x="[^"]*" y="0" width="([^%]*)%"', chart)]
    usual = widths[0]

    assert [round(width / usual, 1) for width in widths] == [1, 1, 1, 1, 7, 0.4, 1]
    assert "No window was planned for 8 h" in chart


def test_many_groups_are_drawn_as_few_pieces(env: Environment, clock: Clock) -> None:
    """A page that is looked at while it moves stays small; each piece shows what is worst in it, and sums."""
    window = open_window(env.ledger, groups=801)
    for number in (1, 6, 7, 8):
        complete_group(env.ledger, claim(env.ledger, ref(window, number)), outcome(ref(window, number)))
    claim(env.ledger, ref(window, 4))
    fail_group(env.ledger, claim(env.ledger, ref(window, 800)), "RecordError: bad")
    paces = [pace_of(one, clock()) for one in list_groups(env.ledger, window.id, 1)]
    pieces = [placed.one for placed in groups_strip(paces, "Groups", {4, 8, 800}).pieces]

    assert len(pieces) == 267
    assert [one.kind for one in pieces[:4]] == ["waiting", "reading", "done", "waiting"]
    assert pieces[2].label == "groups 6 to 8: done, 6 of 6 blocks, 30 B, 15 records"
    assert [one.href for one in pieces[:4]] == [None, "#group-4", "#group-8", None]
    assert (pieces[-1].kind, pieces[-1].label[:28]) == ("failed", "groups 798 to 800: failed, 0")
    assert [one.one.label[:8] for one in groups_strip(paces[:400], "Groups").pieces[:2]] == ["group 0:", "group 1:"]


def test_a_block_says_where_it_begins() -> None:
    """In the words of its format; a format without states says nothing."""
    assert [begins(state, {"kind": "csv"}) for state in (0, 1)] == ["outside quotes", "in quotes"]
    assert begins(3, {"kind": "csv", "escape": "\\"}) == "in quotes"
    assert begins(0, {"kind": "lines"}) == "-"
    assert begins(5, {"kind": "json_array"}) == "in state 5"


def test_bytes_of_a_record_read_as_text() -> None:
    """Whatever is text in UTF-8 is shown as such; line ends are visible, and so is what is no text."""
    assert text_of("Größe\t1\r\n".encode()) == "Größe⇥1␍⏎"
    assert text_of(b"\xff\x00,") == "\\xff\x00,"  # the template escapes what does not print
    assert text_of(b"x" * 1120) == "x" * 120 + " … 1,000 bytes more"


def test_lines_around_a_record_are_whole() -> None:
    """A line that is cut is left out before it, unless nothing else is there; no more than five on each side."""
    data = b"".join(b"%d\r\n" % n for n in range(20, 40))
    found = passage(data, 100, mark=(140, 142))
    assert found is not None
    assert found.before == "25\r\n26\r\n27\r\n28\r\n29\r\n".replace("\r", "␍")
    assert found.marked == "30"
    assert found.after.count("\n") == 5
    assert found.after.endswith("35␍")

    assert passage(b"half\nab", 7, mark=(12, 13)) == Passage("", "a", "b")
    assert passage(b"half ab", 7, mark=(12, 13)) == Passage("half ", "a", "b")
    assert passage(b"\xff\xe4", 0, mark=(1, 2), encoding="latin-1") == Passage("ÿ", "ä", "")
    assert passage(b"\xff", 0, mark=(0, 1)) == Passage("", "\\xff", "")
    assert passage(b"", 0, mark=(0, 1)) == Passage("", "", "")
    assert passage(b"a\x00", 0, mark=(0, 1), encoding="utf-16-le") is None
    assert passage(b"a", 0, mark=(0, 1), encoding="of my own") is None


def test_blocks_of_a_large_file_are_listed_page_by_page(tmp_path: Path) -> None:
    """Each segment of the strip leads to the line of its first block, wherever that is; all of it is reached."""
    lines = Lines()
    with closing(Pipe(tmp_path, ReadHere(), feed="logs", block_size=4, group_bytes=4000, record_format=lines)) as pipe:
        pipe.put({"a": b"abc\n" * 450})
        pipe.read(pipe.plan("k"))
        client = TestClient(make_app(site_of(pipe.env, Person())))
        pages = [client.get(f"/ledgers/main/files/1?block={block}").text for block in (0, 200, 400, 10**9)]
    listed = [[int(found) for found in re.findall(r'<tr id="block-(\d+)"', page)] for page in pages]
    strips = [re.findall(r'<a href="([^"]*)" aria-label="blocks? (\d+)', page) for page in pages]

    assert [*listed[0], *listed[1], *listed[2]] == list(range(450))
    assert listed[3] == listed[0]
    for numbers, links in zip(listed, strips, strict=True):
        assert len(links) == 225
        for href, number in links:
            here = int(number) in numbers
            assert href == (f"#block-{number}" if here else f"/ledgers/main/files/1?block={number}#blocks")
    assert "?block=200#blocks" in pages[0]
    assert [word in pages[1] for word in ("Earlier blocks", "Later blocks")] == [True, True]
    assert "Later blocks" not in pages[2]


def test_files_are_as_the_groups_that_read_them(tmp_path: Path) -> None:
    """While a window is not proven, on its strip and in its list."""
    lines = Lines()
    with closing(Pipe(tmp_path, ReadHere(), feed="logs", block_size=40, group_bytes=40, record_format=lines)) as pipe:
        pipe.put(dict.fromkeys(("a", "b", "c"), b"x" * 39 + b"\n"))
        ref = pipe.plan("k")
        pipe.read(ref, groups=[0, 2])
        text = TestClient(make_app(site_of(pipe.env, Person()))).get(f"/ledgers/main/windows/{ref.window}").text
    strip = text[text.index('aria-label="3 files') :]

    assert re.findall(r"/(\w): (\w+), 40 B</title>", strip) == [("a", "done"), ("b", "planned"), ("c", "done")]
    assert strip[strip.index("<tbody>") :].count("</span>done") == 2
