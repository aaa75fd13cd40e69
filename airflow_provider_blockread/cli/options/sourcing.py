"""The options of SOURCE and its files, and the source built from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import click

from airflow_provider_blockread.cli.options.shared import choice, number, option_group, require_text
from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import FileSource, parse_duration
from airflow_provider_blockread.steps import Environment
from airflow_provider_blockread.storage.listing.rules import NameRules


@dataclass(frozen=True, kw_only=True)
class Sourcing:
    """The options of SOURCE and its files."""

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
    time_zone: str
    follow_links: Literal["inside", "anywhere"]
    redirect_host: tuple[str, ...]

    def feed_name(self, env: Environment, given: str | None) -> str:
        """Return the feed's name: the given one, or the canonical root.

        Raises:
            OptionsError: when there is no name for several roots, since with each further one it would be another feed;
                or the only root is not text.
        """
        if given:
            return given
        name, *others = dict.fromkeys(map(env.stores.canonical, self.source))
        if others:
            msg = (
                f"{len(others) + 1} sources need a name for their feed, under which their files are remembered when"
                " sources are added or removed; give one with --name"
            )
            raise OptionsError(msg)
        require_text(name, "SOURCE, which names the feed where no option does")
        return name

    def file_source(self) -> FileSource:
        """Return the source.

        Raises:
            OptionsError: when a duration, a size, a marker or a pattern is invalid.
        """
        source = FileSource(
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
            time_zone=self.time_zone,
            follow_links=self.follow_links,
            redirect_hosts=self.redirect_host,
        )
        NameRules(source)  # compiles the patterns, so that an error precedes any work
        return source


#: The options of `Sourcing` except SOURCE, which the command adds itself.
sourcing_options = option_group(
    click.option(
        "--redirect-host", multiple=True, metavar="HOST", help="Another host that a web server may redirect to."
    ),
    choice("--follow-links", ["inside", "anywhere"], "Where links may lead: inside SOURCE, or anywhere."),
    click.option("--time-zone", default="UTC", show_default=True, metavar="ZONE", help="The zone of times in paths."),
    click.option("--time-pattern", metavar="TEXT", help="The time in a path, such as dt=%Y-%m-%d/hr=%H."),
    click.option(
        "--done-marker",
        metavar="NAME",
        help="Take a file once this file exists beside it, such as {name}.done, or _SUCCESS for a whole folder.",
    ),
    click.option("--max-size", metavar="SIZE", help="Leave out larger files, such as 10GiB."),
    click.option("--min-size", metavar="SIZE", help="Leave out smaller files, such as 1B."),
    click.option("--min-age", metavar="DURATION", help="Postpone files changed more recently, such as 90 or 5min."),
    click.option("--hidden", is_flag=True, help="Take files with hidden and temporary names, too."),
    click.option("--max-depth", type=number, help="Most names in a path below the source."),
    click.option("--exclude", multiple=True, metavar="PATTERN", help="Files to leave out; repeatable."),
    click.option(
        "--pattern",
        multiple=True,
        default=("**",),
        show_default=True,
        metavar="PATTERN",
        help="Glob on the path below the source, where ** spans folders; or re: and a regular expression. Repeatable.",
    ),
)
