"""Addresses of the pages. Feeds and files are identified by number, since their names may contain any characters."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote, urlencode

STATIC = Path(__file__).with_name("static")


@cache
def static_version() -> str:
    """Return the query that names this version of the style sheets and scripts."""
    content = b"".join(file.read_bytes() for file in sorted(STATIC.iterdir()))
    return f"v={hashlib.sha256(content).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class Addresses:
    """Addresses of pages below `root`, the path where the application is mounted; empty for the server's own root."""

    root: str = ""

    def feeds(self) -> str:
        """Return the address of all feeds."""
        return f"{self.root}/"

    def search(self, query: str = "") -> str:
        """Return the address of a search."""
        return _asking(f"{self.root}/search", {"q": query or None})

    def health(self, ledger: str) -> str:
        """Return the address of a ledger's health."""
        return f"{self._ledger(ledger)}/health"

    def feed(self, ledger: str, feed: int) -> str:
        """Return the address of a feed."""
        return f"{self._ledger(ledger)}/feeds/{feed}"

    def window(self, ledger: str, window: str, generation: int | None = None) -> str:
        """Return the address of a window, or of one of its generations."""
        return _asking(f"{self._ledger(ledger)}/windows/{quote(window, safe='')}", {"generation": generation})

    def files(
        self, ledger: str, window: str, *, generation: int | None = None, bad: bool = False, file: int | None = None
    ) -> str:
        """Return the address of a window's files, or of those with bad records, after a file of this number."""
        asked = {"generation": generation, "bad": 1 if bad else None, "file": file}
        return _asking(self.window(ledger, window), asked) + "#files"

    def action(self, ledger: str, window: str, action: str, given: Mapping[str, str]) -> str:
        """Return the address of an action on a window, with what its page is asked for."""
        return _asking(f"{self.window(ledger, window)}/actions/{quote(action, safe='')}", given)

    def live(self, ledger: str, window: str) -> str:
        """Return the address of a window's progress, as JSON."""
        return f"{self.window(ledger, window)}/live"

    def file(self, ledger: str, file: int) -> str:
        """Return the address of a file version."""
        return f"{self._ledger(ledger)}/files/{file}"

    def blocks(self, ledger: str, file: int, first: int) -> str:
        """Return the address of the blocks of a file, from this number on."""
        return _asking(self.file(ledger, file), {"block": first}) + "#blocks"

    def records(self, ledger: str, file: int, offset: int, length: int | None = None) -> str:
        """Return the address of the bytes around an offset of a file, where a record of this length may begin."""
        return _asking(f"{self.file(ledger, file)}/records", {"at": offset, "length": length})

    def static(self, name: str) -> str:
        """Return the address of a style sheet or script, another one for each version of the package's files."""
        return f"{self.root}/static/{name}?{static_version()}"

    def _ledger(self, ledger: str) -> str:
        return f"{self.root}/ledgers/{quote(ledger, safe='')}"


def _asking(address: str, asked: Mapping[str, str | int | None]) -> str:
    query = urlencode({name: value for name, value in asked.items() if value is not None})
    return f"{address}?{query}" if query else address
