"""A function that Spark imports: `blockread_dots` names it as `dots:without_dots`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

if TYPE_CHECKING:
    from pyarrow import RecordBatch


def without_dots(batch: RecordBatch) -> RecordBatch:
    """Return the lines that do not start with a dot."""
    return batch.filter(pc.invert(pc.starts_with(batch["value"], ".")))
