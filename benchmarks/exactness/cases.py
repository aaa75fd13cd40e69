"""All files that are hard to split."""

from __future__ import annotations

from benchmarks.exactness.case import Case
from benchmarks.exactness.csv_cases import csv_cases
from benchmarks.exactness.json_cases import json_cases
from benchmarks.exactness.text_cases import text_cases


def all_cases() -> tuple[Case, ...]:
    """Return the cases, in the order of the table."""
    return (*csv_cases(), *text_cases(), *json_cases())
