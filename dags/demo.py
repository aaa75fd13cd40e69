"""`make demo`: creates files, runs the DAG `blockread_demo` on them in process, and shows its output.

Everything is in `.demo/`: the files (`landing/`), the records (`lake/`), Airflow's home and the embedded ledger
(`airflow/`), and the log of Airflow and Spark (`demo.log`). A second run finds nothing new; with `--add`, or after you
added files, it takes only those.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pluggy import HookimplMarker
from rich.console import Console
from rich.table import Table
from rich.text import Text

hookimpl = HookimplMarker("airflow")  # Airflow's own marker would import Airflow before `settle`
ROOT = Path(__file__).resolve().parent.parent
GROUPS = ("log_lines", "events", "reports")
WIDTH = 120  # columns, where the output is not a terminal
LAKES = {"log_lines": "logs", "events": "events", "reports": "reports"}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of one task group."""

    group: str
    state: str  # of its commit
    window: dict[str, Any]  # the plan's reference
    published: dict[str, Any]  # the commit's summary; empty when nothing was published
    task_s: float  # seconds of the read tasks, Spark's start included


def main() -> int:
    """Run the demo and return the exit code: 0 when every group published or had nothing to read."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--add", action="store_true", help="let more files arrive first")
    parser.add_argument("--only-files", action="store_true", help="make the files and leave the DAG to `make up`")
    parser.add_argument("--folder", type=Path, default=ROOT / ".demo", help="folder for all files")
    options = parser.parse_args()
    folder = options.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    output = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1, encoding="utf-8")
    console = Console(file=output, highlight=False, width=None if output.isatty() else WIDTH)
    make_files(console, folder / "landing", add=options.add)
    if options.only_files:
        return 0
    settle(folder)
    console.print(f"Running the DAG blockread_demo with Airflow and Spark; their log is {folder / 'demo.log'} ...")
    started = time.monotonic()
    with (folder / "demo.log").open("ab", buffering=0) as log, noise_to(log):
        outcomes = run_dag(TaskLogs(folder / "airflow" / "logs", log))
    console.print(f"Done in {time.monotonic() - started:.0f} s.\n")
    show(console, outcomes)
    failed = any(outcome.state not in {"success", "skipped"} for outcome in outcomes)
    if all(outcome.state == "skipped" for outcome in outcomes):
        console.print(f"Nothing new: `make demo DEMO_ARGS=--add`, or files of yours in {folder}/landing, give it work.")
    if failed:
        console.print(f"What a failed window took stays its own; fix the cause, remove {folder} and start afresh.")
    show_rows(console, folder / "lake", outcomes)
    return 1 if failed else 0


def make_files(console: Console, landing: Path, *, add: bool) -> None:
    """Create the files of the first run, or more of them."""
    import demo_data  # noqa: PLC0415 - in the folder of this script, which Python puts on its path

    if not landing.exists():
        console.print("Making files: web logs with CRLF, JSON lines, 3,000 small reports ...")
        demo_data.make_first(landing)
    elif add:
        console.print("More files land: a log, a file of events, 200 reports ...")
        demo_data.make_more(landing)


def settle(folder: Path) -> None:
    """Set Airflow's home; must be called before Airflow is first imported."""
    os.environ |= {
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",  # for `make up`, which shares this home
        "AIRFLOW__CORE__DAGS_FOLDER": str(Path(__file__).resolve().parent),
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{folder}/airflow/airflow.db",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "BLOCKREAD_DEMO_DIR": str(folder),
    }


