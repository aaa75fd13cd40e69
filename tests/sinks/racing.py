"""Something that happens between two calls of a table's library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from airflow_provider_blockread.sinks.tables import table


def racing(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let something happen once, between the reading of the table and the commit."""
    left = [act]
    changes = table.Table._changes

    def looked(self: Any, *arguments: Any) -> Any:
        found = changes(self, *arguments)
        if left:
            left.pop()()
        return found

    monkeypatch.setattr(table.Table, "_changes", looked)
