"""DAGs run as `dag.test()` runs them, and cleared as users do."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

START = datetime(2026, 1, 1, tzinfo=UTC)


class Runs:
    """Runs DAGs and shows their outcome."""

    def __init__(self, database: None) -> None:
        """Take the migrated database as given."""

    def start(self, dag: Any, **options: Any) -> Any:
        """Run a DAG by `dag.test()` and return its run."""
        self._sync(dag)
        return dag.test(**options)

    def create(
        self,
        dag: Any,
        *,
        run_id: str,
        run_type: str,
        interval: tuple[datetime, datetime] | None = None,
        partition: datetime | None = None,
        consumes: Sequence[str] = (),
    ) -> Any:
        """Make a run of any type, as the scheduler would, and run it; it consumes the events of these assets."""
        from airflow.timetables.base import DataInterval
        from airflow.utils.state import DagRunState
        from airflow.utils.types import DagRunTriggeredByType, DagRunType

        run = self._sync(dag).create_dagrun(
            run_id=run_id,
            run_type=DagRunType(run_type),
            logical_date=interval[0] if interval else None,
            data_interval=DataInterval(*interval) if interval else None,
            run_after=interval[1] if interval else START,
            triggered_by=DagRunTriggeredByType.TEST,
            partition_key=partition.isoformat() if partition else None,
            partition_date=partition,
            state=DagRunState.RUNNING,
            start_date=START,
        )
        self._consume(run, consumes)
        return self._drive(dag, run)

    def _consume(self, run: Any, uris: Sequence[str]) -> None:
        from airflow import settings
        from airflow.models.asset import AssetEvent, AssetModel
        from airflow.models.dagrun import DagRun

        session = settings.Session()
        events = session.query(AssetEvent).join(AssetModel, AssetModel.id == AssetEvent.asset_id)
        row = session.get(DagRun, run.id)
        row.consumed_asset_events.extend(events.filter(AssetModel.uri.in_(uris)))
        session.commit()

    def clear(self, dag: Any, run: Any, task_ids: list[str | tuple[str, int]] | None = None) -> Any:
        """Clear a run, or some of its tasks, and run it again."""
        from airflow.utils.state import DagRunState

        self._sync(dag).clear(run_id=run.run_id, task_ids=task_ids, dag_run_state=DagRunState.RUNNING)
        return self._drive(dag, run)

    def delete(self, run: Any) -> None:
        """Delete a run, with its tasks and all that they handed on."""
        from airflow import settings
        from airflow.models.dagrun import DagRun

        session = settings.Session()
        session.delete(session.get(DagRun, run.id))
        session.commit()

    def forget(self, run: Any) -> None:
        """Delete what the tasks of a run have handed on."""
        from airflow import settings
        from airflow.models.xcom import XComModel

        session = settings.Session()
        session.query(XComModel).filter_by(dag_id=run.dag_id, run_id=run.run_id).delete()
        session.commit()

    def states(self, run: Any) -> dict[str, str]:
        """Return the state of each task; a mapped one is named `task[index]`."""
        return {
            ti.task_id + (f"[{ti.map_index}]" if ti.map_index >= 0 else ""): str(ti.state)
            for ti in run.get_task_instances()
        }

    def xcom(self, run: Any, task_id: str, key: str = "return_value", map_index: int = -1) -> Any:
        """Return what a task handed on, None when nothing."""
        return run.get_task_instance(task_id, map_index=map_index).xcom_pull(
            task_ids=task_id, key=key, map_indexes=map_index
        )

    def asset_events(self, uri: str) -> list[dict[str, Any]]:
        """Return what the events of an asset hold, oldest first."""
        from airflow import settings
        from airflow.models.asset import AssetEvent, AssetModel

        events = settings.Session().query(AssetEvent).join(AssetModel, AssetModel.id == AssetEvent.asset_id)
        return [event.extra for event in events.filter(AssetModel.uri == uri).order_by(AssetEvent.id)]

    def _sync(self, dag: Any) -> Any:
        from airflow.dag_processing.bundles.manager import DagBundlesManager
        from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
        from airflow.serialization.serialized_objects import DagSerialization

        DagBundlesManager().sync_bundles_to_db()
        bag = DagBag("/dev/null")
        bag.bag_dag(dag)
        sync_bag_to_db(bag, "dags-folder", None)
        return DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag))

    def _drive(self, dag: Any, run: Any) -> Any:
        """Do what `dag.test()` does after it has made its run."""
        from airflow import settings
        from airflow.models.dagrun import DagRun
        from airflow.sdk.definitions.dag import _run_task
        from airflow.utils.state import DagRunState, TaskInstanceState

        session = settings.Session()
        row = session.get(DagRun, run.id)
        row.dag = self._sync(dag)
        while row.state == DagRunState.RUNNING:
            session.expire_all()
            for task in row.update_state(session=session)[0]:
                task.try_number += 1
                task.state = TaskInstanceState.SCHEDULED
            session.commit()
            for task in row.get_task_instances(session=session):
                if task.state == TaskInstanceState.SCHEDULED:
                    _run_task(ti=task, task=dag.task_dict[task.task_id], run_triggerer=True)
        return row
