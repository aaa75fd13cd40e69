"""Versions from stores' metadata."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.storage.backends.shared.identity import from_info

MOMENT = datetime(2024, 2, 29, 12, 0, 0, 123457, tzinfo=UTC)
NANOSECONDS = 1_709_208_000_123_457_000


@pytest.mark.parametrize(
    "info",
    [
        {"mtime": MOMENT},
        {"last_modified": MOMENT.replace(tzinfo=None)},
        {"last_modified": MOMENT.astimezone(timezone(timedelta(hours=5)))},
        {"created": MOMENT.timestamp()},
        {"updated": "2024-02-29T12:00:00.123457Z"},
    ],
)
def test_all_forms_of_a_time_are_one(info: dict[str, object]) -> None:
    """Aware and naive datetimes, seconds and ISO text give the same nanoseconds, UTC."""
    assert from_info("s3://b/x", {"size": 1, **info}).mtime_ns == NANOSECONDS


def test_s3_tells_seconds() -> None:
    """S3 lists fractions of a second that a request for the object leaves out; both give the same version."""
    listed, headed = {"LastModified": MOMENT}, {"LastModified": MOMENT.replace(microsecond=0)}

    assert from_info("s3://b/x", {"size": 1, **listed}) == from_info("s3://b/x", {"size": 1, **headed})


def test_webhdfs_tells_milliseconds() -> None:
    """WebHDFS has whole milliseconds in its own field."""
    assert from_info("webhdfs://h/x", {"size": 1, "modificationTime": 1234}).mtime_ns == 1_234_000_000


@pytest.mark.parametrize(
    ("info", "seconds"),
    [
        ({"Last-Modified": "Thu, 29 Feb 2024 12:00:00 GMT"}, 1_709_208_000),
        ({"Last-Modified": "lately"}, 0),
        ({"modify": "20240229120000"}, 1_709_208_000),
        ({"modify": "20240229120000.123"}, 1_709_208_000),
        ({"modify": "Feb 29 12:00"}, 0),
    ],
)
def test_web_and_ftp_servers_tell_seconds(info: dict[str, object], seconds: int) -> None:
    """In their own forms; a time without a year does not count."""
    assert from_info("ftp://h/x", {"size": 1, **info}).mtime_ns == seconds * 10**9


@pytest.mark.parametrize(
    ("info", "etag"),
    [
        ({"ETag": '"abc-2"'}, "abc-2"),
        ({"ETag": 'W/"abc"'}, "abc"),
        ({"etag": "0x8D"}, "0x8D"),
        ({"etag": "changes-with-metadata", "generation": 17}, "17"),
        ({"version_id": "v1"}, "v1"),
        ({"sha": "9f86d0"}, "9f86d0"),
        ({"ETag": None}, None),
        ({}, None),
    ],
)
def test_the_etag_is_the_stores_own_without_quotes(info: dict[str, object], etag: str | None) -> None:
    """Listings and single requests quote differently; a generation takes precedence over an ETag."""
    assert from_info("s3://b/x", {"size": 1, **info}).etag == etag


def test_a_file_of_unknown_size_is_refused() -> None:
    """A file without a size cannot be split into blocks."""
    with pytest.raises(SourceError, match="http://h/x"):
        from_info("http://h/x", {"size": None})
