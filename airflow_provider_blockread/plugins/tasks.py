"""Airflow runs: when the next ones begin, and how tasks are cleared, from the plan on, to read a window again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from airflow.models.dag import DagModel
from airflow.models.dagbag import DBDagBag
from airflow.models.dagrun import DagRun
from airflow.models.log import Log
from airflow.utils.session import create_session
from airflow.utils.state import State
from starlette.exceptions import HTTPException

from airflow_provider_blockread.pages.site import Again, Schedules, Tasks


class AirflowSchedules(Schedules):
    """When the scheduler starts runs of DAGs, and which of them go on."""

    def next_runs(self, dags: Collection[str]) -> Mapping[str, datetime | None]:
        """Return, for each DAG with a schedule of times, when its next run begins; None for a paused DAG."""
        planned = DagModel.next_dagrun_create_after
        with create_session() as session:
            rows = session.query(DagModel.dag_id, DagModel.is_paused, planned)
            found = rows.filter(DagModel.dag_id.in_(dags), ~DagModel.is_stale).all()
        return {dag: None if paused else at for dag, paused, at in found if paused or at is not None}

    def goes_on(self, dag: str, run: str) -> bool:
        """Return whether a run is there and has not ended."""
        with create_session() as session:
            found = DagRun.find(dag_id=dag, run_id=run, session=session)
            return any(one.state not in State.finished_dr_states for one in found)

    def has_run(self, dag: str, run: str) -> bool:
        """Return whether a run is there."""
        with create_session() as session:
            return bool(DagRun.find(dag_id=dag, run_id=run, session=session))


class AirflowTasks(Tasks):
    """Clears tasks of runs, as Airflow's own pages do, with an entry in its audit log."""

    def refusal(self, again: Again) -> str:
        """Return why the tasks cannot be cleared now, or an empty string if they can."""
        with create_session() as session:
            found = _found(again, session)
        return found if isinstance(found, str) else ""

    def clear(self, again: Again, who: str, begin: Callable[[int], object]) -> None:
        """Clear the tasks after calling `begin` with the clear number that the run will have.

        Raises:
            HTTPException: 409 when they can no longer be cleared.
        """
        with create_session() as session:
            found = _found(again, session, locked=True)
            if isinstance(found, str):
                raise HTTPException(409, f"{found}. Nothing was done.")
            run, dag = found
            begin(run.clear_number + 1)
            first = again.task.task
            tasks = {first, *dag.get_task(first).get_flat_relative_ids(upstream=False)}
            dag.clear(run_id=run.run_id, task_ids=sorted(tasks), session=session)
            entry = Log(event=f"blockread {again.action}", owner=who, extra=again.window)
            entry.dag_id, entry.run_id, entry.task_id = run.dag_id, run.run_id, first
            session.add(entry)


def _found(again: Again, session: Any, *, locked: bool = False) -> str | tuple[DagRun, Any]:  # noqa: ANN401 - a session
    """Return the run and its DAG, or why its tasks cannot be cleared."""
    task = again.task
    run = next(iter(DagRun.find(dag_id=task.dag, run_id=task.run, session=session)), None)
    if run is None:
        return f"Run {task.of_run} is no longer in Airflow"
    if locked:
        session.refresh(run, with_for_update=True)
    if run.state not in State.finished_dr_states:
        return f"Run {task.of_run} is {run.state} and must end first"
    dag = DBDagBag().get_dag_for_run(run, session=session)
    if dag is None or not dag.has_task(task.task):
        return f"The DAG of run {task.of_run} has no task {task.task} any more"
    return run, dag
