"""Everything that a pipeline imports, also what it imports late: a process forked from this one imports nothing."""

from __future__ import annotations

import gc
import importlib

from tests.crash.sites import all_sites

LATE = (
    "adbc_driver_postgresql.dbapi",
    "airflow_provider_blockread.sinks.tables.delta.table",
    "airflow_provider_blockread.sinks.tables.iceberg.table",
    "airflow_provider_blockread.sinks.tables.postgres.table",
    "alembic.command",
    "alembic.runtime.migration",
    "psycopg",
    "pyarrow.dataset",
    "pyiceberg.catalog.sql",
    "sqlalchemy.dialects.postgresql.psycopg",
)

for name in ("tests.crash.cases", *LATE):
    importlib.import_module(name)

all_sites()  # reads the code, once for all
gc.freeze()  # what is here stays, and a collection would only copy the pages that are shared
