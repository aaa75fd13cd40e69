"""Runs that fail at a file which is corrected then, and tasks that a retry cannot help. They run without Spark."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_blockread.hooks.ledger import LedgerHook
from airflow_provider_blockread.ledger.model import GroupRef
from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.ledger.windows.exclusions import InPlan, exclude_file
from airflow_provider_blockread.ledger.windows.generations import list_groups
from airflow_provider_blockread.ledger.windows.groups import claim_group
from airflow_provider_blockread.options import Csv, FileSource, ParquetSink, Policies, SparkJob, Splitting
from airflow_provider_blockread.steps.commit import committing
from airflow_provider_blockread.task_group import BlockReadTaskGroup
from tests.airflow.published import attempts, lines, values

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("without_spark")]

RETRIES = {"retries": 2, "retry_delay": timedelta(0)}


@pytest.fixture
def make_dag(dag_id: str, landing: Path, lake: Path) -> Callable[..., DAG]:
    """What makes the test's DAG, of two tries more for each task and a group for each file."""

    def make(**options: Any) -> DAG:
        with DAG(dag_id) as dag:
            BlockReadTaskGroup(
                "logs",
                source=FileSource(str(landing)),
                sink=ParquetSink(str(lake)),
                splitting=Splitting(group_bytes=1),
                spark=SparkJob(master="local[1]", conf={}),
                default_args=RETRIES,
                **options,
            )
        return dag

    return make


def tries(run: Any, task: str, map_index: int = -1) -> int:
    """Return how often a task was tried, over all clears."""
    return int(run.get_task_instance(task, map_index=map_index).try_number)


def errors(dag: DAG) -> list[str]:
    """Return the errors of the groups of the newest generation."""
    ledger = LedgerHook().get_conn()
    (found,) = list_windows(ledger, f"{dag.dag_id}.logs")
    assert found.generation is not None
    return [group.error for group in list_groups(ledger, found.window.id, found.generation.number) if group.error]


@pytest.mark.parametrize("whole", [False, True], ids=["from the plan on", "the run"])
def test_a_corrected_file_is_read_after_a_clear(
    runs: Any, make_dag: Callable[..., DAG], land: Callable[..., None], landing: Path, lake: Path, *, whole: bool
) -> None:
    """As the error says: correct the file, then clear the run from its plan on; a read cleared alone says so again."""
    land(a=3)
    (landing / "b.log").write_bytes(b"b 0\r\n\xff\r\n")
    dag = make_dag()
    run = runs.start(dag)
    assert (runs.states(run)["logs.read[1]"], tries(run, "logs.read", 1)) == ("failed", 1)
    (error,) = errors(dag)
    assert error.endswith(
        "or set on_bad_record to 'quarantine' or 'drop'; to read a corrected file: clear the run from its plan on"
    )

    land(b=4)
    run = runs.clear(dag, run, [("logs.read", 1), "logs.commit"])
    assert (runs.states(run)["logs.read[1]"], tries(run, "logs.read", 1)) == ("failed", 2)
    (error,) = errors(dag)
    assert "is no longer the version that was planned" in error
    assert error.endswith("to read it as it is now: clear the run from its plan on")

    run = runs.clear(dag, run, None if whole else ["logs.plan", ("logs.read", 1), "logs.commit"])
    assert set(runs.states(run).values()) == {"success"}
    assert values(lake) == lines(a=3, b=4)
    assert attempts(lake) == ["00000-e1" if not whole else "00000-e2", "00001-e1"]
    assert set(runs.states(runs.start(dag)).values()) == {"success", "skipped"}
    assert values(lake) == lines(a=3, b=4)


