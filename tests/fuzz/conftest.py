"""Makes the formats of other tests importable by plain names, as a user's own module is where a job runs."""

from __future__ import annotations

import sys
from pathlib import Path

RECORDS = str(Path(__file__).parents[1] / "records")
if RECORDS not in sys.path:
    sys.path.insert(0, RECORDS)
