"""Sizes and counts as people write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from itertools import islice

from airflow_provider_blockread.errors import OptionsError

_UNITS = {
    "": 1, "b": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip
_STEP = 1000.0
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*")
_NUMBER_OR_SHARE = re.compile(r"\s*(?:([0-9]+)|([0-9]+(?:\.[0-9]+)?)\s*%)\s*")
_ALL = 100  # percent


def parse_size(text: str | int) -> int:
    """Return a size in bytes from a number or from text such as `64MiB`, `1.5GB` or `4096`.

    Raises:
        OptionsError: when the text is not a size, or is not positive.
    """
    match = _SIZE.fullmatch(str(text))
    unit = match[2].lower() if match else None
    if match is None or unit not in _UNITS:
        msg = f"{text!r} is not a size; write bytes as 4096, 64KiB, 64MiB or 1.5GB"
        raise OptionsError(msg)
    size = int(float(match[1]) * _UNITS[unit]) if "." in match[1] else int(match[1]) * _UNITS[unit]
    if size < 1:
        msg = f"{text!r} is not a size: it must be at least 1 byte"
        raise OptionsError(msg)
    return size


def most_of(text: str | int, whole: int) -> Decimal:
    """Return how many of `whole` are allowed by a number, or by text such as `100` or `0.1%`.

    Raises:
        OptionsError: when the text is neither a number nor a share up to 100%.
    """
    match = _NUMBER_OR_SHARE.fullmatch(str(text))
    if match is None or (match[2] and Decimal(match[2]) > _ALL):
        msg = f"{text!r} is neither a number nor a share of all; write 100 or 0.1%"
        raise OptionsError(msg)
    return Decimal(match[1]) if match[1] else Decimal(match[2]) * whole / _ALL


def format_bytes(size: float) -> str:
    """Return a size as readable text in decimal units: `64 B`, `1.5 MB`, `3.2 GB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < _STEP:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= _STEP
    return f"{size:.1f} TB"


def plural(count: float, one: str, many: str = "") -> str:
    """Return a count with its noun: `1 file`, `3 files`."""
    return f"{count:,.0f} {one if count == 1 else many or one + 's'}"


def first_of(names: Iterable[str], most: int, *, between: str = ", ") -> str:
    """Return the first names, and how many others there are: `a, b and 3 more`."""
    rest = iter(names)
    shown = between.join(islice(rest, most))
    more = sum(1 for _ in rest)
    return f"{shown} and {more:,} more" if more else shown
