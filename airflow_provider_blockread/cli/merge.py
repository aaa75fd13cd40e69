"""`blockread merge`: merges many small files into few large ones, with the same steps as `run`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from airflow_provider_blockread.cli.options.pipeline import (
    compression_option,
    gone_options,
    sink_options,
    window_options,
)
from airflow_provider_blockread.cli.options.shared import parse_pairs
from airflow_provider_blockread.cli.options.spark import cluster_options
from airflow_provider_blockread.cli.run import WindowRun
from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import SINKS, ArchiveSink, ColumnarSink, Splitting, merging, parse_size
from airflow_provider_blockread.steps import Environment, PlanRequest

_SINKS = [name for name, sink in SINKS.items() if issubclass(sink, (ArchiveSink, ColumnarSink))]
_POLICIES = ("max_record_bytes", "proof")


@dataclass(frozen=True, kw_only=True)
class MergeOptions(WindowRun):
    """The options of `merge`."""

    target_size: str | None

    def request(self, env: Environment) -> PlanRequest:
        """Return what to plan.

        Raises:
            OptionsError: when a policy does not apply to merged files.
        """
        other = [name for name in parse_pairs("--policy", self.policy) if name not in _POLICIES]
        if other:
            msg = f"--policy {other[0]} has no meaning for merged files; give {' or '.join(_POLICIES)}, or leave it out"
            raise OptionsError(msg)
        size = {} if self.target_size is None else {"file_bytes": str(parse_size(self.target_size))}
        return self.requested(env, merging(self.sink_of(size), self.policies()), Splitting())


@click.command()
@window_options
@sink_options(_SINKS)
@cluster_options
@click.option("--target-size", metavar="SIZE", help="Bytes of a merged file, such as 256MiB; default: the sink's.")
@compression_option
@gone_options
@click.option(
    "--policy", multiple=True, metavar="KEY=VALUE", help="Another policy: max_record_bytes or proof; repeatable."
)
def merge(**options: Any) -> None:  # noqa: ANN401 - click passes every option by name
    """Merge the new files at SOURCE into few large ones, each file exactly once."""
    chosen = MergeOptions(**options)
    chosen.run(chosen.request)
