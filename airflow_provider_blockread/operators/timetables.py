"""Airflow's timetables whose runs have an empty data interval, which `select="interval"` cannot use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_blockread.errors import OptionsError

if TYPE_CHECKING:
    from datetime import timedelta

    from airflow.sdk import DAG

_WITHOUT = frozenset(
    {
        "AssetTriggeredTimetable",
        "CronPartitionTimetable",
        "EventsTimetable",
        "OnceTimetable",
        "PartitionedAssetTimetable",
        "PartitionedAtRuntime",
    }
)
_TRIGGERS = frozenset({"CronTriggerTimetable", "DeltaTriggerTimetable"})
_EXAMPLE = 'CronDataIntervalTimetable("@daily", timezone="UTC")'


def require_intervals(dag: DAG, task_id: str) -> None:
    """Refuse a DAG whose scheduled runs all have an empty data interval.

    A DAG without a schedule is accepted, because its runs may be started with an interval, and so are timetables that
    are not Airflow's own.

    Raises:
        OptionsError: naming the schedule, and a suitable alternative.
    """
    timetable = dag.timetable
    if _has_intervals(timetable):
        return
    msg = (
        f'{dag.dag_id}.{task_id}: select="interval" reads the files of a run\'s data interval, but runs of'
        f" {type(timetable).__name__} (schedule={dag.schedule!r}) have none; write schedule={_instead(dag)}, imported"
        ' from airflow.sdk, or use select="arrival"'
    )
    raise OptionsError(msg)


def _has_intervals(timetable: object) -> bool:
    kind = type(timetable)
    if not kind.__module__.startswith("airflow."):
        return True
    if kind.__name__ in _TRIGGERS:
        return bool(_attribute(timetable, "interval"))
    if kind.__name__ == "MultipleCronTriggerTimetable":
        return any(_has_intervals(one) for one in _attribute(timetable, "timetables"))
    if kind.__name__ == "AssetOrTimeSchedule":
        return _has_intervals(_attribute(timetable, "timetable"))
    return kind.__name__ not in _WITHOUT


def _attribute(timetable: object, name: str) -> Any:  # noqa: ANN401 - of classes that Airflow has twice
    """Return an argument of a timetable; the scheduler's classes keep some of them in private attributes."""
    return getattr(timetable, name, None) or getattr(timetable, f"_{name}", None)


def _instead(dag: DAG) -> str:
    timetable = dag.timetable
    if type(timetable).__name__ == "DeltaTriggerTimetable":
        delta: timedelta = _attribute(timetable, "delta")
        return f"DeltaDataIntervalTimetable({delta!r})"
    if type(timetable).__name__ != "CronTriggerTimetable":
        return _EXAMPLE
    expression = dag.schedule if isinstance(dag.schedule, str) else _attribute(timetable, "expression")
    zone = _attribute(timetable, "timezone")
    return f'CronDataIntervalTimetable("{expression}", timezone="{getattr(zone, "name", zone)}")'
