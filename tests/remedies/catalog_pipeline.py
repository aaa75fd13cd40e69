"""Where the remedies of the pipeline are carried out: ledger, steps, exchange, sinks, spark, Airflow and commands."""

from __future__ import annotations

from tests.remedies.catalog import Entry

CATALOG: list[Entry] = []
