"""Functions on batches that misbehave until a file named `fixed` exists beside the landing folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

BAD = {"b.log", "h2026010101.log"}


def fail(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Raise on bad files."""
    path, fixed = _places(batch)
    if path.name in BAD and not fixed.exists():
        msg = f"{path.name} is not to my taste"
        raise ValueError(msg)
    return batch


def sleep(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Signal that the read has begun, and take an hour for it."""
    _, fixed = _places(batch)
    if not fixed.exists():
        fixed.with_name("asleep").touch()
        time.sleep(3600)
    return batch


def hold(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Leave a mark that the read has begun, and wait until it is `fixed`."""
    _, fixed = _places(batch)
    while not fixed.exists():
        fixed.with_name("asleep").touch()
        time.sleep(0.1)
    return batch


def linger(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Signal that the read has begun; the first one waits until it is `fixed`, another takes no time."""
    _, fixed = _places(batch)
    try:
        fixed.with_name("asleep").touch(exist_ok=False)
    except FileExistsError:
        return batch
    while not fixed.exists():
        time.sleep(0.1)
    return batch


def _places(batch: pa.RecordBatch) -> tuple[Path, Path]:
    path = Path(batch.column("_file")[0].as_py().removeprefix("file://"))
    return path, path.parent.parent / "fixed"
