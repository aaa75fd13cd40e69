"""What the pages say about a feed that was read for real."""

from __future__ import annotations

import html
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import RecordError
from tests.pages.lake import BAD, FEED, HOSTILE, Lake, filled_lake
from tests.pages.visitors import Person

PAGES = ("/", "/search?q=good", "/ledgers/main/health", "/ledgers/main/feeds/1")


@pytest.fixture(scope="module")
def lake() -> Iterator[Lake]:
    """A published window and a failed one."""
    with tempfile.TemporaryDirectory(prefix="blockread-lake-") as folder, filled_lake(Path(folder)) as made:
        yield made


def words(text: str) -> str:
    """Return what a person reads on a page, in one line."""
    shown = re.sub(r"<(script|style|title)\b.*?</\1>", " ", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", shown)).split())


def all_pages(lake: Lake) -> dict[str, str]:
    """Return every page by its address, found by following links from the first one."""
    seen: dict[str, str] = {}
    left = [
        "/",
        "/search?q=csv",
        "/search?q=script",
        *(f"/ledgers/main/feeds/1?show={tab}" for tab in ("waiting", "left")),
    ]
    while left:
        path = left.pop()
        if path in seen or path.startswith("/static"):
            continue
        answer = lake.client.get(path)
        assert answer.status_code == 200 or "/actions/" in path, path  # an action may be refused
        seen[path] = answer.text
        left += [html.unescape(link).partition("#")[0] or path for link in re.findall(r'href="(/[^"]*)"', answer.text)]
    return seen


def test_every_link_leads_to_a_page_without_what_names_hold(lake: Lake) -> None:
    """Markup of names is text and control characters are visible, on every page that links lead to."""
    pages = all_pages(lake)

    assert any("/records?at=" in path for path in pages)
    for path, text in pages.items():
        assert not re.search(r"<(img|b>hourly|i>|script>)", text), path
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text), path
    assert "\\x1b[31m\\x0a\\u202e" in words(pages["/search?q=csv"])


def test_feeds_say_what_fails_first(lake: Lake) -> None:
    """The first page has the state, why, and the records of today."""
    said = words(lake.client.get("/").text)

    assert "1 failing" in said
    assert "1 window failed : csv record at byte 16 of" in said
    assert "102 records , 1 bad, 806 B today" in said


def test_a_published_window_shows_its_proof_in_numbers(lake: Lake) -> None:
    """Bytes, blocks, borders, records, rows and the quarantine, as the ledger and the output's footers have them."""
    said = words(lake.client.get(lake.window("first")).text)
    size = sum(path.stat().st_size for path in lake.pipe.source.iterdir() if path.name != "broken.csv")

    assert f"Every byte is accounted for: {size:,} bytes in" in said
    assert "of 2 files." in said
    assert "102 records read, 1 of them bad" in said
    assert "101 rows written" in said
    assert "count 101 rows in their own footers" in said
    assert "1 bad record kept with its bytes in the quarantine" in said
    assert "Read 2 files" in said
    assert "blockread windows rebuild" in said
    assert "clicks.read" in said


def test_the_files_of_a_window_are_a_strip(lake: Lake) -> None:
    """Each file is a segment with its name, size and bad records, and leads to its page."""
    text = lake.client.get(lake.window("first")).text
    strip = text[text.index('aria-label="2 files') :]
    labels = [html.unescape(found) for found in re.findall("<title>(.*?)</title>", strip)]

    assert [label.rpartition(": ")[2] for label in labels] == ["published, 416 B, 1 bad record", "published, 390 B"]
    assert lake.file("good.csv") in strip


def test_a_failed_window_says_what_where_and_what_works(lake: Lake) -> None:
    """The error comes first, and the next actions name the file."""
    said = words(lake.client.get(lake.window("second <script>")).text)

    assert "What went wrong" in said
    assert re.search(r"broken\.csv ✕ failed", said)
    assert "Not proven yet" in said
    assert re.search(r"blockread windows exclude [0-9a-f]{16} \S+broken.csv --reason \.\.\. --state \S+", said)
    assert said.index("What went wrong") < said.index("Groups")


def test_a_file_shows_each_block_and_the_bytes_of_a_bad_record(lake: Lake) -> None:
    """Each block has its range and receipt; the bad record links to its bytes, which are marked."""
    text = lake.client.get(lake.file("&lt;.csv")).text
    said = words(text)
    [link] = re.findall(r'href="([^"]*/records\?at=16[^"]*)"', text)
    bytes_page = lake.client.get(html.unescape(link)).text
    marked = "".join(html.unescape(found) for found in re.findall("<mark>(.*?)</mark>", bytes_page))

    assert "no receipt" not in said
    assert f"'bad' {BAD.decode()} Look at its bytes" in said  # as text
    assert f"{len(BAD)} column 'n' is not of type int64: 'bad'" in said
    assert marked.startswith(BAD.decode())


def test_a_file_that_fails_its_window_says_so(lake: Lake) -> None:
    """On its page, with the reason, the block, and the way on; in a search, by the state of its window."""
    path = lake.file("broken.csv")
    page = lake.client.get(path).text
    said, searched = words(page), words(lake.client.get("/search?q=broken").text)
    blocks = re.findall(r'<tr id="block-\d+">.*?</span>\s*(\w+)', page, re.DOTALL)
    without_records = words(lake.as_seen_by(Person(reads=set())).get(path).text)

    assert "broken.csv ✕ failed Its window failed on it. csv record at byte 16 of" in said
    assert blocks == ["failed"]
    assert f'<a href="{lake.window("second <script>")}">What can be done with window' in page
    assert "second <script> ✕ failed" in searched
    assert "✕ failed Its window failed on it. The error may quote records" in without_records


