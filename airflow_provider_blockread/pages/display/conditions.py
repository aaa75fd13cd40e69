"""The condition of a feed, in one word and one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from airflow_provider_blockread.ledger.overview import unfinished
from airflow_provider_blockread.ledger.overview.feeds import DAYS, FeedSums
from airflow_provider_blockread.ledger.overview.windows import WindowRow
from airflow_provider_blockread.options.parsing.sizes import plural
from airflow_provider_blockread.pages.display.paces import window_left_s
from airflow_provider_blockread.pages.display.troubles import brief
from airflow_provider_blockread.pages.display.upcoming import NextWindow
from airflow_provider_blockread.pages.display.words import duration, share

#: The conditions, in order of urgency.
CONDITIONS = ("failing", "behind", "healthy", "idle")

_LEAST_LAG = timedelta(hours=1)
_LAG_WITHOUT_PACE = timedelta(days=1)
_PACES = 2  # times the feed's pace that a file may wait
_SHOWN_CHARS = 240  # of an error


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """The condition of a feed.

    `failing`: a window failed or stalled, or no listing of its files has ended since one began an hour ago. `behind`: a
    file, or a planned window, has waited for more than twice the usual time between the feed's windows, and more than
    an hour, or a run of its schedule is overdue for that long. `idle`: nothing waits, and no window was planned for two
    weeks, or its DAGs are paused. `healthy`: none of these.
    """

    word: str
    why: str
    window: str = ""  # that failed or stalled, the newest one


def condition_of(
    feed: FeedSums, now: datetime, quoted: Callable[[str | None], str | None], upcoming: NextWindow | None = None
) -> Condition:
    """Return the current condition of a feed.

    Args:
        feed: the sums of the feed.
        now: the current time.
        quoted: returns the part of an error that the visitor may read.
        upcoming: when its next window is expected.
    """
    wrong = [one for one in feed.open if one.state in {"failed", "stalled"}]
    if wrong:
        return Condition(word="failing", why=_wrong(wrong, now, quoted), window=wrong[0].window.id)
    if feed.unlisted_since is not None and now - feed.unlisted_since > _LEAST_LAG:
        since = duration((now - feed.unlisted_since).total_seconds())
        why = f"For {since}, each listing has failed or not ended (the log of its plan says why); {_resting(feed, now)}"
        return Condition(word="failing", why=why)
    limit = _LAG_WITHOUT_PACE if feed.pace is None else max(_LEAST_LAG, _PACES * feed.pace)
    late = [f"{what} for {duration(lag.total_seconds())}" for what, lag in _waiting(feed, now, upcoming) if lag > limit]
    at_work = next((one for one in feed.open if one.state in {"planning", "reading", "proving", "publishing"}), None)
    paused = upcoming is not None and upcoming.at is None
    planned = feed.last_planned_at is not None and feed.last_planned_at > now - timedelta(days=DAYS)
    if late:
        word = "behind"
    elif at_work or (not paused and (feed.backlog.files or feed.open or planned)):
        word = "healthy"
    else:
        word = "idle"
    paused_by = [upcoming.why] if upcoming is not None and paused else []
    why = "; ".join([*paused_by, *late, _doing(at_work) if at_work else _resting(feed, now)])
    return Condition(word=word, why=why[0].upper() + why[1:])


def count_of_windows(count: int, checked: int) -> str:
    """Return a count of windows, with `or more` where so many were checked that others may have been omitted."""
    return f"{count:,} or more windows" if checked >= unfinished.MOST_OPEN else plural(count, "window")


def _wrong(wrong: Sequence[WindowRow], now: datetime, quoted: Callable[[str | None], str | None]) -> str:
    first, failed = wrong[0], sum(one.state == "failed" for one in wrong)
    stalled = len(wrong) - failed
    counts = [f"{plural(failed, 'window')} failed"] if failed and stalled else []
    counts += [f"{count_of_windows(stalled or failed, len(wrong))} {'stalled' if stalled else 'failed'}"]
    if first.state == "stalled" and first.progress.last_sign_at is not None:
        why = f"no sign of life for {duration((now - first.progress.last_sign_at).total_seconds())}"
    else:
        why = brief(quoted(first.error) or "")
    return f"{' and '.join(counts)}: {why[:_SHOWN_CHARS]}" if why else " and ".join(counts)


def _waiting(feed: FeedSums, now: datetime, upcoming: NextWindow | None) -> Iterator[tuple[str, timedelta]]:
    """Yield what waits, and for how long."""
    if feed.backlog.seen_at is not None:  # not the time by which files are selected, which may be that of long ago
        yield "a file has waited", now - feed.backlog.seen_at
    if upcoming is not None and upcoming.dag and upcoming.at:
        yield f"a run of DAG {upcoming.dag} has been due", now - upcoming.at
    waiting = [one for one in feed.open if one.state == "waiting"]
    if waiting:
        first = min(waiting, key=lambda one: one.progress.last_sign_at or one.window.created_at)
        yield f"window {first.window.key} has waited", now - (first.progress.last_sign_at or first.window.created_at)


def _doing(one: WindowRow) -> str:
    """Return what is being done to a window now."""
    if one.state != "reading":
        return f"{one.state} {one.window.key}"
    groups = f"{one.groups.done:,} of {plural(one.window.groups, 'group')}"
    left_s = window_left_s(one)
    left = "" if left_s is None else f", about {duration(left_s)} left"
    return (
        f"reading {one.window.key}: {groups}, {share(one.groups.blocks_done, one.window.blocks)} % of the blocks{left}"
    )


def _resting(feed: FeedSums, now: datetime) -> str:
    if feed.last_published_at is None:
        return "no window is published yet"
    ago = duration((now - feed.last_published_at).total_seconds())
    has_new = feed.backlog.files or feed.open
    if has_new or feed.last_listed_at is None or feed.unlisted_since is not None:
        return f"last published {ago} ago"
    listed = duration((now - feed.last_listed_at).total_seconds())
    return f"nothing new at the last listing {listed} ago; last published {ago} ago"
