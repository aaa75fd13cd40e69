"""Options that are given as text, as on a command line: numbers, booleans, lists, pairs, and bytes with escapes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import get_args, get_origin

from airflow_provider_blockread.errors import OptionsError

_COMMA = re.compile(r",(?![^()]*\))")  # except inside parentheses
_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|[\x20-\x7e]|(?=[^\x20-\x7e])|$)")
_ESCAPES = {rb"\n": b"\n", rb"\r": b"\r", rb"\t": b"\t", rb"\0": b"\0", rb"\\": b"\\"}


def from_text(name: str, text: str, hint: object) -> object:
    """Return the value that an option of this type hint has by this text.

    Raises:
        OptionsError: with the option's name.
    """
    if get_origin(hint) is Sequence:
        return tuple(filter(None, _COMMA.split(text)))
    if get_origin(hint) is Mapping:
        return _pairs(name, text)
    accepted = get_args(hint) or (hint,)
    if bytes in accepted:
        return None if not text and type(None) in accepted else _unescape(name, text)
    if bool in accepted:
        return truth(name, text)
    for number, what in ((int, "a whole number"), (float, "a number")):
        if number in accepted and str not in accepted:
            try:
                return number(text)
            except ValueError as error:
                msg = f"option {name}={text!r} must be {what}"
                raise OptionsError(msg) from error
    return text


def truth(name: str, text: str) -> bool:
    """Return whether a text is `true`, and not `false`.

    Raises:
        OptionsError: for any other text, with the option's name.
    """
    if text.lower() not in {"true", "false"}:
        msg = f"option {name}={text!r} must be true or false"
        raise OptionsError(msg)
    return text.lower() == "true"


def _pairs(name: str, text: str) -> dict[str, str]:
    pairs = [pair.rpartition("=") for pair in filter(None, text.split(","))]
    if wrong := next((value for key, _, value in pairs if not key), None):
        msg = f"option {name}: {wrong!r} must be name=value; write several as {name}=one=x,two=y"
        raise OptionsError(msg)
    return {key: value for key, _, value in pairs}


def _unescape(name: str, text: str) -> str | bytes:
    """Return the text with its escapes replaced; bytes if the result is not UTF-8."""

    def replace(match: re.Match[bytes]) -> bytes:
        if match[1]:
            return bytes.fromhex(match[1].decode())
        if match[0] in _ESCAPES:
            return _ESCAPES[match[0]]
        msg = f"option {name}={text!r} has an unknown escape {match[0].decode()!r}; write a backslash as two"
        raise OptionsError(msg)

    data = _ESCAPE.sub(replace, text.encode())
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data
