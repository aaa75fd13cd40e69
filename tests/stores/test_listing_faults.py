"""Listings when the store fails in the middle: all files are listed, or an error is raised, never a part."""

from __future__ import annotations

import random
from itertools import count, islice
from threading import Barrier, BrokenBarrierError, Event

import pytest

from airflow_provider_blockread.errors import BlockReadError, SourceError, TransientError
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.backends.shared.objects import ObjectPages
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.listing.paged import PagedListing
from airflow_provider_blockread.storage.listing.rules import NameRules
from airflow_provider_blockread.storage.patience import Patience
from tests.servers.lister import Answer, Lister, error, lister, well

KEYS = [f"in/{number:05d}.csv" for number in range(4500)]
SOON = Patience(tries=4, first_s=0.001, longest_s=0.01)


def listed(server: Lister, **options: object) -> list[str]:
    """Return the keys that a listing of `in/` yields, with short pauses between retries."""
    stores, source = Stores({"s3://b": server.options}), FileSource("s3://b/in", **options)  # type: ignore[arg-type]
    walk = PagedListing("s3://b/in", stores.pages("s3://b/in"), NameRules(source), SOON)
    return [version.path.removeprefix("s3://b/") for version in walk.files()]


def numbered(number: int, answer: Answer | None, *, times: int = 1) -> tuple[object, list[int]]:
    """Return a server's answer to the request of that number and the following ones, and the list of requests."""
    asked: list[int] = []

    def respond(_server: Lister, _query: dict[str, str], body: bytes) -> Answer | None:
        asked.append(len(asked))
        return answer if number <= asked[-1] < number + times else (200, body)

    return respond, asked


def test_a_flat_folder_takes_one_request_a_page_and_none_for_its_files() -> None:
    """4,500 keys are five pages of 1,000, each requested once; no key is requested by itself."""
    with lister(KEYS) as server:
        assert listed(server) == KEYS
        assert (len(server.queries), server.heads) == (5, 0)


def test_what_fails_in_between_is_asked_for_again_from_there() -> None:
    """An overloaded server, a closed connection and a truncated answer cost one more request each, and no file."""
    choose = random.Random(7)
    with lister(KEYS) as server:
        failures = [error(503, "SlowDown"), error(500, "InternalError"), None, (200, b"<html/>"), error(429, "Busy")]

        def respond(_server: Lister, query: dict[str, str], body: bytes) -> Answer | None:
            asked = sum(query == other for other in server.queries)
            return choose.choice(failures) if asked <= 2 else (200, body)

        server.respond = respond

        assert listed(server) == KEYS
        assert len(server.queries) == 15


@pytest.mark.parametrize(
    ("answer", "kind", "says", "asked"),
    [
        (error(503, "SlowDown"), TransientError, r"asks to slow down \(SlowDown\).*\(tried 4 times\)", 6),
        (error(429, "TooMany"), TransientError, r"asks to slow down \(TooMany\)", 6),
        (None, TransientError, "the store failed", 6),
        ((200, b"<html/>"), TransientError, "the answer is not a listing", 6),
        ((200, b"<ListBucketResult><IsTruncated>tr"), TransientError, "truncated", 6),
        ((200, b"<ListBucketResult/>"), TransientError, "does not say how the listing continues", 6),
        (error(404, "NoSuchBucket"), TransientError, "vanished while it was being listed; try again", 3),
        (error(403, "AccessDenied"), SourceError, "access denied", 3),
        (error(403, "InvalidAccessKeyId"), SourceError, "access denied", 3),
        (error(400, "ExpiredToken"), TransientError, r"have expired \(ExpiredToken\); try again", 6),
        (error(400, "InvalidToken"), SourceError, r"have expired or are not accepted \(InvalidToken\); renew", 3),
        (error(400, "InvalidRequest"), SourceError, r"refuses this request \(InvalidRequest\)", 3),
    ],
)
def test_a_store_that_goes_on_failing_is_an_error(
    answer: Answer | None, kind: type[BlockReadError], says: str, asked: int
) -> None:
    """From the third page on: transient errors are retried, permanent ones are not."""
    respond, questions = numbered(2, answer, times=100)
    with lister(KEYS, respond) as server:  # type: ignore[arg-type]
        with pytest.raises(kind, match=says) as caught:
            listed(server)
        assert len(questions) == asked
    shown = f"{caught.value} {caught.value.__cause__}"
    assert shown.startswith("s3://b/in")
    assert "SECRET-OF-TESTS" not in shown


def test_a_store_that_repeats_a_page_is_an_error() -> None:
    """A cursor that leads back to its own page would never end."""
    with lister(KEYS) as server:
        server.respond = lambda server, query, _body: (200, server.page({**query, "continuation-token": "1000"}))
        with pytest.raises(TransientError, match="same page repeatedly"):
            listed(server)


