"""Options of `plan` and `run` that select the files of a window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import click

from airflow_provider_blockread.cli.options.shared import C, choice, number, option_group
from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import Limits, Selection, nanoseconds, parse_size, parse_time, utc_text
from airflow_provider_blockread.options.values import choices_of


@dataclass(frozen=True, kw_only=True)
class Selecting:
    """The options that select the files of a window."""

    interval: str | None
    order: Literal["oldest", "newest"]
    late: Literal["next", "reopen", "report"]
    start_from: str | None
    max_age: str | None
    max_files: int | None = None
    max_bytes: str | None = None
    max_blocks: int | None = None
    on_modified: Literal["ignore", "add", "fail"]
    on_untimed: Literal["ignore", "fail"]

    @property
    def bounds(self) -> tuple[datetime, datetime] | None:
        """The interval whose files are taken, or None to take files by arrival.

        Raises:
            OptionsError: when it is not two times in ascending order.
        """
        if self.interval is None:
            return None
        start, slash, end = self.interval.partition("/")
        if not slash:
            msg = f"--interval {self.interval!r} must be START/END, as in 2026-11-21T04:00Z/2026-11-21T05:00Z"
            raise OptionsError(msg)
        bounds = parse_time(start), parse_time(end)
        if bounds[0] >= bounds[1]:
            msg = f"--interval {self.interval!r} is empty: its end must be after its start"
            raise OptionsError(msg)
        return bounds

    @property
    def interval_ns(self) -> tuple[int, int] | None:
        """The same, half-open, in nanoseconds since the epoch."""
        bounds = self.bounds
        return None if bounds is None else (nanoseconds(bounds[0]), nanoseconds(bounds[1]))

    @property
    def interval_key(self) -> str | None:
        """The key of a scheduled Airflow run of this interval."""
        bounds = self.bounds
        return None if bounds is None else f"{utc_text(bounds[0])}/{utc_text(bounds[1])}"

    def selection(self) -> Selection:
        """Return which files a window takes."""
        return Selection(
            select="arrival" if self.interval is None else "interval",
            order=self.order,
            late=self.late,
            start_from=self.start_from,
            max_age=self.max_age,
            on_modified=self.on_modified,
            on_untimed=self.on_untimed,
            limits=Limits(
                max_files=self.max_files,
                max_bytes=None if self.max_bytes is None else parse_size(self.max_bytes),
                max_blocks=self.max_blocks,
            ),
        )


def _words(option: str, text: str) -> Callable[[C], C]:
    return choice(f"--{option.replace('_', '-')}", choices_of(Selection, option), text)


#: The options of `Selecting` that limit a window.
limit_options = option_group(
    click.option("--max-blocks", type=number, help="Most blocks of a window."),
    click.option("--max-bytes", metavar="SIZE", help="Most bytes of a window, such as 10GiB."),
    click.option("--max-files", type=number, help="Most files of a window."),
)

#: The other options of `Selecting`.
selecting_options = option_group(
    _words("on_untimed", "What happens to files without a time, where one is needed."),
    _words("on_modified", "What happens to new versions of files that were taken."),
    click.option("--max-age", metavar="DURATION", help="Leave out files older than this, such as 36h or 7d."),
    click.option("--start-from", metavar="TIME", help="Leave out files older than this time."),
    _words("late", "When files are taken that arrive after their interval was planned."),
    _words("order", "Which files a window takes first."),
    click.option(
        "--interval",
        metavar="START/END",
        help="Take the files with times in this interval (UTC, END excluded) instead of those that have arrived.",
    ),
)
