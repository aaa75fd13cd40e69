"""`blockread windows`: lists, shows and verifies windows."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Any

import click

from airflow_provider_blockread.cli.options.shared import (
    any_feed_option,
    json_option,
    ledger_text,
    number,
    open_environment,
    owner,
    state_option,
    window_feed_option,
)
from airflow_provider_blockread.cli.options.spark import OnSpark, spark_options
from airflow_provider_blockread.cli.run import JOB
from airflow_provider_blockread.cli.terminal.aside import printing_aside
from airflow_provider_blockread.cli.terminal.printing import (
    cut_off,
    print_facts,
    print_json,
    print_table,
    say,
    say_lines,
)
from airflow_provider_blockread.ledger.feeds import require_feed
from airflow_provider_blockread.ledger.model import Generation, Window, Withdrawal
from airflow_provider_blockread.ledger.overview.windows import (
    OPEN_STATES,
    OVER_STATES,
    WindowRow,
    list_windows,
    viewed_groups,
)
from airflow_provider_blockread.ledger.upkeep.withdrawing import find_withdrawal
from airflow_provider_blockread.ledger.windows.exclusions import list_exclusions
from airflow_provider_blockread.ledger.windows.generations import FINISHED, as_read_by, start_generation
from airflow_provider_blockread.ledger.windows.progress import group_progress, require_idle
from airflow_provider_blockread.ledger.windows.queries import get_window, list_parts
from airflow_provider_blockread.options.parsing.sizes import format_bytes, plural
from airflow_provider_blockread.steps import Environment
from airflow_provider_blockread.steps.describe import describe_group
from airflow_provider_blockread.steps.plan.replaying import open_ref
from airflow_provider_blockread.steps.plan.restoring import restore_pruned
from airflow_provider_blockread.steps.read.inferring import inferred_schema
from airflow_provider_blockread.steps.running import WindowRunner
from airflow_provider_blockread.steps.upkeep.handing_over import require_published
from airflow_provider_blockread.steps.upkeep.withdrawing import can_go_back

window_argument = click.argument("window", callback=ledger_text)
_SHOWN = 100  # excluded files that are named
_PROVEN = {"proven", "publishing", *FINISHED}  # states of a generation whose sums are complete


@click.group()
def windows() -> None:
    """List, show, verify, rebuild or give up windows: what runs read, prove and publish as one."""


@windows.command("list")
@any_feed_option
@click.option("--window-state", type=click.Choice([*OPEN_STATES, *OVER_STATES]), help="Only windows in this state.")
@click.option("--limit", default=50, show_default=True, type=number, help="The most windows to list.")
@state_option
@json_option
def list_(feed: str | None, window_state: str | None, limit: int, state: str | None, *, as_json: bool) -> None:
    """List windows, newest first."""
    env = open_environment(state)
    if feed is not None:
        require_feed(env.ledger, feed)
    found = cut_off(list_windows(env.ledger, feed, state=window_state, limit=limit + 1), limit)
    if as_json:
        print_json([_summary(summary) for summary in found])
        return
    rows = [_summary(summary) | {"state": _state(summary)} for summary in found]
    names = {"window": "window", "state": "state", "files": "files", "records": "records", "bad_records": "bad"}
    if any(row["excluded"] for row in rows):
        names["excluded"] = "excluded"
    if any(row["note"] for row in rows):
        names["note"] = "note"
    names |= {"key": "key", "feed": "feed"}
    print_table(list(names.values()), [[row[name] for name in names] for row in rows])


@windows.command()
@window_argument
@window_feed_option
@state_option
@json_option
def show(window: str, feed: str | None, state: str | None, *, as_json: bool) -> None:
    """Show WINDOW (an id or a key): its generation, groups and errors."""
    env = open_environment(state)
    found = get_window(env.ledger, window, feed)
    [summary] = list_windows(env.ledger, window=found.id)
    facts = _summary(summary) | {
        "manifest": as_read_by(found, summary.shown or summary.generation).manifest_uri,
        "planned_by": found.owner,
    }
    withdrawal = find_withdrawal(env.ledger, found.id)
    if withdrawal is not None:
        facts["withdrawn"] = _withdrawn(env, found, withdrawal)
    if summary.generation is not None:
        options = summary.generation.as_options()
        facts |= {"output": options.sink.place, "inferred_schema": inferred_schema(env, found, options)}
    now = env.ledger.now()
    groups = [(group, group_progress(group, now)) for group in viewed_groups(env.ledger, summary)]
    rows: list[dict[str, object]] = [
        {
            "group": describe_group(group.planned),
            "state": str(progress),
            "epoch": group.epoch,
            "blocks": group.planned.blocks,
            "records": group.records if group.state == "done" else None,
            "owner": group.owner,
            "error": group.error,
        }
        for group, progress in groups
    ]
    read_in_parts = list_parts(env.ledger, found.id)
    excluded = _excluded(env, summary)
    if as_json:
        listed = [row | progress.to_json() for row, (_, progress) in zip(rows, groups, strict=True)]
        parts = [part._asdict() for part in read_in_parts]
        print_json(facts | {"group_list": listed, "parts": parts, "excluded_files": excluded})
        return
    print_facts(_shown(facts | {"state": _state(summary), "newer": None}))  # the note describes `newer`
    for part in read_in_parts:
        say(f"reads only bytes {part.start:,} to {part.end:,} of {part.path or 'a file whose row is pruned'}")
    for file in excluded:
        say("{path} is excluded ({reason}, by {who})".format(**file))
    if rows:
        say()
        print_table(list(rows[0])[:-1], [list(row.values())[:-1] for row in rows])
    for row in filter(itemgetter("error"), rows):
        say()
        say_lines(f"{row['group']}\n{row['error']}")


@click.command()
@window_argument
@window_feed_option
@spark_options
@state_option
@json_option
def verify(
    window: str,
    feed: str | None,
    state: str | None,
    *,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - those of `OnSpark`
) -> None:
    """Read published WINDOW again and prove it, and check that its published files exist; writes nothing."""
    on_spark = OnSpark(**options)
    on_spark.check_spark()
    env = open_environment(state)
    found = get_window(env.ledger, window, feed)
    latest = require_published(env, found)
    require_idle(env.ledger, latest, owner=owner())
    restore_pruned(env, found)
    generation = start_generation(
        env.ledger, found.id, options=latest.options, mode="verify", clear_number=latest.clear_number
    )
    with printing_aside(), on_spark.open_spark() as spark:
        ref = open_ref(env, found, generation, status="read", message=f"window {found.id}: verifying")
        done = WindowRunner(env=env, owner=owner(), job=JOB, submitter=spark).run(ref)
    if as_json:
        print_json(done.to_json())
    else:
        say(f"window {done.window} is verified: {plural(done.records, 'record')}, {format_bytes(done.bytes)}")


def _excluded(env: Environment, summary: WindowRow) -> list[dict[str, str]]:
    """Return the first files that the newest generation leaves out, with reasons."""
    if summary.generation is None:
        return []
    found = list_exclusions(env.ledger, summary.window.id, summary.generation.number, limit=_SHOWN)
    return [{"path": out.path, "reason": out.reason, "who": out.who} for out in found]


def _summary(summary: WindowRow) -> dict[str, Any]:
    window, progress = summary.window, summary.progress
    # The state is that of the published output; unfinished work is a note.
    generation, newer = summary.shown or summary.generation, _newer(summary)
    sums = generation.sums if generation is not None and generation.state in _PROVEN else None
    return {
        "window": window.id,
        "feed": window.feed,
        "key": window.key,
        "state": "published" if summary.shown else progress.state,
        "last_sign_at": progress.to_json()["last_sign_at"],
        "generation": generation.number if generation else None,
        "published": summary.shown.number if summary.shown else None,
        "files": window.files,
        "blocks": window.blocks,
        "groups": f"{summary.groups.done}/{window.groups}",
        "bytes": sums.bytes if sums else window.bytes,
        "records": sums.records if sums else None,
        "bad_records": sums.bad_records if sums else None,
        "table_version": generation.table_version if generation else None,
        "schema_changes": generation.schema_changes if generation else None,
        "excluded": summary.excluded,
        "created_at": window.created_at.isoformat(),
        "error": summary.generation.error if summary.generation else None,
        "newer": newer and {"generation": newer.number, "mode": newer.mode, "state": progress.state},
        "note": _note(summary),
    }


def _state(summary: WindowRow) -> str:
    return "published" if summary.shown else str(summary.progress)


def _newer(summary: WindowRow) -> Generation | None:
    """Return the generation newer than the published one, if any."""
    newest, shown = summary.generation, summary.shown
    return newest if newest is not None and shown is not None and newest.number != shown.number else None


def _shown(facts: Mapping[str, object]) -> dict[str, object]:
    """Return the facts that are set; of an error only the first line, since its group shows the whole error."""
    shown = {name.replace("_", " "): value for name, value in facts.items() if value is not None}
    if "error" in shown:
        shown["error"] = str(shown["error"]).partition("\n")[0]
    return shown


def _withdrawn(env: Environment, window: Window, held: Withdrawal) -> str:
    done = "finished" if held.finished_at else "not finished: repeat the command"
    text = f"by {held.who}, files {held.files}, {done}"
    if held.files != "excluded" or not can_go_back(env, window):
        return text
    return f"{text}; `blockread windows undo {window.id} --files pending` returns them to the feed"


def _note(summary: WindowRow) -> str | None:
    """Return what the state does not show: a generation newer than the published one, or pruned details."""
    newer, progress = _newer(summary), summary.progress
    notes = []
    if newer is not None:
        what = "verification" if newer.mode == "verify" else "rebuild"
        words = {"superseded": "was given up", "failed": "failed"}
        notes.append(f"{what} (generation {newer.number}) {words.get(progress.state, f'is {progress}')}")
    if summary.generation is not None and summary.generation.state == "publishing" and progress.state != "publishing":
        notes.append("half published")
    if summary.window.pruned_at is not None:
        notes.append(f"pruned on {summary.window.pruned_at:%Y-%m-%d}")
    return "; ".join(notes) or None
