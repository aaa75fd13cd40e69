"""`blockread run`: all steps of a window, with the same code as the operators."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import click

from airflow_provider_blockread.cli.options.pipeline import (
    Pipeline,
    ReadOptions,
    WindowOptions,
    WriteOptions,
    compression_option,
    gone_options,
    pipeline_options,
    sink_options,
)
from airflow_provider_blockread.cli.options.shared import choice, open_environment, owner
from airflow_provider_blockread.cli.options.spark import OnSpark, spark_options
from airflow_provider_blockread.cli.terminal.aside import printing_aside
from airflow_provider_blockread.cli.terminal.printing import print_facts, print_json, terminal
from airflow_provider_blockread.ledger.noop import forgets
from airflow_provider_blockread.ledger.windows.queries import unpublished_windows
from airflow_provider_blockread.options import SINKS, SparkJob
from airflow_provider_blockread.options.parsing.sizes import format_bytes, plural
from airflow_provider_blockread.steps import Environment, PlanRequest, Published, WindowRef, plan
from airflow_provider_blockread.steps.running import WindowRunner
from airflow_provider_blockread.steps.upkeep.pruning import PruneRequest, prune

#: Another process of this kind is considered dead after this many seconds without a heartbeat.
JOB = SparkJob(heartbeat_s=1.0, stale_after_s=15.0)


@dataclass(frozen=True, kw_only=True)
class WindowRun(WindowOptions, WriteOptions, OnSpark):
    """The options of a command that takes windows through all steps."""

    def run(self, make_request: Callable[[Environment], PlanRequest], *, until_empty: bool = False) -> None:
        """Take the new files of the source through all steps, and print what was done."""
        self.check_spark()
        env = open_environment(self.state, create=True)
        request = make_request(env)
        started = time.monotonic()
        with printing_aside(), self.open_spark() as spark:
            runner = WindowRunner(env=env, owner=owner(), job=JOB, submitter=spark)
            done = list(_windows(runner, request, resumes=self.window is None, until_empty=until_empty))
        if forgets(env.ledger):  # a later run could not clear its work area
            prune(replace(env, observer=terminal(quiet=True)), PruneRequest(older_than=0, keep=0))
        summary = _summary(done, time.monotonic() - started)
        if self.as_json:
            print_json(summary)
        else:
            print_facts(_in_words(summary, self.output))


@dataclass(frozen=True, kw_only=True)
class RunOptions(Pipeline, ReadOptions, WindowRun):
    """The options of `run`."""

    until_empty: bool


@click.command()
@pipeline_options
@sink_options(SINKS)
@spark_options
@compression_option
@click.option("--function", metavar="MODULE:NAME", help="A function RecordBatch -> RecordBatch | None.")
@click.option("--dataframe-function", metavar="MODULE:NAME", help="A function DataFrame -> DataFrame.")
@click.option("--sql", metavar="QUERY", help='A query of Spark SQL, as "SELECT ... FROM records WHERE ...".')
@choice("--scope", ["window", "group"], "What a DataFrame function or query gets at once.")
@choice("--on-bad-record", ["fail", "quarantine", "drop"], "What happens if a record is bad.")
@gone_options
@click.option(
    "--policy", multiple=True, metavar="KEY=VALUE", help="Another policy, such as max_record_bytes=1000; repeatable."
)
@click.option("--until-empty", is_flag=True, help="Continue with further windows until there are no new files.")
def run(**options: Any) -> None:  # noqa: ANN401 - click passes every option by name
    """Read the new files at SOURCE into a directory or table, each record exactly once."""
    chosen = RunOptions(**options)
    chosen.run(lambda env: chosen.request(env, chosen), until_empty=chosen.until_empty)


def _windows(runner: WindowRunner, request: PlanRequest, *, resumes: bool, until_empty: bool) -> Iterator[Published]:
    """Yield each window when it is done, starting with those that earlier runs of this feed left unpublished."""
    left = unpublished_windows(runner.env.ledger, request.feed) if resumes else []
    keys = [window.key for window in left]
    for key in keys:
        runner.env.observer.log(f"feed {request.feed}: window {key!r} of an earlier run is finished first")
        yield _finish(runner, plan(runner.env, replace(request, key=key)))
    count = 0
    while count == 0 or until_empty:
        key = request.key if count == 0 else f"{request.key} #{count + 1}"
        ref = plan(runner.env, replace(request, key=key))
        if ref.status != "empty" or (count == 0 and not keys):
            yield _finish(runner, ref)
        if ref.status == "empty":
            return
        count += 1


def _finish(runner: WindowRunner, ref: WindowRef) -> Published:
    """Take a planned window to its end; what an earlier run has published of it is not this one's work."""
    done = runner.run(ref)
    return replace(done, status="skipped", message=ref.message) if ref.status == "published" else done


def _summary(done: list[Published], seconds: float) -> dict[str, Any]:
    read_ones = [window for window in done if window.status not in {"empty", "skipped"}]
    sums = {
        name: sum(getattr(window, name) for window in read_ones)
        for name in ("files", "blocks", "groups", "records", "bytes", "bad_records", "rows", "outputs")
    }
    proof = "proven" if read_ones else "nothing to read"
    return {
        "window": done[-1].window,
        "windows": [window.window for window in read_ones],
        **sums,
        "quarantine": [window.quarantine_uri for window in read_ones if window.quarantine_uri],
        "seconds": round(seconds, 3),
        "proof": proof,
        "message": "" if read_ones else done[-1].message,
    }


def _in_words(summary: dict[str, Any], output: str) -> dict[str, object]:
    if not summary["windows"]:
        return {"nothing read": summary["message"]}
    kept = ", ".join(summary["quarantine"])
    files = plural(summary["files"], "file")
    rate = format_bytes(summary["bytes"] / max(summary["seconds"], 1e-3))
    return {
        "window": ", ".join(summary["windows"]),
        "read": f"{files}, {plural(summary['blocks'], 'block')}, {format_bytes(summary['bytes'])}",
        "records": f"{summary['records']:,}, {summary['bad_records']:,} of them bad"
        + (f", kept in {kept}" if kept else ""),
        "published": f"{plural(summary['rows'], 'row')} in {plural(summary['outputs'], 'file')} in {output}",
        "proof": summary["proof"],
        "took": f"{summary['seconds']:.1f} s, {rate}/s with Spark's start",
    }
