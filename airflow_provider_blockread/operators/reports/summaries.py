"""What a step did: a sentence for the XCom `summary`, and rows for the table that ends a task's log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from airflow_provider_blockread.options.parsing.sizes import format_bytes, plural

if TYPE_CHECKING:
    from airflow_provider_blockread.steps import Published, ReadOutcome, WindowRef

#: Rows of a table, in order: a name, and a number with its unit as text.
Rows = list[tuple[str, str]]


def plan_summary(ref: WindowRef) -> tuple[str, Rows]:
    """Return a sentence and a table on what a plan found."""
    if ref.status != "read":
        return _named(ref, ref.message), []
    rows = [
        ("window", f"{ref.key} ({ref.window})"),
        ("feed", ref.feed),
        ("generation", f"{ref.generation:,}"),
        ("files", f"{ref.files:,}"),
        ("bytes", format_bytes(ref.bytes)),
        ("blocks", f"{ref.blocks:,}"),
        ("groups", f"{ref.groups:,}"),
    ]
    left = [(f"left out: {reason.replace('_', ' ')}", f"{count:,}") for reason, count in ref.left_out.items()]
    return _named(ref, ref.message), rows + left


def read_summary(outcome: ReadOutcome) -> tuple[str, Rows]:
    """Return a sentence and a table on the read of a group."""
    speed = f" ({format_bytes(outcome.bytes / outcome.seconds)}/s)" if outcome.seconds else ""
    bad = f", {outcome.bad_records:,} bad" if outcome.bad_records else ""
    before = "; read before this try" if outcome.done_before else ""
    rows = [
        ("blocks", f"{outcome.blocks:,}"),
        ("records", f"{outcome.records:,}"),
        ("bad records", f"{outcome.bad_records:,}"),
        ("bytes", format_bytes(outcome.bytes)),
        ("time", f"{outcome.seconds:.1f} s{speed}, with Spark's start"),
        ("attempts", f"{outcome.epoch:,}"),
    ]
    return f"{outcome.title}: {plural(outcome.records, 'record')}{bad}{before}", rows


def commit_summary(done: Published) -> tuple[str, Rows]:
    """Return a sentence and a table on what was published, and how it was proven."""
    if done.status in {"empty", "skipped"}:
        return _named(done, done.message), []
    speed = f" ({format_bytes(done.bytes / done.read_seconds)}/s)" if done.read_seconds else ""
    rows = [
        ("window", f"{done.key} ({done.window})"),
        ("feed", done.feed),
        ("generation", f"{done.generation:,}, {done.status}"),
        ("files", f"{done.files:,}"),
        ("blocks", f"{done.blocks:,} in {plural(done.groups, 'group')}"),
        ("bytes", f"{format_bytes(done.bytes)}, each accounted for"),
        ("records", f"{done.records:,}"),
        ("bad records", f"{done.bad_records:,}"),
        ("rows", "" if done.status == "verified" else f"{done.rows:,}, as many as the output's own files count"),
        ("output files", _unless_zero(done.outputs)),
        ("partitions", _unless_zero(done.partitions)),
        ("removed", _unless_zero(done.removed)),
        ("excluded", _unless_zero(done.excluded)),
        ("read in", f"{done.read_seconds:.1f} s of Spark's stages{speed}" if done.read_seconds else ""),
        ("table version", done.table_version),
        ("schema changes", done.schema_changes),
        ("quarantine", done.quarantine_uri),
    ]
    found = f"{done.status}: {plural(done.records, 'record')} of {plural(done.files, 'file')}, every byte accounted for"
    left = f"; {_about(done, done.message)}" if done.message else ""
    return f"window {done.key!r} of feed {done.feed}: {found}{left}", [row for row in rows if row[1]]


def as_table(rows: Rows) -> Iterator[str]:
    """Yield the lines of a table."""
    width = max((len(name) for name, _ in rows), default=0)
    return (f"  {name:<{width}}  {value}" for name, value in rows)


def _named(ref: WindowRef | Published, text: str) -> str:
    return f"window {ref.key!r} of feed {ref.feed}: {_about(ref, text)}"


def _about(ref: WindowRef | Published, text: str) -> str:
    """Return a message without the leading id of its window."""
    return text.removeprefix(f"window {ref.window}: ").removeprefix(f"window {ref.window} ")


def _unless_zero(count: int) -> str:
    return f"{count:,}" if count else ""
