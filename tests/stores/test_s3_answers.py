"""Answers of S3 services, in every form: a page is parsed to what was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.backends.shared.pages import Entry, Pages
from tests.servers.lister import Lister, lister

TIME, TIME_NS = "<LastModified>2026-01-02T03:04:05{fraction}Z</LastModified>", 1767323045 * 10**9
#: Files as stores write them, the usual ones first.
USUAL = [
    "<Contents><Key>{key}</Key>{time}<ETag>&quot;{etag}&quot;</ETag><Size>{size}</Size><Type>Normal</Type></Contents>",
    "<Contents><Key>{key}</Key>{time}<ETag>&#34;{etag}&#34;</ETag><Size>{size}</Size></Contents>",
    '<Contents><Key>{key}</Key>{time}<ETag>"{etag}"</ETag><Any>1</Any><Size>{size}</Size><B>2</B><C></C></Contents>',
]
FORMS = [
    *USUAL,
    "<Contents><Key>{key}</Key><Size>{size}</Size>{time}<ETag>{etag}</ETag></Contents>",
    "<Contents><Key>{key}</Key>{time}<ETag>&quot;{etag}&quot;</ETag><Size>{size}</Size><By>é &amp; Co.</By></Contents>",
    "\n <Contents>\n  <Key>{key}</Key>\n  {time}\n  <ETag>&quot;{etag}&quot;</ETag>\n  <Size>{size}</Size></Contents>",
    "<Contents><By><Key>x</Key></By><Key>{key}</Key>{time}<ETag>&quot;{etag}&quot;</ETag><Size>{size}</Size></Contents>",
    f"<!-- {USUAL[1]} --><Contents><Key>{{key}}</Key>{{time}}<ETag>{{etag}}</ETag><Size>{{size}}</Size></Contents>",
    f"{USUAL[1]}<!-- {USUAL[1]} -->",
]
CODINGS: list[Callable[[str], str]] = [quote, quote_plus, lambda key: quote(key, safe="")]
FILES = st.tuples(st.integers(0, 10**15), st.sampled_from(["0", "9f-12", "9dd4e461268c8034f5c8564e155c67a6"]))
TEXT = st.text(st.sampled_from("ab/ %+&<>]=#?é日\U0001f600"), min_size=1, max_size=8)
CODED = st.text(st.sampled_from("ab/ %+&<>]=#?é日\U0001f600\n\r\x01"), min_size=1, max_size=8)


@pytest.fixture(scope="module")
def server() -> Iterator[Lister]:
    """Provide a server with settable answers."""
    with lister([]) as server:
        yield server


def pages(server: Lister, root: str) -> Pages:
    """Return the listings below a root of the server."""
    return Stores({"s3://b": server.options}).pages(root)


def answer(head: str, files: str) -> bytes:
    """Return the XML of a page."""
    more = "<IsTruncated>true</IsTruncated><NextContinuationToken>on &amp; on</NextContinuationToken>"
    space = "http://s3.amazonaws.com/doc/2006-03-01/"
    return f'<?xml version="1.0"?><ListBucketResult xmlns="{space}">{head}{more}{files}</ListBucketResult>'.encode()


@given(
    st.data(),
    st.sampled_from([*CODINGS, None]),
    st.sampled_from([USUAL, FORMS]),
    st.sampled_from(["", "in/", "i n/é/"]),
)
def test_a_page_holds_the_files_that_are_written(
    server: Lister, data: st.DataObject, coding: Callable[[str], str] | None, forms: list[str], root: str
) -> None:
    """Whatever the form and the encoding of keys, a page has names, sizes, seconds and ETags, in order."""
    head = "" if coding is None else "<EncodingType>url</EncodingType>"
    written: list[str] = []
    entries: list[Entry] = []
    for key in data.draw(st.lists(TEXT if coding is None else CODED, max_size=6)):
        size, etag = data.draw(FILES)
        time = TIME.format(fraction=data.draw(st.sampled_from(["", ".000", ".987"])))
        text = escape(root + key) if coding is None else coding(root + key)
        written.append(data.draw(st.sampled_from(forms)).format(key=text, time=time, etag=etag, size=size))
        entries.append(Entry(key, size, TIME_NS, etag))
    server.respond = lambda *_: (200, answer(head, "".join(written)))
    page = pages(server, f"s3://b/{root}").page("", None, flat=True)

    assert list(page.entries()) == entries
    assert page.cursor == "on & on"


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_a_file_is_read_once(server: Lister, form: str) -> None:
    """A file is parsed as it is written, and comments are ignored."""
    files = [form.format(key=key, time=TIME.format(fraction=".6"), etag="0", size=7) for key in "ab"]
    server.respond = lambda *_: (200, answer("", "".join(files)))
    page = pages(server, "s3://b").page("", None, flat=True)

    assert list(page.entries()) == [Entry("a", 7, TIME_NS, "0"), Entry("b", 7, TIME_NS, "0")]


@pytest.mark.parametrize("form", FORMS)
def test_names_that_were_not_asked_for_are_an_error(server: Lister, form: str) -> None:
    """A foreign key is never used as one below the root."""
    time = TIME.format(fraction="")
    files = [form.format(key=key, time=time, etag="0", size=1) for key in ("in/a", "into/b")]
    server.respond = lambda *_: (200, answer("", "".join(files)))
    with pytest.raises(OSError, match="not asked for"):
        pages(server, "s3://b/in").page("", None, flat=True)


@pytest.mark.parametrize("form", FORMS)
def test_half_an_answer_is_an_error(server: Lister, form: str) -> None:
    """A truncated answer is an error, wherever it ends."""
    files = [form.format(key=key, time=TIME.format(fraction=""), etag="0", size=1) for key in "ab"]
    whole = answer("", "".join(files))
    listing = pages(server, "s3://b")
    for end in range(120, len(whole), 37):
        server.respond = lambda *_, end=end: (200, whole[:end])
        with pytest.raises(OSError, match="truncated or not XML"):
            listing.page("", None, flat=True)
