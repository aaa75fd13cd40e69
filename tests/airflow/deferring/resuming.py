"""A deferred task that Airflow resumes to fail it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from airflow.sdk.bases.operator import TRIGGER_FAIL_REPR, TriggerFailureReason

from airflow_provider_blockread.operators.deferring import DeferrableOperator

TIMEOUT = {"error": TriggerFailureReason.TRIGGER_TIMEOUT.value}
OWNER = "d/r/t/0"  # of the task


def resume(operator: DeferrableOperator, event: dict[str, Any]) -> None:
    """Resume a deferred task as Airflow does that has something to fail it for."""
    names = ("run_type", "partition_key", "partition_date", "data_interval_start", "data_interval_end")
    run = SimpleNamespace(**dict.fromkeys(names), clear_number=0, dag_id="d", run_id="r")
    instance = SimpleNamespace(dag_id="d", run_id="r", task_id="t", map_index=0)
    operator.resume_execution(TRIGGER_FAIL_REPR, event, {"dag_run": run, "ti": instance})  # type: ignore[typeddict-item]
