"""Tasks that wait for files."""

from __future__ import annotations
