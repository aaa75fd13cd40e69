"""Everything that a pipeline imports, also late, and does only once: a process forked from this one does none of it."""

from __future__ import annotations

import gc
import importlib

from airflow_provider_blockread import heap
from airflow_provider_blockread.steps.upkeep.pruning import PruneRequest, prune
from tests.crash.doomed import Doomed, open_files, strays
from tests.crash.scenarios.making import FILES
from tests.crash.server import quick_folder
from tests.crash.sites import all_sites
from tests.postgres import new_ledger

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
    "tests.crash.cases",
)


def _run() -> None:
    """Publish, rebuild and prune a window: most statements of all scenarios are compiled then."""
    with quick_folder() as folder:
        pipe = Doomed(folder=folder, url=new_ledger(f"sqlite:///{folder / 'ledger.db'}"))
        pipe.put_old(FILES)
        for key, clear_number in (("w", 0), ("w", 1), ("next", 0)):
            pipe.run(key, clear_number=clear_number)
        assert not [*strays(pipe), *open_files(pipe)]
        prune(pipe.env, PruneRequest(older_than=0, keep=0, feed=pipe.feed))
        pipe.close()


for name in LATE:
    importlib.import_module(name)

all_sites()  # reads the code, once for all
_run()
gc.freeze()  # what is here stays, and a collection would only copy the pages that are shared
heap._is_frozen = lambda _: True  # type: ignore[assignment] # to count what is frozen takes each process 20 ms
