"""Addresses of the pages. Feeds and files are identified by number, since their names may contain any characters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode


@dataclass(frozen=True, slots=True)
class Addresses:
    """Addresses of pages below `root`, the path where the application is mounted; empty for the server's own root."""

    root: str = ""

    def feeds(self) -> str:
        """Return the address of all feeds."""
        return f"{self.root}/"

    def search(self, query: str = "") -> str:
        """Return the address of a search."""
        return f"{self.root}/search" + (f"?{urlencode({'q': query})}" if query else "")

    def health(self, ledger: str) -> str:
        """Return the address of a ledger's health."""
        return f"{self._ledger(ledger)}/health"

    def feed(self, ledger: str, feed: int) -> str:
        """Return the address of a feed."""
        return f"{self._ledger(ledger)}/feeds/{feed}"

    def window(self, ledger: str, window: str) -> str:
        """Return the address of a window."""
        return f"{self._ledger(ledger)}/windows/{quote(window, safe='')}"

    def action(self, ledger: str, window: str, action: str, given: Mapping[str, str]) -> str:
        """Return the address of an action on a window, with what its page is asked for."""
        address = f"{self.window(ledger, window)}/actions/{quote(action, safe='')}"
        return f"{address}?{urlencode(given)}"

    def live(self, ledger: str, window: str) -> str:
        """Return the address of a window's progress, as JSON."""
        return f"{self.window(ledger, window)}/live"

    def file(self, ledger: str, file: int) -> str:
        """Return the address of a file version."""
        return f"{self._ledger(ledger)}/files/{file}"

    def records(self, ledger: str, file: int, offset: int) -> str:
        """Return the address of the bytes around an offset of a file."""
        return f"{self.file(ledger, file)}/records?{urlencode({'at': offset})}"

    def static(self, name: str) -> str:
        """Return the address of a style sheet or script."""
        return f"{self.root}/static/{name}"

    def _ledger(self, ledger: str) -> str:
        return f"{self.root}/ledgers/{quote(ledger, safe='')}"
