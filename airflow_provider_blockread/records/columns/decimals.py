"""Which texts fit a decimal type."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import pyarrow as pa
import pyarrow.compute as pc

_DIGITS = 38  # of Arrow's arithmetic


def require_room(texts: pa.StringArray, kind: pa.DataType) -> None:
    """Refuse texts that do not fit a decimal type where Arrow would silently lose digits.

    Raises:
        ArrowInvalid: when one does not fit.
    """
    long = pc.greater(pc.binary_length(texts), _DIGITS - kind.scale)
    exponents = pc.match_substring(texts, "e", ignore_case=True)
    for text in texts.filter(pc.or_(long, exponents)).unique().to_pylist():
        if not _is_decimal(text, kind):
            msg = f"{text!r} is not a {kind}"
            raise pa.ArrowInvalid(msg)


def _is_decimal(text: str, kind: pa.DataType) -> bool:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return False
    _, digits, exponent = number.as_tuple()
    if not number or not isinstance(exponent, int):  # zero, or NaN and infinities, which Arrow refuses
        return not number
    last = max(place for place, digit in enumerate(digits) if digit)
    lowest = exponent + len(digits) - 1 - last
    return bool(number.adjusted() < kind.precision - kind.scale and lowest >= -kind.scale)
