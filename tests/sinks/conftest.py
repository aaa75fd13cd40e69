"""What of the sinks' tests `make unit` leaves out: a real server, and kinds that repeat what others do."""

from __future__ import annotations

import pytest

_FIRST = ("parquet", "text", "json_lines", "csv")  # kinds whose suite takes seconds


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark tests that use PostgreSQL, and suites of the slower kinds."""
    if "postgres" in item.nodeid.lower():
        item.add_marker("postgres")
    suite = item.cls.__name__.removeprefix("Test ").removeprefix("laws of ").split()[0] if _is_suite(item) else ""
    if suite and suite not in _FIRST:
        item.add_marker("slow")


def _is_suite(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and item.cls is not None and item.path.name == "test_behaviour.py"
