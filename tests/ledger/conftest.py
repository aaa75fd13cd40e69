"""One ledger a test, on SQLite and on a real PostgreSQL."""

from __future__ import annotations

from tests.ledger.fixtures import clock, ledger, url

__all__ = ["clock", "ledger", "url"]
