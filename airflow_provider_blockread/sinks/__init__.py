"""Sinks: where records go. Groups write files; publishing makes those that a proof has accepted visible to readers."""

from __future__ import annotations

from airflow_provider_blockread.exchange.model import OutputFile, Target
from airflow_provider_blockread.sinks.conform import conform
from airflow_provider_blockread.sinks.directory import Directory
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import (
    Access,
    Applied,
    Change,
    Earlier,
    Marker,
    RecordSink,
    State,
    Step,
    Writer,
)
from airflow_provider_blockread.sinks.staging import explained

__all__ = [
    "Access",
    "Applied",
    "AttemptName",
    "Change",
    "Directory",
    "Earlier",
    "Marker",
    "OutputFile",
    "RecordSink",
    "State",
    "Step",
    "Target",
    "Writer",
    "conform",
    "explained",
]
