"""What Airflow's connections turn into: the ledger, stores with credentials, and Spark applications."""

from __future__ import annotations
