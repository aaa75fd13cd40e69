"""Which texts fit a decimal type."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

import pyarrow as pa
import pyarrow.compute as pc

#: A pattern of numbers that may have fractions.
NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"

_DIGITS = 38  # of Arrow's arithmetic
_IS_NUMBER = re.compile(NUMBER).fullmatch


def require_room(texts: pa.StringArray, kind: pa.DataType) -> None:
    """Refuse texts that do not fit a decimal type where Arrow would silently lose digits.

    Raises:
        ArrowInvalid: when one does not fit.
    """
    long = pc.greater(pc.binary_length(texts), _DIGITS - kind.scale)
    exponents = pc.match_substring(texts, "e", ignore_case=True)
    for text in texts.filter(pc.or_(long, exponents)).unique().to_pylist():
        if not fits_decimal(text, kind):
            msg = f"{text!r} is not a {kind}"
            raise pa.ArrowInvalid(msg)


def fits_decimal(text: str, kind: pa.DataType) -> bool:
    """Return whether a text is a number that the type preserves; Arrow refuses all others, and some zeros."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return False
    if not number or not _IS_NUMBER(text):  # as `NaN` and `1_0` are not
        return not number
    _, digits, exponent = number.as_tuple()
    last = max(place for place, digit in enumerate(digits) if digit)
    lowest = int(exponent) + len(digits) - 1 - last
    return bool(number.adjusted() < kind.precision - kind.scale and lowest >= -kind.scale)