def print_to(file: IO[bytes]) -> None:
    """Redirect the standard output of this process and its children to a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    for descriptor in (1, 2):
        os.dup2(file.fileno(), descriptor)


@contextmanager
def noise_to(log: IO[bytes]) -> Iterator[None]:
    """Redirect the output of this process and its children to a file."""
    with os.fdopen(os.dup(1), "wb") as out, os.fdopen(os.dup(2), "wb") as err:
        print_to(log)
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)


class TaskLogs:
    """Writes each task's log file for Airflow's UI, as Airflow itself writes none in process."""

    def __init__(self, folder: Path, rest: IO[bytes]) -> None:
        """Take Airflow's folder of logs, and the file for all output, including the tasks'."""
        self._folder, self._rest = folder, rest
        self._file: IO[bytes] | None = None

    @hookimpl
    def on_task_instance_running(self, task_instance: Any) -> None:  # noqa: ANN401 - a task as it runs
        """Begin the log of a task."""
        task = task_instance
        path = self._folder / f"dag_id={task.dag_id}" / f"run_id={task.run_id}" / f"task_id={task.task_id}"
        if task.map_index is not None and task.map_index >= 0:
            path /= f"map_index={task.map_index}"
        path.mkdir(parents=True, exist_ok=True)
        self._file = (path / f"attempt={task.try_number}.log").open("w+b", buffering=0)
        print_to(self._file)

    @hookimpl
    def on_task_instance_success(self) -> None:
        """End the log."""
        self._end()

    @hookimpl
    def on_task_instance_skipped(self) -> None:
        """End the log."""
        self._end()

    @hookimpl
    def on_task_instance_failed(self) -> None:
        """End the log."""
        self._end()

    def _end(self) -> None:
        if self._file is None:
            return
        print_to(self._rest)
        self._file.seek(0)
        shutil.copyfileobj(self._file, self._rest)
        self._file.close()
        self._file = None


def run_dag(logs: TaskLogs) -> list[Outcome]:
    """Run the DAG once, in this process, and return the result of each group."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager  # noqa: PLC0415 - needs `settle` first
    from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db  # noqa: PLC0415
    from airflow.sdk.listener import get_listener_manager  # noqa: PLC0415
    from airflow.utils.db import upgradedb  # noqa: PLC0415

    upgradedb()
    DagBundlesManager().sync_bundles_to_db()
    bag = DagBag(Path(__file__).with_name("blockread_demo.py"))
    sync_bag_to_db(bag, "dags-folder", None)
    get_listener_manager().add_listener(logs)
    run = bag.dags["blockread_demo"].test()
    tasks = {(task.task_id, task.map_index): task for task in run.get_task_instances()}
    return [_outcome(group, tasks) for group in GROUPS]


def _outcome(group: str, tasks: dict[tuple[str, int], Any]) -> Outcome:
    plan, commit = tasks[f"{group}.plan", -1], tasks[f"{group}.commit", -1]
    reads = [task for (task_id, _), task in tasks.items() if task_id == f"{group}.read"]
    return Outcome(
        group=group,
        state=str(commit.state),
        window=plan.xcom_pull(task_ids=plan.task_id, key="window") or {},
        published=commit.xcom_pull(task_ids=commit.task_id) or {},
        task_s=sum(task.duration or 0.0 for task in reads),
    )


def show(console: Console, outcomes: list[Outcome]) -> None:
    """Print one line for each group: files and records planned, read, proven and published."""
    table = Table(title="What happened", title_justify="left")
    table.add_column("task group")
    for name in ("files", "blocks", "groups", "records", "MB", "read s", "MB/s", "task s"):
        table.add_column(name, justify="right")
    table.add_column("window")
    table.add_column("proof")
    for outcome in outcomes:
        done = outcome.published
        if done:
            size = done["bytes"] / 1e6
            counts = [
                f"{done['files']:,}",
                f"{done['blocks']:,}",
                f"{outcome.window['groups']}",
                f"{done['records']:,}",
            ]
            read_s = done["read_seconds"]
            times = [f"{read_s:.1f}", f"{size / read_s:.1f}" if read_s else "-", f"{outcome.task_s:.1f}"]
            table.add_row(outcome.group, *counts, f"{size:.1f}", *times, done["window"], done["proof"])
        else:
            status = "nothing new" if outcome.state == "skipped" else f"{outcome.state}: see demo.log"
            table.add_row(outcome.group, *["-"] * 8, outcome.window.get("window", "-"), status)
    console.print(table)
    console.print("read s: Spark's stages; task s: the read task as a whole, Spark's start included\n")


def show_rows(console: Console, lake: Path, outcomes: list[Outcome]) -> None:
    """Print a few rows of each output with new ones, as polars reads it: a directory of Parquet, or a Delta table."""
    import polars as pl  # noqa: PLC0415 - only to look at the output

    for outcome in outcomes:
        folder = lake / LAKES[outcome.group]
        if not outcome.published or not folder.exists():
            continue
        is_table = (folder / "_delta_log").exists()
        published = pl.scan_delta(str(folder)) if is_table else pl.scan_parquet(folder / "*.parquet")
        rows = published.select(pl.len()).collect().item()
        what = "a Delta table that polars reads: " if is_table else ""
        table = Table(title=f"lake/{folder.name}: {what}{rows:,} rows by now", title_justify="left")
        for name in published.collect_schema().names():
            table.add_column(name, no_wrap=True, overflow="ellipsis", max_width=105)
        for row in published.head(3).collect().rows():
            table.add_row(*[Text(str(value).replace("\n", " | ")) for value in row])
        console.print(table)


if __name__ == "__main__":
    sys.exit(main())
