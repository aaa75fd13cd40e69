"""Where the remedies of options, blocks, records and storage are carried out."""

from __future__ import annotations

from tests.remedies.catalog import Entry

CATALOG: list[Entry] = []
