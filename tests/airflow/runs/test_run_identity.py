"""Window keys: what a run is, for every way in which Airflow makes one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.operators.run_identity import RunIdentity, feed_name, interval_ns, is_replay, window_key

DAY = datetime(2026, 11, 10, tzinfo=UTC)
NEXT = DAY + timedelta(days=1)
INTERVAL = f"{DAY:%Y-%m-%dT%H:%M:%SZ}/{NEXT:%Y-%m-%dT%H:%M:%SZ}"


def run(run_type: str, run_id: str = "r1", **values: object) -> RunIdentity:
    """Return a run of the DAG `shop`."""
    return RunIdentity(dag_id="shop", run_id=run_id, run_type=run_type, **values)  # type: ignore[arg-type]


INTERVAL_RUN = {"data_interval_start": DAY, "data_interval_end": NEXT}
CRON_TRIGGER_RUN = {"data_interval_start": DAY, "data_interval_end": DAY}
PARTITION_RUN = {"partition_key": "2026-11-10T00:00:00", "partition_date": DAY}


@pytest.mark.parametrize(
    ("identity", "arrival", "interval"),
    [
        pytest.param(run("scheduled", **INTERVAL_RUN), "shop/logs/r1", INTERVAL, id="interval-scheduled"),
        pytest.param(run("backfill", **INTERVAL_RUN), "shop/logs/r1", INTERVAL, id="interval-backfill"),
        pytest.param(
            run("backfill", clear_number=1, **INTERVAL_RUN), "shop/logs/r1", INTERVAL, id="interval-reprocessed"
        ),
        pytest.param(run("scheduled", **CRON_TRIGGER_RUN), "shop/logs/r1", "shop/logs/r1", id="cron-trigger"),
        pytest.param(run("backfill", **CRON_TRIGGER_RUN), "shop/logs/r1", "shop/logs/r1", id="cron-trigger-backfill"),
        pytest.param(
            run("scheduled", **PARTITION_RUN),
            "partition 2026-11-10T00:00:00Z",
            "partition 2026-11-10T00:00:00Z",
            id="partition-scheduled",
        ),
        pytest.param(
            run("backfill", "another", **PARTITION_RUN),
            "partition 2026-11-10T00:00:00Z",
            "partition 2026-11-10T00:00:00Z",
            id="partition-reprocessed-in-a-new-run",
        ),
        pytest.param(
            run("asset_triggered", partition_key="eu-west"),
            "partition eu-west/shop/logs/r1",
            "partition eu-west/shop/logs/r1",
            id="partition-of-assets-without-a-date",
        ),
        pytest.param(run("asset_triggered"), "shop/logs/r1", "shop/logs/r1", id="asset-triggered"),
        pytest.param(run("manual"), "shop/logs/r1", "shop/logs/r1", id="manual-without-logical-date"),
        pytest.param(run("manual", **INTERVAL_RUN), "shop/logs/r1", "shop/logs/r1", id="manual-with-logical-date"),
        pytest.param(
            run("manual", **PARTITION_RUN),
            "partition 2026-11-10T00:00:00Z",
            "partition 2026-11-10T00:00:00Z",
            id="manual-with-partition-key",
        ),
    ],
)
def test_each_way_of_running_has_its_key(identity: RunIdentity, arrival: str, interval: str) -> None:
    """The key follows from the partition, the interval or the run, whichever the run and the selection have."""
    keys = [window_key(identity, group="logs", select=select) for select in ("arrival", "interval")]

    assert keys == [arrival, interval]


def test_an_explicit_key_wins() -> None:
    """A key that the author gives stands before all that is inferred, without the spaces around it."""
    identity = run("scheduled", **INTERVAL_RUN, **PARTITION_RUN)

    assert window_key(identity, group="logs", select="interval", explicit=" 2026-week-46 ") == "2026-week-46"


@pytest.mark.parametrize("blank", ["", "  ", "\n"])
def test_a_blank_key_is_refused(blank: str) -> None:
    """A template that renders to nothing must not make all runs share one window."""
    with pytest.raises(OptionsError, match=r"shop\.logs: window is blank after rendering; give a key"):
        window_key(run("scheduled"), group="logs", select="arrival", explicit=blank)


def test_a_name_of_nothing_is_refused() -> None:
    """What a task returned that returns nothing would be the same for each run."""
    with pytest.raises(OptionsError, match="window is None after rendering; give a key"):
        window_key(run("scheduled"), group="logs", select="arrival", explicit="None")
    with pytest.raises(OptionsError, match="feed is None after rendering; give a name"):
        feed_name(run("scheduled"), group="logs", explicit="None")

    assert feed_name(run("scheduled"), group="logs", explicit=" logs\n") == "logs"


@pytest.mark.parametrize("facts", [{}, INTERVAL_RUN, PARTITION_RUN])
def test_a_mapped_task_has_a_key_of_its_own(facts: dict[str, Any]) -> None:
    """Whatever the key follows from; an explicit one is as it is given."""
    identity = run("scheduled", **facts)
    of_first, of_second = (replace(identity, map_index=index) for index in (0, 1))
    key = window_key(identity, group="logs", select="interval")

    assert window_key(of_first, group="logs", select="interval") == f"{key}/0"
    assert window_key(of_second, group="logs", select="interval") == f"{key}/1"
    assert window_key(of_first, group="logs", select="interval", explicit="k") == "k"


def test_keys_do_not_depend_on_the_time_zone() -> None:
    """One instant is one key, wherever the timetable lives."""
    zone = timezone(timedelta(hours=-5))
    shifted = {name: moment.astimezone(zone) for name, moment in INTERVAL_RUN.items()}

    assert window_key(run("scheduled", **shifted), group="logs", select="interval") == INTERVAL


def test_an_interval_is_nanoseconds_without_rounding() -> None:
    """Microseconds survive, which floating point seconds would lose."""
    start = DAY + timedelta(microseconds=1)
    identity = run("manual", data_interval_start=start, data_interval_end=NEXT)

    assert interval_ns(identity, select="interval") == (1794268800000001000, 1794355200000000000)
    assert interval_ns(identity, select="arrival") is None


@pytest.mark.parametrize("values", [{}, CRON_TRIGGER_RUN, PARTITION_RUN])
def test_a_run_without_interval_cannot_select_by_it(values: dict[str, object]) -> None:
    """A manual run, a cron trigger and a partition name no interval; the error says what to do."""
    with pytest.raises(OptionsError, match=r"run r1 has no data interval.*CronDataIntervalTimetable"):
        interval_ns(run("manual", **values), select="interval")


def test_only_a_backfill_of_an_arrival_feed_is_a_replay() -> None:
    """What arrives now cannot be backfilled; what is selected by time can."""
    found = {(kind, select) for kind in ("backfill", "scheduled", "manual") for select in ("arrival", "interval")}

    assert {pair for pair in found if is_replay(run(pair[0]), select=pair[1])} == {("backfill", "arrival")}
