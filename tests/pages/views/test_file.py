"""The page of one file: its versions, and what became of its parts."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.overview.files import file_versions
from airflow_provider_blockread.ledger.schema.tables import feeds, files
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.options import JsonLines, Limits, Selection
from airflow_provider_blockread.pages.app import make_app
from airflow_provider_blockread.steps.model import Environment
from tests.ledger.make import version
from tests.pages.visitors import Person, site_of
from tests.pipeline.make import Pipe, ReadHere


def _said(env: Environment, page: str, person: Person | None = None) -> str:
    text = TestClient(make_app(site_of(env, person or Person()))).get(f"/ledgers/main/{page}").text
    shown = re.sub(r"<(script|style|title)\b.*?</\1>|</time>", "", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", shown)).split())


def _settle(ledger: Ledger, feed: str, mtime_ns: int) -> None:
    """See a version and settle it, since one that is pending is replaced by the next."""
    record_files(ledger, feed, [version("a", mtime_ns=mtime_ns)], complete=False)
    with ledger.writing() as connection:
        connection.execute(files.update().values(state="done"))


def test_the_version_that_is_looked_at_is_among_those_that_are_listed(ledger: Ledger) -> None:
    """They are the newest ones of the feeds that the visitor may see; the first ones may be long gone."""
    for mtime_ns in range(1, 7):
        for feed in ("mine", "hidden"):
            _settle(ledger, feed, mtime_ns)
    with ledger.reading() as connection:
        mine = connection.scalar(select(feeds.c.id).where(feeds.c.name == "mine"))
        ids = list(connection.scalars(select(files.c.id).where(files.c.feed_id == mine).order_by(files.c.id)))
    [first, last] = (file_versions(ledger, file, "file:///in/a", of=[mine], limit=3) for file in (ids[0], ids[-1]))

    assert [one.id for one in first.listed] == [ids[0], *ids[-3:]]
    assert [one.id for one in last.listed] == ids[-3:]
    assert (first.place, first.of_feed, first.all) == (1, 6, 6)
    assert (last.place, last.of_feed, last.all) == (6, 6, 6)


def test_versions_of_hidden_feeds_are_not_counted(env: Environment) -> None:
    """A page counts and lists what its visitor may see, and the place among its own feed's."""
    for feed, times in (("mine", (1, 2)), ("hidden", (1, 2, 3))):
        for mtime_ns in times:
            _settle(env.ledger, feed, mtime_ns)
    seen, alone = _said(env, "files/2"), _said(env, "files/2", Person(sees={"mine"}))

    assert "version 2 of 2" in seen
    assert "version 2 of 2" in alone
    assert (seen.count("hidden"), alone.count("hidden")) == (3, 0)


def test_a_file_read_in_parts_is_not_called_untaken(tmp_path: Path) -> None:
    """Some of it is published, and the rest waits."""
    pipe = Pipe(tmp_path, ReadHere(), block_size=1000, selection=Selection(limits=Limits(max_bytes=2000)))
    pipe.put({"big": b"1234567\n" * 1000})
    pipe.run()
    text = _said(pipe.env, "files/1")
    pipe.close()

    assert "pending Windows read it in parts; none has taken the rest yet." in text
    assert "bytes 0 to 2,000: ✓ published" in text
    assert "the rest of it waits for a window" in text


def test_each_file_on_which_a_group_failed_says_so(tmp_path: Path) -> None:
    """The window has one error, and its groups have one each."""
    pipe = Pipe(tmp_path, ReadHere(), record_format=JsonLines(schema="id long"), group_bytes=1)
    pipe.put({"a": b"bad a\n", "b": b"bad b\n", "c": b'{"id": 1}\n'})
    planned = pipe.plan()
    for group in range(2):
        with pytest.raises(RecordError):
            pipe.read(planned, groups=[group])
    pages = [_said(pipe.env, f"files/{number}") for number in (1, 2, 3)]
    window = _said(pipe.env, f"windows/{planned.window}")
    pipe.close()

    assert [page.count("✕ failed Its window failed on it.") for page in pages] == [1, 1, 0]
    assert ["record at byte 0 of" in page for page in pages] == [True, True, False]
    assert [f"/ {name} ✕ failed" in window for name in "abc"] == [True, True, False]