def test_a_read_of_what_is_published_is_skipped(
    runs: Any, make_dag: Callable[..., DAG], land: Callable[..., None], lake: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is not tried twice, says how to rebuild, and that works."""
    land(a=3, b=3)
    dag = make_dag()
    run = runs.start(dag)
    before = tries(run, "logs.read", 1)
    capfd.readouterr()
    run = runs.clear(dag, run, [("logs.read", 1)])
    printed = "".join(capfd.readouterr())

    assert (runs.states(run)["logs.read[1]"], tries(run, "logs.read", 1)) == ("skipped", before + 1)
    assert "warning" in printed.lower()
    assert "its generation is published; clear the run from its plan on to rebuild it" in printed
    assert (str(run.state), values(lake)) == ("success", lines(a=3, b=3))
    run = runs.clear(dag, run)
    assert set(runs.states(run).values()) == {"success"}
    assert attempts(lake) == ["00000-e1", "00001-e1"]
    assert (runs.xcom(run, "logs.commit")["generation"], values(lake)) == (2, lines(a=3, b=3))


def test_scan_and_commit_of_what_is_published(
    runs: Any, make_dag: Callable[..., DAG], landing: Path, lake: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A scan alone is skipped, as a read is; a commit says once more what is published."""
    (landing / "a.csv").write_text("".join(f'{n},"x\n{n}"\n' for n in range(9)))
    dag = make_dag(record_format=Csv(header=False, schema="a long, b string"))
    dag.get_task("logs.plan").splitting = Splitting(block_size=16, group_bytes=16)  # type: ignore[attr-defined]
    run = runs.start(dag)
    first = runs.xcom(run, "logs.commit")
    shown, before = sorted(path.name for path in lake.iterdir()), tries(run, "logs.scan")
    capfd.readouterr()
    run = runs.clear(dag, run, ["logs.scan"])
    printed = "".join(capfd.readouterr())
    assert (runs.states(run)["logs.scan"], tries(run, "logs.scan")) == ("skipped", before + 1)
    assert "is published; clear the run from its plan on to rebuild it" in printed
    run = runs.clear(dag, run, ["logs.commit"])

    assert (runs.states(run)["logs.commit"], runs.xcom(run, "logs.commit")) == (
        "success",
        first | {"read_seconds": 0.0},
    )
    assert sorted(path.name for path in lake.iterdir()) == shown
    run = runs.clear(dag, run)
    assert set(runs.states(run).values()) == {"success"}
    assert runs.xcom(run, "logs.commit")["generation"] == 2


def test_verified_and_left(runs: Any, make_dag: Callable[..., DAG], land: Callable[..., None], lake: Path) -> None:
    """A read of a verification that is complete is skipped, too; a clear that leaves the window alone scans nothing."""
    land(a=3)
    run = runs.start(make_dag())
    run = runs.clear(make_dag(policies=Policies(on_rerun="verify")), run)
    run = runs.clear(make_dag(policies=Policies(on_rerun="verify")), run, [("logs.read", 0)])
    assert runs.states(run)["logs.read[0]"] == "skipped"
    run = runs.clear(make_dag(policies=Policies(on_rerun="skip")), run)
    assert (runs.states(run)["logs.commit"], values(lake)) == ("success", lines(a=3))


def test_what_retrying_cannot_help_fails_at_once(
    runs: Any, make_dag: Callable[..., DAG], land: Callable[..., None], landing: Path, lake: Path
) -> None:
    """A group that is to be read again, since a file of it was excluded, is not read by another try of the commit."""
    land(a=3, b=3)
    dag = make_dag()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(committing, "prove", _refuse)
        run = runs.start(dag)
    ledger = LedgerHook().get_conn()
    (found,) = list_windows(ledger, f"{dag.dag_id}.logs")
    exclude_file(ledger, found.window.id, f"file://{landing}/b.log", reason="not ours", who="me", plan=InPlan([1]))
    before = tries(run, "logs.commit")
    run = runs.clear(dag, run, ["logs.commit"])
    assert (runs.states(run)["logs.commit"], tries(run, "logs.commit")) == ("failed", before + 1)
    run = runs.clear(dag, run, [("logs.read", 1), "logs.commit"])  # as it says

    assert runs.states(run)["logs.commit"] == "success"
    assert values(lake) == lines(a=3)


def _refuse(*_: object) -> None:
    msg = "not proven"
    raise RuntimeError(msg)


def test_what_another_holds_is_tried_again(
    runs: Any, make_dag: Callable[..., DAG], land: Callable[..., None], lake: Path
) -> None:
    """A group that another process is reading now may be free at the next try."""
    land(a=3)
    dag = make_dag()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(committing, "prove", _refuse)
        run = runs.start(dag)
    ledger = LedgerHook().get_conn()
    (found,) = list_windows(ledger, f"{dag.dag_id}.logs")
    ref = GroupRef(window=found.window.id, generation=1, group=0)
    assert claim_group(ledger, ref, owner="another", clear_number=1, stale_after_s=60.0)
    run = runs.clear(dag, run, [("logs.read", 0), "logs.commit"])

    assert (runs.states(run)["logs.read[0]"], tries(run, "logs.read", 0)) == ("failed", 1 + 3)
    assert not lake.exists()
