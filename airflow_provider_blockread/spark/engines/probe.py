"""A task that examines a Spark Connect server's Python, and needs only the standard library and pyarrow."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

#: The schema of the rows that `probe` yields.
FOUND = "found string"

_NEEDED = ("fsspec", "numpy", "pyarrow")


def probe(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield one row: the minor version of this Python, and the packages that it lacks; runs on executors."""
    import pyarrow as pa  # noqa: PLC0415 - may be missing

    for _ in batches:
        found = {
            "python": "{}.{}".format(*sys.version_info),
            "missing": [name for name in _NEEDED if find_spec(name) is None],
        }
        yield pa.RecordBatch.from_pydict({"found": [json.dumps(found)]})
