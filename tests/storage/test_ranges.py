"""Files read by ranges: the result is the requested range, or an error."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.options import Bounds
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.ranges import MOST_AHEAD, RANGE_BYTES, RangedFile, exactly, require_range
from airflow_provider_blockread.storage.versions import open_version
from tests.servers.quiet import Quiet

DATA = bytes(range(256)) * 5


_READS = st.tuples(st.none() | st.integers(0, len(DATA) + 5), st.integers(0, 200) | st.integers(0, len(DATA) + 5))


@given(st.lists(_READS, max_size=20), st.sampled_from([7, 64, RANGE_BYTES]))
def test_reads_are_those_of_a_plain_file(reads: list[tuple[int | None, int]], range_bytes: int) -> None:
    """At any offset, on from the last or not, a ranged file returns a prefix of what a plain file returns."""
    plain = io.BytesIO(DATA)
    with RangedFile(lambda start, end: DATA[start:end], len(DATA), "x", range_bytes) as ranged:
        for position, size in reads:
            if position is not None:
                assert ranged.seek(position) == ranged.tell() == position
            plain.seek(ranged.tell())
            found, expected = ranged.read(size), plain.read(size)
            assert expected.startswith(found)
            assert bool(found) == bool(expected)


def test_ranges_are_fetched_ahead_of_reads_in_order() -> None:
    """Of a file that is read in order, some ranges are on the way before they are read; elsewhere none."""
    asked, unread = list[int](), threading.Event()

    def fetch(start: int, end: int) -> bytes:
        asked.append(start)
        if start > 700:
            unread.set()
        return DATA[start:end]

    with RangedFile(fetch, len(DATA), "x", 100) as file:
        for position in (0, 600, 300):
            file.seek(position)
            file.read(100)
        assert asked == [0, 600, 300]
        for count in range(1, 5):
            assert file.read(100) == DATA[300 + 100 * count : 400 + 100 * count]
            assert len(asked) <= 3 + count + MOST_AHEAD
        assert unread.wait(120)
    ahead = sorted(asked[3:])  # the last ones begin at once, in any order, and end with the file
    assert ahead[:4] == [400, 500, 600, 700]
    assert set(ahead[4:]) <= {800 + 100 * count for count in range(MOST_AHEAD)}
    assert len(set(ahead)) == len(ahead)


def test_nothing_is_fetched_ahead_behind_the_end_of_what_is_read() -> None:
    """Only a read that goes on, as to the end of a record, fetches more."""
    asked: list[int] = []

    def fetch(start: int, end: int) -> bytes:
        asked.append(start)
        return DATA[start:end]

    with RangedFile(fetch, len(DATA), "x", 100, until=450) as file:
        assert b"".join(file.read(100) for _ in range(5)) == DATA[:500]
        assert sorted(asked) == [0, 100, 200, 300, 400]
        assert file.read(100) == DATA[500:600]
    assert max(asked) == 500


def test_a_range_ahead_that_fails_is_fetched_again_when_it_is_read() -> None:
    """The error is raised where the range is read, and a read that is tried again succeeds."""
    failed: list[int] = []

    def fetch(start: int, end: int) -> bytes:
        if start == 200 and not failed:
            failed.append(start)
            msg = "not now"
            raise SourceError(msg)
        return DATA[start:end]

    with RangedFile(fetch, len(DATA), "x", 100) as file:
        assert file.read(100) + file.read(100) == DATA[:200]
        with pytest.raises(SourceError, match="not now"):
            file.read(100)
        assert file.read(100) + file.read(100) == DATA[200:400]


@pytest.mark.parametrize(
    "give", [lambda _start, _end: DATA, lambda start, end: DATA[start : end - 1]], ids=["all", "less"]
)
def test_a_store_that_gives_too_much_or_too_little_is_refused(give: object) -> None:
    """An answer of another length is not truncated, as it may be of another range."""
    with pytest.raises(SourceError, match=r"x: asked for bytes \[3, 9\), the store gives"):
        exactly(give, 3, 9, "x")


def test_an_answer_that_breaks_off_is_asked_for_again() -> None:
    """A short answer, once, costs another request."""
    answers = iter([DATA[3:5], DATA[3:9]])

    assert exactly(lambda _start, _end: next(answers), 3, 9, "x") == DATA[3:9]


@pytest.fixture
def without_ranges(tmp_path: Path) -> Iterator[str]:
    """The URL of a web server without ranges that serves the test's folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_web_server_without_ranges_is_refused(without_ranges: str, tmp_path: Path) -> None:
    """A server that answers each request with the whole file is refused."""
    (tmp_path / "x").write_bytes(DATA)
    stores = Stores()
    version = stores.stat(f"{without_ranges}/x")
    with open_version(stores, version, Bounds()) as file:
        source = ByteSource(file, size=version.size, name=version.path)
        with pytest.raises(SourceError, match="serves no ranges"):
            source.read(100, 200)


@pytest.mark.parametrize("answered", ["bytes 0-9/99", "bytes 11-19/99", "bytes 10-20/99"])
def test_an_answer_that_names_another_range_is_refused(answered: str) -> None:
    """One that names the range, or fewer bytes of it, or none, is judged by its length."""
    for named in ("bytes 10-19/99", "bytes 10-14/*", "bytes */99", None):
        require_range("s3://b/x", named, 10, 20)
    with pytest.raises(SourceError, match=r"s3://b/x: asked for bytes \[10, 20\), the store answers with the range"):
        require_range("s3://b/x", answered, 10, 20)
