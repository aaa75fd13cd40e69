"""The commands that a message names, taken from its own text."""

from __future__ import annotations

import re
import shlex

_COMMAND = re.compile(r"`blockread ([^`]*)`")


def commands(message: str) -> list[list[str]]:
    """Return the arguments of each `blockread ...` between backquotes in the message, in the order it names them."""
    return [shlex.split(found) for found in _COMMAND.findall(message)]
