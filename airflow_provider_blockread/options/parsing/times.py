"""Times and durations as people write them, and times in paths; all UTC."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from airflow_provider_blockread.errors import OptionsError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_LONGEST = 200 * 366 * 86400
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*")
_DIRECTIVE = re.compile(r"%(.?)")
#: The digits of each directive of a path's pattern, as in `strptime`, but always with leading zeros.
_DIGITS = {"Y": r"\d{4}", "m": r"\d\d", "d": r"\d\d", "H": r"\d\d", "M": r"\d\d", "S": r"\d\d", "j": r"\d{3}"}
_ORDERS = ("YmdHMS", "YjHMS")


def nanoseconds(time: datetime) -> int:
    """Return an aware time as nanoseconds since the epoch, without rounding."""
    return (time - _EPOCH) // timedelta(microseconds=1) * 1000


def moment(time_ns: int) -> datetime:
    """Return the time in UTC for nanoseconds since the epoch, to the microsecond below."""
    return _EPOCH + timedelta(microseconds=time_ns // 1000)


def utc_text(time: datetime) -> str:
    """Return an aware time as ISO 8601 text in UTC, `2026-11-21T04:00:00Z`."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """Return an aware time from ISO 8601 text such as `2026-11-21` or `2026-11-21T04:00:00Z`; UTC by default.

    Raises:
        OptionsError: when the text is not a time, or the time is outside of the years 1678 to 2261.
    """
    try:
        found = datetime.fromisoformat(text.strip())
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        msg = f"{text!r} is not a time; write it as 2026-11-21 or 2026-11-21T04:00:00Z"
        raise OptionsError(msg) from error
    if not _is_kept(nanoseconds(found)):
        msg = f"{text!r} is outside of the years 1678 to 2261, which a ledger supports; choose a time within them"
        raise OptionsError(msg)
    return found


def parse_duration(text: str | float) -> float:
    """Return a duration in seconds from a number or from text such as `90`, `45min`, `36h`, `7d` or `2w`.

    Raises:
        OptionsError: when the text is not a duration, is not positive, or is longer than two centuries.
    """
    match = _DURATION.fullmatch(str(text).lower())
    seconds = float(match[1]) * _UNITS[match[2]] if match and match[2] in _UNITS else 0.0
    if seconds > _LONGEST:
        msg = f"{text!r} is longer than two centuries; choose a shorter duration"
        raise OptionsError(msg)
    if seconds <= 0:
        msg = f"{text!r} is not a duration; write seconds as 90, or 45min, 36h, 7d or 2w"
        raise OptionsError(msg)
    return seconds


def parse_age(text: str | float) -> float:
    """Return a duration in seconds as `parse_duration` does; unlike there, 0 is accepted.

    Raises:
        OptionsError: when the text is not a duration.
    """
    match = _DURATION.fullmatch(str(text).lower())
    is_zero = match is not None and match[2] in _UNITS and float(match[1]) == 0
    return 0.0 if is_zero else parse_duration(text)


@dataclass(frozen=True, slots=True)
class TimePattern:
    """The place of a file's time in its path, such as `dt=%Y-%m-%d/hr=%H`."""

    text: str
    regex: re.Pattern[str]
    zone: tzinfo = UTC

    @classmethod
    def parse(cls, text: str, zone: str = "UTC") -> TimePattern:
        """Return the pattern for a text with the directives %Y, %m, %d, %H, %M, %S, or %j (day of the year).

        Raises:
            OptionsError: when a directive is unknown or repeated, a coarser one is missing, or the zone is not known.
        """
        found = _DIRECTIVE.findall(text.replace("%%", ""))
        unknown = [letter for letter in found if letter not in _DIGITS]
        if unknown:
            known = ", ".join(f"%{letter}" for letter in _DIGITS)
            msg = f"time_pattern {text!r} contains %{unknown[0]}, which is not supported; use {known}, and %% for %"
            raise OptionsError(msg)
        if not found or not any(sorted(found) == sorted(order[: len(found)]) for order in _ORDERS):
            msg = (
                f"time_pattern {text!r} must contain %Y and then finer ones without a gap, each once: dt=%Y-%m-%d/hr=%H"
            )
            raise OptionsError(msg)
        return cls(text, re.compile(_as_regex(text), re.ASCII), _zone(zone))

    def time_ns(self, path: str) -> int | None:
        """Return the start of the period that a path names, in ns since the epoch.

        None if the pattern does not match, or matches an invalid time (a 30th of February), a time outside of the years
        1678 to 2261, or several different times.
        """
        times = {_as_time(match.groupdict(), self.zone) for match in self.regex.finditer(path)} - {None}
        return times.pop() if len(times) == 1 else None


def _as_regex(text: str) -> str:
    """Return a regular expression that matches only where no digit precedes or follows."""
    parts = re.split(r"(%.)", text)
    inner = "".join(_directive(part) for part in parts)
    before = r"(?<!\d)" if parts[0] == "" and parts[1] != "%%" else ""
    after = r"(?!\d)" if parts[-1] == "" and parts[-2] != "%%" else ""
    return before + inner + after


def _directive(part: str) -> str:
    if not part.startswith("%"):
        return re.escape(part)
    return "%" if part == "%%" else f"(?P<{part[1]}>{_DIGITS[part[1]]})"


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - it loads what Python was built with

    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError) as error:  # an invalid name, or that of a folder of zones
        msg = f"time_zone {name!r} is not known here; write it as UTC or Europe/Zurich, or install tzdata"
        raise OptionsError(msg) from error


def _as_time(found: dict[str, str], zone: tzinfo) -> int | None:
    number = {letter: int(digits) for letter, digits in found.items()}
    try:
        day = datetime(number["Y"], number.get("m", 1), number.get("d", 1), tzinfo=zone)
        clock = day.replace(hour=number.get("H", 0), minute=number.get("M", 0), second=number.get("S", 0))
        clock += timedelta(days=number.get("j", 1) - 1)
    except (ValueError, OverflowError):
        return None
    found_ns = nanoseconds(clock)
    return found_ns if clock.year == number["Y"] and _is_kept(found_ns) else None


def _is_kept(time_ns: int) -> bool:
    """Return whether the ledger can hold a time: it holds the years 1678 to 2261 and parts of the adjacent ones."""
    return -(2**63) <= time_ns < 2**63
