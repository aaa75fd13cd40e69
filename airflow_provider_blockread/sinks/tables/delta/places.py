"""Places in Delta tables, which deltalake spells as URLs."""

from __future__ import annotations

from urllib.parse import unquote

from airflow_provider_blockread.storage import uris


def unescaped(listed: str) -> str:
    """Return the canonical URI of a file for the one by which the library lists it."""
    return uris.canonical(unquote(listed))
