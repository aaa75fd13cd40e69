"""What a user's function does in a run that is to be killed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def waits_once(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Tell which processes it runs under, and wait to be killed; only in the first attempt."""
    mark = Path(os.environ["BLOCKREAD_TEST_MARKS"]) / "waiting.json"
    if not mark.exists():
        parents = {process.pid: process.name() for process in psutil.Process().parents()}
        hidden = mark.with_suffix(".new")
        hidden.write_text(json.dumps({"worker": os.getpid(), "parents": parents}), "utf-8")
        hidden.replace(mark)
        time.sleep(120)
    return batch


def waits_once_in_writing(records: DataFrame) -> DataFrame:
    """Wait to be killed as `waits_once` does, when the records are staged and their result is written."""

    def waiting(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from tests.crash.dying_functions import waits_once

        yield from map(waits_once, batches)

    return records.mapInArrow(waiting, records.schema)
