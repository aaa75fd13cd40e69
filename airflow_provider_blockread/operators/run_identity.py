"""The identity of a run: its window's key and the interval that it selects; pure functions of Airflow's values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import nanoseconds, utc_text

if TYPE_CHECKING:
    from airflow.sdk import Context

_PERIODIC = ("scheduled", "backfill")
_BY_EVENT = "asset_triggered"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunIdentity:
    """Airflow's data about a DAG run; absent values are None."""

    dag_id: str
    run_id: str
    run_type: str  # scheduled, backfill, manual, asset_triggered, ...
    clear_number: int = 0
    map_index: int = -1  # of the task in the run; -1 if it is not mapped
    partition_key: str | None = None
    partition_date: datetime | None = None
    data_interval_start: datetime | None = None
    data_interval_end: datetime | None = None

    @property
    def interval(self) -> tuple[datetime, datetime] | None:
        """The data interval, or None if it is missing or empty (cron triggers have start = end)."""
        start, end = self.data_interval_start, self.data_interval_end
        return (start, end) if start is not None and end is not None and start < end else None

    @property
    def is_temporary(self) -> bool:
        """Whether Airflow deletes the run when its only task has ended, as `airflow tasks test` makes it."""
        return self.run_id.startswith("__airflow_temporary_run_")

    @property
    def reprocesses(self) -> bool:
        """Whether the run may read windows again that another run of its DAG has published.

        A backfill that reprocesses a partition creates a new run, whose `clear_number` is 0. If the timetable has
        intervals, it clears the existing run, and only where that was deleted, it creates a new one.
        """
        return self.run_type == "backfill" and (self.partition_key is not None or self.partition_date is not None)

    def __str__(self) -> str:
        return f"{self.dag_id}/{self.run_id}"


def run_identity(context: Context) -> RunIdentity:
    """Return the identity of the context's DAG run, with the map index of its task."""
    run, index = context["dag_run"], getattr(context.get("ti"), "map_index", None)
    return RunIdentity(
        map_index=-1 if index is None else index,
        dag_id=run.dag_id,
        run_id=run.run_id,
        run_type=str(getattr(run.run_type, "value", run.run_type)),
        clear_number=run.clear_number or 0,
        partition_key=run.partition_key,
        partition_date=run.partition_date,
        data_interval_start=run.data_interval_start,
        data_interval_end=run.data_interval_end,
    )


def window_key(run: RunIdentity, *, group: str, select: str, explicit: object = None) -> str:
    """Return the key of the window that a run plans; it is the same for every try, and whenever the run is cleared.

    The key is the first of these that exists: the explicit key; the run's partition, by date or key; for
    `select="interval"`, the data interval of a scheduled or backfill run; the DAG, the group and the run's id. Without
    an explicit key, a manual run never gets the key of another run, except that of its partition. Each asset event
    about a partition starts another run, for what has landed since, so the keys of these runs name partition and run.
    A key that is not explicit ends in the map index of a mapped task, since each mapped task has its own window.

    Raises:
        OptionsError: when the explicit key is blank, or None.
    """
    if explicit is not None:
        return _rendered(explicit, f"{run.dag_id}.{group}: window", "give a key, or leave window out")
    own = key = f"{run.dag_id}/{group}/{run.run_id}"
    partition = run.partition_key if run.partition_date is None else utc_text(run.partition_date)
    if partition is not None:
        key = f"partition {partition}/{own}" if run.run_type == _BY_EVENT else f"partition {partition}"
    elif select == "interval" and run.run_type in _PERIODIC and run.interval:
        key = f"{utc_text(run.interval[0])}/{utc_text(run.interval[1])}"
    return f"{key}/{run.map_index}" if run.map_index >= 0 else key


def feed_name(run: RunIdentity, *, group: str | None, explicit: object = None) -> str:
    """Return the explicit name of a feed, or a name made of the DAG and the group.

    Raises:
        OptionsError: when the explicit name is blank, or None.
    """
    if explicit is None:
        return f"{run.dag_id}.{group}"
    return _rendered(explicit, f"{run.dag_id}.{group}: feed", "give a name, or leave feed out")


def _rendered(explicit: object, what: str, remedy: str) -> str:
    """Return a value of a template as text; that of a task that returned nothing would be the same for each run."""
    text = str(explicit).strip()  # Airflow may render a template to a number
    if text in {"", "None"}:
        msg = f"{what} is {text or 'blank'} after rendering; {remedy}"
        raise OptionsError(msg)
    return text


def interval_ns(run: RunIdentity, *, select: str) -> tuple[int, int] | None:
    """Return the half-open interval of the files' times to select, in ns since the epoch, or None for arrival.

    Raises:
        OptionsError: when `select="interval"` and the run's data interval is missing or empty.
    """
    if select != "interval":
        return None
    if run.interval is None:
        msg = (
            f"{run.dag_id}: run {run.run_id} has no data interval, which select='interval' needs; schedule the DAG by "
            "CronDataIntervalTimetable, give a manual run a logical date, or use select='arrival'"
        )
        raise OptionsError(msg)
    start, end = run.interval
    return nanoseconds(start), nanoseconds(end)


def is_replay(run: RunIdentity, *, select: str) -> bool:
    """Return whether a run may only replay an existing window: a backfill of a feed that selects by arrival."""
    return run.run_type == "backfill" and select == "arrival"
