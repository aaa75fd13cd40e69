"""The options shared by `plan` and `run`, and the request built from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import click

from airflow_provider_blockread.cli.options.selecting import Selecting, limit_options, selecting_options
from airflow_provider_blockread.cli.options.shared import (
    C,
    choice,
    format_options,
    json_option,
    ledger_text,
    make_format_option,
    name_option,
    number,
    option_group,
    owner,
    parse_pairs,
    state_option,
)
from airflow_provider_blockread.cli.options.sourcing import Sourcing, sourcing_options
from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.noop import key_of_run
from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.options import (
    SINKS,
    ArrowFunction,
    AsRead,
    DataFrameFunction,
    FileList,
    FormatOption,
    FunctionOption,
    GenerationOptions,
    Policies,
    Sink,
    Splitting,
    Sql,
    parse,
)
from airflow_provider_blockread.steps import Environment, PlanRequest

_YEAR_MINUTES = 366 * 24 * 60
_SINK_KEYS = {"compression": "compression", "file_bytes": "target_size"}


@dataclass(frozen=True, kw_only=True)
class WindowOptions(Sourcing, Selecting):
    """The options of every command that plans a window."""

    feed: str | None
    state: str | None
    as_json: bool
    max_readers: int | None
    window: str | None
    files_from: str | None

    def requested(self, env: Environment, generation: GenerationOptions, splitting: Splitting) -> PlanRequest:
        """Return what to plan, in one block group, since this process runs a single Spark application."""
        key = self.window if self.window is not None else self.interval_key
        this_run = f"run {env.ledger.now():%Y-%m-%dT%H:%M:%S.%fZ}"
        feed = self.feed_name(env, self.feed)
        if self.window is not None:
            _require_no_id(env, feed, self.window)
        return PlanRequest(
            feed=feed,
            key=this_run if key is None else key_of_run(env.ledger, key, this_run),
            source=self.file_source(),
            files=None if self.files_from is None else FileList(self.files_from),
            generation=generation,
            owner=owner(),
            selection=self.selection(),
            interval_ns=self.interval_ns,
            splitting=replace(splitting, max_groups=1, max_readers=self.max_readers),
            names_feed=bool(self.feed),
        )


@dataclass(frozen=True, kw_only=True)
class Pipeline(WindowOptions):
    """The options shared by `plan` and `run`."""

    format_name: str
    format_option: tuple[str, ...]
    schema: str | None
    block_size: str
    min_readers: int
    target_minutes: float | None

    def request(self, env: Environment, reading: ReadOptions) -> PlanRequest:
        """Return what to plan."""
        record_format = make_format_option(self.format_name, self.format_option, self.schema)
        splitting = Splitting(
            block_size=self.block_size,
            min_readers=self.min_readers,
            max_readers=self.max_readers,
            target_minutes=self.target_minutes,
        )
        return self.requested(env, reading.generation(record_format), splitting)


@dataclass(frozen=True, kw_only=True)
class WriteOptions:
    """The options for writing what is read."""

    output: str
    sink: str = "parquet"
    sink_option: tuple[str, ...] = ()
    compression: str | None = None
    on_missing: str = "fail"
    on_changed: str = "fail"
    policy: tuple[str, ...] = ()

    def sink_of(self, texts: Mapping[str, str] | None = None) -> Sink:
        """Return the sink; its options on the command line take precedence over these texts."""
        codec = {} if self.compression is None else {"compression": self.compression}
        own = codec | parse_pairs("--sink-option", self.sink_option, _SINK_KEYS)
        return SINKS[self.sink].from_texts(self.output, {**(texts or {}), **own})

    def policies(self, named: Mapping[str, str] | None = None) -> Policies:
        """Return the policies, some of which have separate options."""
        own = {"on_missing": self.on_missing, "on_changed": self.on_changed, **(named or {})}
        separate = {name: name for name in own}
        return parse(Policies, own | parse_pairs("--policy", self.policy, separate))


@dataclass(frozen=True, kw_only=True)
class ReadOptions(WriteOptions):
    """The options for processing and writing records."""

    function: str | None = None
    dataframe_function: str | None = None
    sql: str | None = None
    scope: Literal["window", "group"] = "window"
    on_bad_record: str = "fail"

    def generation(self, record_format: FormatOption) -> GenerationOptions:
        """Return the options of a generation."""
        return GenerationOptions(
            sink=self.sink_of(),
            record_format=record_format,
            function=self._function(),
            policies=self.policies({"on_bad_record": self.on_bad_record}),
        )

    def _function(self) -> FunctionOption:
        named = {"--function": self.function, "--dataframe-function": self.dataframe_function, "--sql": self.sql}
        given = [name for name, text in named.items() if text is not None]
        if len(given) > 1:
            msg = f"{given[0]} and {given[1]} exclude each other: give one of them"
            raise OptionsError(msg)
        if self.function is not None:
            return ArrowFunction(self.function)
        if self.dataframe_function is not None:
            return DataFrameFunction(self.dataframe_function, scope=self.scope)
        return AsRead() if self.sql is None else Sql(self.sql, scope=self.scope)


def _require_no_id(env: Environment, feed: str, key: str) -> None:
    for row in list_windows(env.ledger, feed, window=key):
        msg = f"--window {key} is the id of the window {row.window.key!r}, and this command takes keys; give that key"
        raise OptionsError(msg)


_window = option_group(
    json_option,
    click.option(
        "--window", metavar="KEY", callback=ledger_text, help="Key of the window; the same key is the same window."
    ),
    click.option("--max-readers", type=number, help="Most Spark tasks that read a window at once."),
)
_source = option_group(
    click.option(
        "--files-from",
        metavar="FILE",
        help="Read the files below SOURCE that FILE lists, a path a line (.jsonl: JSON), instead of all.",
    ),
    sourcing_options,
    click.argument("source", nargs=-1, required=True),
)

#: The source and the options of every command that plans a window.
window_options = option_group(_window, state_option, name_option, limit_options, selecting_options, _source)

#: The source and the options shared by `plan` and `run`.
pipeline_options = option_group(
    _window,
    click.option(
        "--target-minutes",
        type=click.FloatRange(min=0, max=_YEAR_MINUTES, min_open=True),
        help="Choose the number of Spark tasks so that reading the window takes no longer.",
    ),
    click.option("--min-readers", type=number, default=1, help="Fewest tasks that --target-minutes chooses."),
    click.option(
        "--block-size", default="64MiB", show_default=True, help="Bytes of a block, or auto: chosen for each file."
    ),
    state_option,
    name_option,
    limit_options,
    selecting_options,
    format_options,
    _source,
)

#: How files are compressed that `WriteOptions` writes.
compression_option = click.option("--compression", help="Codec of the files that are written; default: the sink's.")

#: What happens to files that are gone or changed.
gone_options = option_group(
    choice("--on-changed", ["fail", "exclude"], "What happens if a planned file has another version."),
    choice("--on-missing", ["fail", "exclude"], "What happens if a planned file is gone."),
)


def sink_options(names: Iterable[str]) -> Callable[[C], C]:
    """Return a decorator that adds the options of where to write; `names` are the sinks that the command has."""
    return option_group(
        click.option(
            "--sink-option",
            multiple=True,
            metavar="KEY=VALUE",
            help="An option of the sink, such as row_group_bytes=1000000; repeatable.",
        ),
        click.option(
            "--sink", default="parquet", show_default=True, type=click.Choice(sorted(names)), help="What is written."
        ),
        click.option(
            "--output", required=True, metavar="DIR", callback=ledger_text, help="Directory to publish into, or table."
        ),
    )
