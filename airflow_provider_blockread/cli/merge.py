"""`blockread merge`: many small files into few large ones, by the same steps as `run`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import click

from airflow_provider_blockread.cli.options.pipeline import window_options
from airflow_provider_blockread.cli.options.spark import spark_options
from airflow_provider_blockread.cli.run import RunOptions
from airflow_provider_blockread.options import (
    MERGED,
    SINKS,
    ColumnarSink,
    FormatOption,
    GenerationOptions,
    merging_sink,
    parse_size,
)

_SINKS = sorted(name for name, sink in SINKS.items() if issubclass(sink, ColumnarSink))


@dataclass(frozen=True, kw_only=True)
class MergeOptions(RunOptions):
    """The options of `merge`; those of `run` that it has not are at their defaults."""

    format_name: str = MERGED.kind
    format_option: tuple[str, ...] = ("encoding=binary", "compression=none")
    schema: str | None = None
    block_size: str = "64MiB"
    min_readers: int = 1
    target_minutes: float | None = None
    until_empty: bool = False
    target_size: str | None = None

    def generation(self, record_format: FormatOption) -> GenerationOptions:
        """Return the options of a generation whose sink holds the names of the files."""
        size = () if self.target_size is None else (f"file_bytes={parse_size(self.target_size)}",)
        options = RunOptions.generation(replace(self, sink_option=(*size, *self.sink_option)), record_format)
        return replace(options, sink=merging_sink(options.sink))


@click.command()
@window_options
@click.option("--output", required=True, metavar="DIR", help="Directory to publish into, or table.")
@click.option("--sink", default="parquet", show_default=True, type=click.Choice(_SINKS))
@click.option("--sink-option", multiple=True, metavar="KEY=VALUE", help="Repeatable.")
@spark_options
@click.option("--target-size", metavar="SIZE", help="Bytes of a merged file, such as 256MiB; default: the sink's.")
@click.option("--compression", help="Codec of the files that are written; default: the sink's.")
@click.option("--on-missing", default="fail", show_default=True, type=click.Choice(["fail", "exclude"]))
@click.option("--on-changed", default="fail", show_default=True, type=click.Choice(["fail", "exclude"]))
@click.option(
    "--policy", multiple=True, metavar="KEY=VALUE", help="Another policy, such as max_record_bytes=1000; repeatable."
)
def merge(**options: Any) -> None:  # noqa: ANN401 - click passes every option by name
    """Merge the new files at SOURCE into few large ones, each file exactly once."""
    MergeOptions(**options).run()
