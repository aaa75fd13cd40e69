"""Functions on batches that misbehave until a file named `mended` stands beside the landing folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def fail(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Raise on the file `b.log`."""
    path, mended = _places(batch)
    if path.name == "b.log" and not mended.exists():
        msg = "b.log is not to my taste"
        raise ValueError(msg)
    return batch


def sleep(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Tell that the read has begun, and take an hour for it."""
    _, mended = _places(batch)
    if not mended.exists():
        mended.with_name("asleep").touch()
        time.sleep(3600)
    return batch


def _places(batch: pa.RecordBatch) -> tuple[Path, Path]:
    path = Path(batch.column("_file")[0].as_py().removeprefix("file://"))
    return path, path.parent.parent / "mended"
