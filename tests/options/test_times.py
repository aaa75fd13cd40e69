"""Times, durations and the times that stand in paths."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import (
    FileSource,
    Selection,
    TimePattern,
    nanoseconds,
    parse_age,
    parse_duration,
    parse_time,
    utc_text,
)

HOUR = nanoseconds(datetime(2026, 11, 21, 4, tzinfo=UTC))
PATTERNS = ("dt=%Y-%m-%d/hr=%H", "%Y/%m/%d/%H", "y%Y_%j_%H%M%S.", "%Y%m%d%H%M", "100%%/%Y-%m-%d/%H", "%d.%m.%Y %H-%M")


def _render(text: str) -> str:
    return text.removeprefix("{{ '").removesuffix("' }}")


@given(st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2200, 1, 1)), st.sampled_from(PATTERNS))  # noqa: DTZ001 - made aware below
def test_a_time_that_strftime_wrote_is_read(moment: datetime, text: str) -> None:
    """A path written by `strftime` names its time in UTC, as precisely as the pattern says it."""
    written = moment.replace(tzinfo=UTC)
    path = f"s3://bucket/{written.strftime(text)}/part-1.log"
    found = TimePattern.parse(text).time_ns(path)

    assert found is not None
    assert timedelta(0) <= written - (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=found // 1000))
    assert nanoseconds(written) - found < 3600 * 10**9


@pytest.mark.parametrize(
    ("path", "time_ns"),
    [
        ("a/dt=2026-11-21/hr=04/f", HOUR),
        ("dt=2026-11-21/hr=04/x/dt=2026-11-21/hr=04", HOUR),
        ("a/dt=2026-11-21/f", None),
        ("a/dt=2026-02-30/hr=04/f", None),
        ("a/dt=2026-11-21/hr=24/f", None),
        ("a/dt=2026-11-21/hr=044/f", None),
        ("dt=2026-11-21/hr=04/dt=2026-11-21/hr=05/f", None),
        ("a/dt=٢٠٢٦-11-21/hr=04/f", None),
        ("a/dt=9999-12-31/hr=23/f", None),
        ("a/dt=1600-01-01/hr=00/f", None),
    ],
)
def test_a_path_names_one_time_or_none(path: str, time_ns: int | None) -> None:
    """A path that fits nowhere, names no time, or names two, has none; it is never guessed."""
    assert TimePattern.parse("dt=%Y-%m-%d/hr=%H").time_ns(path) == time_ns


@pytest.mark.parametrize(
    ("path", "year"), [("9999/366", None), ("0001/000", None), ("2024/366", 2024), ("2023/366", None)]
)
def test_a_day_of_the_year(path: str, year: int | None) -> None:
    """A day outside of its year, or of all years, is no time."""
    found = TimePattern.parse("%Y/%j").time_ns(path)
    assert found == (None if year is None else nanoseconds(datetime(year, 12, 31, tzinfo=UTC)))


@pytest.mark.parametrize(
    ("path", "hours"),
    [
        ("dt=2026-11-21/hr=00", 5),
        ("dt=2026-07-01/hr=00", 4),
        ("dt=2026-03-08/hr=02", 5),  # which clocks skip
        ("dt=2026-11-01/hr=01", 4),  # which comes twice: the first one
    ],
)
def test_times_in_a_zone(path: str, hours: int) -> None:
    """The clock of the zone, with its summer time."""
    found = TimePattern.parse("dt=%Y-%m-%d/hr=%H", "America/New_York").time_ns(path)
    wall = TimePattern.parse("dt=%Y-%m-%d/hr=%H").time_ns(path)

    assert found is not None
    assert wall is not None
    assert found - wall == hours * 3600 * 10**9


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "../etc/passwd", "/etc/passwd", "America"])
def test_a_zone_that_is_none_is_refused(zone: str) -> None:
    """Whatever the name, no file of it is read."""
    with pytest.raises(OptionsError, match="is not known here; write it as UTC or Europe/Zurich"):
        FileSource("/in", time_pattern="%Y", time_zone=zone)
    with pytest.raises(OptionsError, match="set time_pattern too"):
        FileSource("/in", time_zone="Europe/Zurich")

    assert FileSource("/in", time_pattern="%Y", time_zone="Europe/Zurich").time_zone == "Europe/Zurich"


def test_digits_do_not_run_on() -> None:
    """A number that continues to the left or right is another number."""
    pattern = TimePattern.parse("%Y%m%d")

    assert pattern.time_ns("access-20261121.log") == HOUR - 4 * 3600 * 10**9
    assert pattern.time_ns("access-120261121.log") is None
    assert pattern.time_ns("access-202611210.log") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("day", "must contain %Y and then finer ones without a gap"),
        ("%Y/%d", "without a gap"),
        ("%m-%d", "must contain %Y"),
        ("%Y%Y", "each once"),
        ("%Y-%j-%m", "without a gap"),
        ("%Y-%b", "contains %b, which is not supported; use %Y, %m"),
        ("%Y-%", "contains %"),
    ],
)
def test_a_pattern_that_names_no_time_is_refused(text: str, message: str) -> None:
    """At the option already; a template is looked at when it is rendered."""
    with pytest.raises(OptionsError, match=message):
        FileSource("/in", time_pattern=text)
    assert FileSource("/in", time_pattern="{{ '%Y' }}").resolve(_render).time_pattern == "%Y"


@pytest.mark.parametrize(
    ("text", "seconds"), [(90.5, 90.5), ("90", 90), ("1.5h", 5400), ("45min", 2700), ("36 h", 129600), ("7d", 604800)]
)
def test_durations(text: str | float, seconds: float) -> None:
    """Seconds, or a number with a unit."""
    assert parse_duration(text) == seconds
    assert parse_age(text) == seconds


@pytest.mark.parametrize("text", ["0", "0d", "0s", "0.0", " 0 min "])
def test_an_age_may_be_nothing_in_any_unit(text: str) -> None:
    """As in `--grace 0d`; a duration must be longer."""
    assert parse_age(text) == 0
    with pytest.raises(OptionsError, match="write seconds as"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("max_age", "7 years", "not a duration; write seconds as 90, or 45min"),
        ("max_age", 0, "not a duration"),
        ("start_from", "", "not a time; write it as 2026-11-21"),
        ("start_from", "yesterday", "not a time"),
        ("start_from", "9999-12-31T23:59:59-05:00", "not a time"),
        ("start_from", "0001-01-01", "outside of the years 1678 to 2261"),
        ("start_from", "2262-12-31", "outside of the years 1678 to 2261"),
        ("max_age", "99999999999w", "longer than two centuries"),
        ("max_age", "9" * 400, "longer than two centuries"),
        ("late", "drop", "late must be one of next, reopen, report"),
        ("on_modified", "replace", "on_modified must be one of ignore, add, fail"),
        ("on_untimed", "add", "on_untimed must be one of ignore, fail"),
    ],
)
def test_words_that_mean_nothing_are_refused(option: str, value: object, message: str) -> None:
    """The error names the option and says how it is written."""
    with pytest.raises(OptionsError, match=message):
        Selection(**{option: value})  # type: ignore[arg-type]


def test_times_are_utc() -> None:
    """A time without a zone is UTC, one with a zone is turned into it; a template may render to either."""
    assert parse_time("2026-11-21T05:00:00+01:00") == parse_time("2026-11-21 04:00")
    assert utc_text(parse_time("2026-11-21T05:00:00+01:00")) == "2026-11-21T04:00:00Z"
    assert Selection(start_from="{{ '2026-11-21' }}").resolve(_render).start_from == "2026-11-21"


def test_identity_by_name_is_refused_with_the_reason() -> None:
    """What other systems offer loses records, and the error says how and what to use instead."""
    with pytest.raises(OptionsError, match=r"same name .* its records would be lost; path, size and modification"):
        FileSource("/in", identity="name")
