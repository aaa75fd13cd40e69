"""Hooks: Airflow's connections to the ledger, to stores and to Spark."""

from __future__ import annotations
