"""What a user's function does in a run that is to be killed."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import psutil
import pyarrow as pa


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
