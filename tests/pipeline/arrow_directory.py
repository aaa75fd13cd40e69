"""The sink that the documentation walks through, under the name by which Spark's workers import it."""

from __future__ import annotations

from tests.sinks import documented

__all__ = ["documented"]
