"""Plan, scan, read, commit: the steps of a window as plain functions, called by Airflow's operators and by the CLI.

They know nothing about Airflow, and use Spark only through a `Submitter`.
"""

from __future__ import annotations

from airflow_provider_blockread.steps.commit.committing import commit
from airflow_provider_blockread.steps.model import (
    Caller,
    Environment,
    PlanRequest,
    Published,
    ReadOutcome,
    Submitter,
    WindowRef,
)
from airflow_provider_blockread.steps.plan.planning import plan
from airflow_provider_blockread.steps.read.deferring import DeferredRead, DeferredScan
from airflow_provider_blockread.steps.read.groups import read
from airflow_provider_blockread.steps.read.scanning import scan
from airflow_provider_blockread.steps.read.waiting import Waiting

__all__ = [
    "Caller",
    "DeferredRead",
    "DeferredScan",
    "Environment",
    "PlanRequest",
    "Published",
    "ReadOutcome",
    "Submitter",
    "Waiting",
    "WindowRef",
    "commit",
    "plan",
    "read",
    "scan",
]
