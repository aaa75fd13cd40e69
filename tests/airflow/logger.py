"""The log of an Airflow hook, kept."""

from __future__ import annotations


class Logger:
    """Keeps what a hook logs."""

    def __init__(self, lines: list[str]) -> None:
        """Take where lines go."""
        self.lines = lines

    def info(self, message: str, *values: object) -> None:
        """Keep a line."""
        self.lines.append(message % values if values else message)

    error = warning = debug = info
