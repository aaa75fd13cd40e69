"""A data source that notes its listings and scans, to count those of one `load`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from airflow_provider_blockread.spark import register
from airflow_provider_blockread.spark.data_source.source import make_data_source

_FORMAT = '''
from pyspark import TaskContext
from quoted_lines import QuotedLines


class Noting(QuotedLines):
    """Writes down each range that it scans where tasks are planned."""

    def __init__(self, log):
        super().__init__()
        self._log = log

    def scan(self, source, start, end):
        if TaskContext.get() is None:
            with open(self._log, "a") as file:
                file.write(f"{start}-{end}\\n")
        return super().scan(source, start, end)
'''


def count_for_one_load(session: Any, folder: Path) -> tuple[list[int], list[str], list[str]]:
    """Return what queries of one `load` have counted, its listings, and the ranges that its planning scanned."""
    listed, scanned, module = folder / "listed", folder / "scanned", folder / "noting.py"
    module.write_text(_FORMAT)
    (folder / "in").mkdir()
    (folder / "in" / "a").write_text("".join(f'"{n}\n{n}"\n' for n in range(9)))

    def now() -> float:
        with listed.open("a") as file:
            file.write("listed\n")
        return time.time()

    register(session)
    for file in (Path(__file__).parents[2] / "records" / "quoted_lines.py", module):  # Spark 4.0 takes one at a time
        session.addArtifacts(str(file), pyfile=True)
    session.dataSource.register(type("Noting", (make_data_source({}),), {"now": staticmethod(now)}))
    try:
        options = {"format": "noting:Noting", "options": json.dumps({"log": str(scanned)}), "block_size": "12"}
        found = session.read.format("blockread").options(**options).load(str(folder / "in"))
        counts = [found.where(f"value >= '\"{least}'").count() for least in (0, 3, 9)]
        counts.append(found.join(found, "value").count())
    finally:
        register(session)
    return counts, listed.read_text().splitlines(), scanned.read_text().splitlines()
