"""Commands to copy: each is complete, and names in it are quoted, so that they cannot run as commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from airflow_provider_blockread.errors import shell_word
from airflow_provider_blockread.ledger.overview.health import Unfinished
from airflow_provider_blockread.ledger.overview.windows import WindowRow
from airflow_provider_blockread.pages.site import task_of

#: The options of commands over many windows, by their names in requests.
_RANGE = {"feed": "--feed", "since": "--since", "until": "--until", "first_key": "--from", "last_key": "--to"}
_CHOICE = {"path": "--path", "status": "--status"}


def with_ledger(command: str, ledger: str) -> str:
    """Return a `blockread` command completed by the address of its ledger, which contains no password; others as is."""
    return f"{command} --state {shell_word(ledger)}" if command.startswith("blockread ") else command


def clear_command(run: str) -> str:
    """Return the command that clears an Airflow run, given as `dag_id/run_id`."""
    dag, _, run_id = run.partition("/")
    return f"airflow dags clear {shell_word(dag)} --run-id {shell_word(run_id)}"


def trigger_command(dag: str) -> str:
    """Return the command that starts a run of a DAG."""
    return f"airflow dags trigger {shell_word(dag)}"


def run_of(row: WindowRow) -> str | None:
    """Return the Airflow run that works on a window, as `dag_id/run_id`, or None for a window of the command line."""
    if row.generation is not None and row.generation.run:
        return row.generation.run
    planner = task_of(row.window.owner)
    return planner.of_run if planner is not None else None


def continuing(one: Unfinished, ledger: str) -> str:
    """Return the command that continues an unfinished one; empty if the ledger does not know all of its arguments."""
    task = task_of(str(one.arguments.get("task") or one.who))
    if task is not None:
        return clear_command(task.of_run)
    if one.what == "withdrawal":
        files = shell_word(str(one.arguments["files"]))
        return with_ledger(f"blockread windows undo {shell_word(one.window or '')} --files {files}", ledger)
    if one.what in {"rebuild", "reprocess"} and "run" not in one.arguments:
        return with_ledger(" ".join(_of_range(one.what, one.arguments)), ledger)
    return ""


def _of_range(action: str, given: Mapping[str, Any]) -> Iterator[str]:
    window = given.get("window")
    yield "blockread reprocess" if action == "reprocess" else "blockread windows rebuild"
    if window:
        yield f"--window {shell_word(window)}" if action == "reprocess" else shell_word(window)
    times = {name: str(given[name])[:19] for name in ("since", "until") if given.get(name)}  # UTC is the default
    for options, values in ((_RANGE, {**given, **times}), (_CHOICE, given.get("files") or {})):
        yield from (f"{option} {shell_word(str(values[name]))}" for name, option in options.items() if values.get(name))