def test_a_page_that_never_comes_is_asked_for_again() -> None:
    """A server that does not answer a request times out."""
    let_go = Event()
    with lister(KEYS) as server:

        def respond(server: Lister, _query: dict[str, str], body: bytes) -> Answer:
            if len(server.queries) == 2:
                let_go.wait(60)
            return 200, body

        server.respond = respond
        stores = Stores({"s3://b": server.options})
        pages = stores.pages("s3://b/in")
        assert isinstance(pages, ObjectPages)
        pages.seconds = 2
        found = [
            version.path
            for version in PagedListing("s3://b/in", pages, NameRules(FileSource("s3://b/in")), SOON).files()
        ]
        let_go.set()

    assert found == [f"s3://b/{key}" for key in KEYS]


def test_pauses_grow_and_differ() -> None:
    """Each pause is drawn from a range twice as wide as the previous one, up to a limit."""
    patience, pauses = Patience(tries=9, first_s=1, longest_s=20), []
    with pytest.raises(TransientError, match="tried 9 times"):
        patience.ask("s3://b", _fail, pauses.append)

    assert all(0 <= pause <= min(20, 2 ** (n + 1)) for n, pause in enumerate(pauses))
    assert len(set(pauses)) == len(pauses) == 8


def _fail() -> None:
    raise OSError(5, "down")


def test_excluded_trees_are_not_asked_for() -> None:
    """Excluded folders are skipped; below a folder that is wanted completely, pages are flat."""
    keys = [f"in/{year}/{n:04d}/{file:02d}" for year in (2023, 2024, 2025) for n in range(30) for file in range(40)]
    with lister(keys) as server:
        assert listed(server, pattern="2024/**") == [key for key in keys if key.startswith("in/2024/")]
        assert {query["prefix"] for query in server.queries} == {"in/", "in/2024/"}
        server.queries.clear()

        assert len(listed(server, exclude="2023/")) == 2400
        assert not [query for query in server.queries if query["prefix"].startswith("in/2023/")]
        server.queries.clear()

        assert listed(server, recursive=False) == []
        assert len(server.queries) == 1


def test_large_folders_are_listed_side_by_side_in_order() -> None:
    """A few folders of many files are yielded in order, although several are requested in parallel."""
    keys = [f"in/{folder}/{n:04d}" for folder in "abcdefgh" for n in range(1500)]
    with lister(keys) as server:
        barrier = Barrier(4)

        def respond(_server: Lister, query: dict[str, str], body: bytes) -> Answer | None:
            if query["prefix"] != "in/" and query["prefix"] < "in/e" and "continuation-token" not in query:
                try:
                    barrier.wait(30)
                except BrokenBarrierError:
                    return error(400, "Alone")
            return well(server, query, body)

        server.respond = respond

        assert listed(server) == keys
        assert len(server.queries) == 2 + 8 * 2


def test_many_small_folders_are_listed_flat() -> None:
    """Folders of few files do not get a request each."""
    keys = sorted(f"in/{folder:04d}/{n}" for folder in range(1000) for n in range(3))
    with lister(keys) as server:
        assert listed(server) == keys
        assert len(server.queries) == 3


def test_a_listing_that_changes_meanwhile_holds_what_was_there_all_along() -> None:
    """Files that are added or removed during a listing may be in it or not; all others are in it once."""
    with lister(KEYS) as server:
        numbers = count()

        def respond(server: Lister, query: dict[str, str], _body: bytes) -> Answer:
            at = int(query.get("continuation-token", "0"))
            server.keys = [*server.keys[:at], *KEYS[at:], f"in/9999{next(numbers)}"]
            server._made.clear()
            return 200, server.page(query)

        server.respond = respond
        found = listed(server)

    assert len(set(found)) == len(found)
    assert set(KEYS) <= set(found)


def test_a_bucket_that_is_not_there_or_not_open_is_told_at_once() -> None:
    """Errors of the check of a root are translated, too."""
    stores = Stores({"s3://b": {**_nobody(), "config_kwargs": {"retries": {"max_attempts": 0}}}})
    with pytest.raises(TransientError, match="the store failed"):
        stores.stat("s3://b/x")
    with pytest.raises(TransientError, match="the store failed"):
        list(stores.list_names("s3://b/x"))


def _nobody() -> dict[str, object]:
    with lister([]) as server:
        return server.options


def test_a_slow_reader_holds_the_fetching_up() -> None:
    """Only some pages are fetched before the first file is taken, however long the listing is."""
    keys = [f"in/{number:06d}" for number in range(30_000)]
    with lister(keys) as server:
        stores = Stores({"s3://b": server.options})
        files = list_files(stores, FileSource("s3://b/in"), now_s=4e9)
        taken = [version.path for version in islice(files, 5001)]
        del files

        assert len(server.queries) <= 19
        assert taken == [f"s3://b/{key}" for key in keys[:5001]]
