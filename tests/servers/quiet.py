"""A file of a store that returns less than it is asked for."""

from __future__ import annotations

from http.server import SimpleHTTPRequestHandler


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder without ranges, as Python's server does, and without a log."""

    def log_message(self, *_arguments: object) -> None:
        """Log nothing."""