def test_a_file_is_published_wherever_its_state_is_shown(lake: Lake) -> None:
    """In a search, on its page and on that of its window: whoever asks whether it is in the table has the answer."""
    searched, page, window = (
        words(lake.client.get(one).text) for one in ("/search?q=good", lake.file("good.csv"), lake.window("first"))
    )

    assert "good.csv ✓ published first" in searched
    assert "good.csv ✓ published Readers see all its records." in page
    assert "good.csv ✓ published 390" in window


def test_blocks_beside_the_one_that_failed_wait(tmp_path: Path) -> None:
    """A group that failed has read none of its blocks for good, but only one of them is at fault."""
    with filled_lake(tmp_path) as lake:
        lake.pipe.put(
            {"long.csv": b"id,name,n\n" + b"1,x,2\n" * 9 + BAD + b"\n" + b"1,x,2\n" * 9, "other.csv": b"id,name,n\n"}
        )
        ref = lake.plan("third")
        with pytest.raises(RecordError):
            lake.pipe.read(ref)
        long, other = (lake.client.get(lake.file(name)).text for name in ("long.csv", "other.csv"))

    assert re.findall("<title>block \\d+: (\\w+)", long) == ["waiting", "failed", "waiting", "waiting"]
    assert "Its window failed for another reason" in other


def test_the_records_around_a_bad_one_are_lines_of_text(lake: Lake) -> None:
    """From the bad records of a file or a window, and from the error of one that failed; markup is text."""
    first, second = (lake.client.get(lake.window(key)).text for key in ("first", "second <script>"))
    [of_bad] = re.findall(r'href="([^"]*/records\?at=16[^"]*)" title', first)
    [of_error] = re.findall(r'href="([^"]*)">The records around it', second)
    assert html.unescape(of_error) == f"{lake.file('broken.csv')}/records?at=16&length={len(BAD)}"

    for link in (of_bad, of_error):
        text = lake.client.get(html.unescape(link)).text
        [shown] = re.findall('<pre class="passage"[^>]*>(.*?)</pre>', text, flags=re.DOTALL)
        before, marked, after = re.split("</?mark>", shown)
        assert before == "id,name,n\n1,x,2\n"
        assert html.unescape(marked) == BAD.decode()
        assert after.startswith("\n0,x,0\n") == (link is of_bad)


def test_bytes_are_for_those_who_may_read_them(lake: Lake) -> None:
    """A visitor who may see the feed and not its records finds no byte of a record, also not in an error."""
    viewer = lake.as_seen_by(Person(reads=set()))
    paths = [
        *PAGES,
        lake.window("first"),
        lake.window("second <script>"),
        lake.file("&lt;.csv"),
        lake.file("broken.csv"),
    ]

    for path in paths:
        text = viewer.get(path).text
        assert "bad&#39;" not in text, path
        assert "a &#34;&#34;b" not in text, path
    assert "may quote records" in viewer.get(lake.window("second <script>")).text


def test_lists_hold_only_feeds_that_the_visitor_may_see(lake: Lake) -> None:
    """To a stranger no list names the feed, its windows or its files."""
    stranger = lake.as_seen_by(Person(sees={"another"}))

    for path in (*PAGES[:3], "/search?q=hourl", "/search?q=scrip"):
        text = stranger.get(path).text
        for hidden in ("hourly", "good.csv", lake.window("first")):
            assert hidden not in text, path


def test_live_counts_are_those_of_the_page(lake: Lake) -> None:
    """The small JSON says what moves, in numbers and as the part of the page that changes."""
    answer = lake.client.get(f"{lake.window('first')}/live").json()

    assert answer["moving"] is False
    assert answer["state"] == "published"
    assert (answer["blocks_done"], answer["bytes_done"]) == (answer["blocks"], answer["bytes"])
    assert "<table>" in answer["html"]


def test_an_offset_beyond_the_file_is_no_mistake(lake: Lake) -> None:
    """Whatever an address asks for, the page stays within the file."""
    for at in ("-5", "99999999999", "x", "9" * 40):
        assert lake.client.get(f"{lake.file('good.csv')}/records?at={at}").status_code == 200


def test_health_finds_what_attempts_have_left(lake: Lake) -> None:
    """On request: the staged files of published attempts, in which windows, with the command that clears them."""
    before, looked = (words(lake.client.get(f"/ledgers/main/health{query}").text) for query in ("", "?leftovers=1"))
    stranger = lake.as_seen_by(Person(sees={"another"})).get("/ledgers/main/health?leftovers=1").text

    assert "Look into the work area" in before
    assert re.search(
        r"\d+ folders? of attempts that nothing needs any more, in the work areas of 1 of the newest 2 windows", looked
    )
    assert "first of clicks" in looked
    assert "blockread prune --older-than 90d --keep 100" in looked
    assert "newest" not in words(stranger)


def test_the_feed_is_found_by_its_name(lake: Lake) -> None:
    """Search finds feeds, windows and files by a part of their names."""
    assert words(FEED)[:6] in words(lake.client.get("/search?q=HOURLY").text)
    assert lake.window("first") in lake.client.get("/search?q=FIRS").text
    assert lake.file("good.csv") in lake.client.get(f"/search?q={lake.pipe.uri('good.csv')}").text
    assert HOSTILE not in lake.client.get("/search?q=%3Cimg").text
