"""The options that say which files of SOURCE are taken, and the source they make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from airflow_provider_blockread.options import FileSource, parse_duration
from airflow_provider_blockread.steps import Environment

C = TypeVar("C", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Sourcing:
    """The options as given."""

    source: tuple[str, ...]
    pattern: tuple[str, ...]
    exclude: tuple[str, ...]
    max_depth: int | None
    hidden: bool
    min_age: str | None
    min_size: str | None
    max_size: str | None
    done_marker: str | None
    time_pattern: str | None
    follow_links: str
    redirect_host: tuple[str, ...]

    def feed_name(self, env: Environment, given: str | None) -> str:
        """Return the feed's name: the one given, or the canonical roots."""
        return given or " ".join(dict.fromkeys(map(env.stores.canonical, self.source)))

    def file_source(self) -> FileSource:
        """Return where files land, and which to take.

        Raises:
            OptionsError: when a duration, a size, a marker or a time's pattern cannot be understood.
        """
        return FileSource(
            self.source,
            pattern=self.pattern,
            exclude=self.exclude,
            max_depth=self.max_depth,
            hidden=self.hidden,
            min_age=0.0 if self.min_age is None else parse_duration(self.min_age),
            min_size=self.min_size,
            max_size=self.max_size,
            done_marker=self.done_marker,
            time_pattern=self.time_pattern,
            follow_links=self.follow_links,
            redirect_hosts=self.redirect_host,
        )


def sourcing_options(command: C) -> C:
    """Add the options of `Sourcing` but SOURCE, which the command adds itself."""
    for option in (
        click.option(
            "--redirect-host", multiple=True, metavar="HOST", help="Another host that a web server may redirect to."
        ),
        click.option(
            "--follow-links",
            type=click.Choice(["inside", "anywhere"]),
            default="inside",
            show_default=True,
            help="Where links may lead: inside of all that is given as SOURCE, or anywhere.",
        ),
        click.option(
            "--time-pattern", metavar="TEXT", help="Where a path names the file's time, as dt=%Y-%m-%d/hr=%H."
        ),
        click.option("--done-marker", metavar="NAME", help="Take files once it is there: {name}.done, or _SUCCESS."),
        click.option("--max-size", metavar="SIZE", help="Leave out larger files, as 10GiB."),
        click.option("--min-size", metavar="SIZE", help="Leave out smaller files, as 1B."),
        click.option("--min-age", metavar="DURATION", help="Let files wait that changed within it, as 90 or 5min."),
        click.option("--hidden", is_flag=True, help="Take hidden and unfinished names, too."),
        click.option("--max-depth", type=click.IntRange(min=1), help="Names of a path below the source, at most."),
        click.option("--exclude", multiple=True, metavar="PATTERN", help="What to leave out; repeatable."),
        click.option(
            "--pattern",
            multiple=True,
            default=("**",),
            show_default=True,
            metavar="PATTERN",
            help="Glob below the source, ** spans folders; or re: and a regular expression. Repeatable.",
        ),
    ):
        command = option(command)
    return command
