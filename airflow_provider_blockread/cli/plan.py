"""`blockread plan`: what the next window would read, and why."""

from __future__ import annotations

import dataclasses
from typing import Any

import click

from airflow_provider_blockread.blocks import AutoSize, GroupLimits
from airflow_provider_blockread.blocks.readers import ReaderChoice
from airflow_provider_blockread.cli.options.pipeline import Pipeline, ReadOptions, pipeline_options
from airflow_provider_blockread.cli.options.shared import open_environment
from airflow_provider_blockread.cli.terminal.aside import printing_aside
from airflow_provider_blockread.cli.terminal.printing import print_facts, print_json, print_table, say
from airflow_provider_blockread.ledger.model import PendingFile
from airflow_provider_blockread.options.parsing.sizes import format_bytes, plural
from airflow_provider_blockread.steps.describe import describe_block_size, describe_part, describe_readers
from airflow_provider_blockread.steps.plan.preview import FileSample, Preview, preview


@click.command()
@pipeline_options
def plan(**options: Any) -> None:  # noqa: ANN401 - click passes every option by name
    """Show what the next window of SOURCE would read, and why. Opens no file and changes nothing."""
    pipeline = Pipeline(**options)
    env = open_environment(pipeline.state, create=True)
    with printing_aside():
        shown = preview(env, pipeline.request(env, ReadOptions(output="unused")))
    if pipeline.as_json:
        print_json(_as_json(shown))
    else:
        _print(shown)


def _as_json(shown: Preview) -> dict[str, object]:
    found = shown.discovered
    return {
        "feed": shown.feed,
        "window": shown.existing.id if shown.existing else None,
        "window_state": shown.progress and shown.progress.state,
        "last_sign_at": shown.progress and shown.progress.to_json()["last_sign_at"],
        "waiting": [window.id for window in shown.waiting],
        "files": shown.files,
        "blocks": shown.blocks,
        "groups": [dataclasses.asdict(group) for group in shown.groups],
        "bytes": shown.bytes,
        "readers": shown.readers,
        "readers_chosen": None if shown.choice is None else _choice(shown.choice),
        "compressed": shown.compressed,
        "scanned": shown.scanned,
        "seen": found.seen,
        "new": found.new,
        "modified": found.modified,
        "ignored": found.ignored,
        "late": shown.late,
        "left_out": dict(shown.left_out),
        "parts": [_part(found) for found in shown.parts],
        "block_sizes": [dataclasses.asdict(size) | {"files": files} for size, files in shown.block_sizes.items()],
        "sample": [_sample(file) for file in shown.sample],
    }


def _choice(choice: ReaderChoice) -> dict[str, object]:
    return {
        "bytes": choice.bytes,
        "rate": choice.rate,
        "windows_measured": choice.windows,
        "target_seconds": choice.goal.target_s,
        "min_readers": choice.goal.least,
        "max_readers": choice.goal.most,
        "seconds": round(choice.seconds, 3),
        "why": choice.why,
    }


def _sample(file: FileSample) -> dict[str, object]:
    chosen = {} if file.block_size is None else dataclasses.asdict(file.block_size)
    return {"path": file.path, "size": file.size} | chosen


def _part(found: PendingFile) -> dict[str, object]:
    return {"path": found.version.path, "size": found.version.size} | (
        {"part": found.part.number, "start": found.part.start, "end": found.part.end} if found.part else {}
    )


def _print(shown: Preview) -> None:
    found = shown.discovered
    facts: dict[str, object] = {"feed": shown.feed, "files seen": f"{found.seen:,}, {found.new:,} of them new"}
    if shown.left_out:
        facts["left out"] = shown.left_out_text
    facts |= _windows(shown)
    facts["would read"] = f"{plural(shown.files, 'file')}, {format_bytes(shown.bytes)}: in no window of this feed yet"
    if shown.parts:
        facts["parts"] = "; ".join(f"{part.version.path}: {describe_part(part)}" for part in shown.parts)
    if shown.late:
        facts["late"] = f"{shown.late:,} of them came too late for their own interval (late='next')"
    facts["blocks"] = f"{shown.blocks:,}{_of_size(shown.limits)}"
    if shown.block_sizes:
        sizes = (f"{plural(files, 'file')}: {describe_block_size(size)}" for size, files in shown.block_sizes.items())
        facts["block sizes"] = "; ".join(sizes)
    if shown.compressed:
        facts["compressed"] = f"{plural(shown.compressed, 'file')}, one block each: decoding starts at the beginning"
    if shown.scanned:
        why = "the meaning of a byte depends on all earlier ones"
        facts["scan"] = f"{plural(shown.scanned, 'file')} of more than one block, scanned before the read: {why}"
    facts["groups"] = len(shown.groups)
    print_facts(facts | _readers(shown))
    _print_sample(shown)


def _readers(shown: Preview) -> dict[str, object]:
    if shown.choice is not None:
        return {"readers": describe_readers(shown.choice)}
    return {} if shown.readers is None else {"readers": f"at most {shown.readers:,} (max_readers)"}


def _windows(shown: Preview) -> dict[str, object]:
    """Return the state of the window with this key, and of windows that a run would finish first."""
    facts: dict[str, object] = {}
    if shown.existing is not None and shown.existing.state == "open":
        replayed = f"is {shown.progress} and would be resumed or read again, not planned"
        facts["window"] = f"{shown.existing.id} already has this key, {replayed}"
    if shown.existing is not None and shown.existing.state == "abandoned":
        facts["window"] = (
            f"{shown.existing.id} had this key and was abandoned: a run of it reads nothing; use another key"
        )
    if shown.waiting:
        files = sum(window.files for window in shown.waiting)
        left = f"{plural(files, 'file')} in {plural(len(shown.waiting), 'window')} that earlier runs did not publish"
        facts["waiting"] = f"{left}; `blockread run` without --window finishes these first"
    return facts


def _print_sample(shown: Preview) -> None:
    if not shown.sample:
        return
    columns = ("first files", "size", "block size")[: 3 if shown.block_sizes else 2]
    rows = [_row(file)[: len(columns)] for file in shown.sample]
    more = shown.files - len(rows)
    say()
    print_table(columns, rows + ([(f"... and {more:,} more", *[""] * (len(columns) - 1))] if more else []))


def _row(file: FileSample) -> tuple[str, ...]:
    chosen = file.block_size
    return file.path, format_bytes(file.size), "" if chosen is None else describe_block_size(chosen)


def _of_size(limits: GroupLimits) -> str:
    if not limits.splittable:
        return ", one block a file"
    if isinstance(limits.block_size, AutoSize):
        return f", of sizes that let {limits.block_size.readers:,} readers share a file"
    return f", of at most {format_bytes(limits.block_size)}"
