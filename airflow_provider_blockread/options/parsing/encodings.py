"""Text encodings: which are supported, and the kind of each."""

from __future__ import annotations

import codecs
import encodings
import importlib

from airflow_provider_blockread.errors import OptionsError

#: Bytes of a code unit, for encodings whose units are wider than a byte. The byte order mark of a file decides the
#: order of `utf-16` and `utf-32`.
UNIT_BYTES = {
    "utf-16": 2,
    "utf-16-le": 2,
    "utf-16-be": 2,
    "utf-32": 4,
    "utf-32-le": 4,
    "utf-32-be": 4,
}
_BYTES = bytes(range(256))


def normal_encoding(kind: str, name: str) -> str:
    """Return the normal name of an encoding: `utf-8`, `binary` (unchanged bytes), a wide or a single-byte encoding.

    Raises:
        OptionsError: when Python does not know the encoding, or it is a multi-byte encoding other than UTF.
    """
    if isinstance(name, str) and name.lower() == "binary":
        return "binary"
    try:
        found = codecs.lookup(name).name
    except (LookupError, TypeError, ValueError) as error:
        msg = f"{kind}: unknown encoding {name!r}; use utf-8, binary, utf-16, utf-32 or a single-byte one (cp1252)"
        raise OptionsError(msg) from error
    if found in {"utf-8", "utf-8-sig"}:
        return "utf-8"
    if found in UNIT_BYTES or is_single_byte(found):
        return found
    msg = f"{kind}: encoding {name!r} is not supported: use utf-8, binary, utf-16, utf-32 or a single-byte one (cp1252)"
    raise OptionsError(msg)


def is_single_byte(name: str) -> bool:
    """Return whether every byte is at most one character in the encoding with this Python name.

    It must be one of Python's codecs that are a table of 256 characters. Decoding each byte would not be a sufficient
    test, because an encoding may give bytes other meanings after an escape sequence.
    """
    if name == "ascii":
        return True
    try:
        module = importlib.import_module(f"encodings.{encodings.normalize_encoding(name)}")
    except ImportError:
        return False
    return len(getattr(module, "decoding_table", "")) == len(_BYTES)


def characters(name: str) -> str:
    """Return the 256 characters of a single-byte encoding; U+FFFD for a byte that is not a character."""
    return _BYTES.decode(name, "replace")


def is_framed_as_bytes(name: str) -> bool:
    """Return whether the encoded bytes of a mark are that mark wherever they occur in a file of this encoding.

    This holds if bytes below 128 are ASCII, and no character has two encodings.
    """
    if name in {"utf-8", "binary"}:
        return True
    if name in UNIT_BYTES:
        return False
    known = characters(name).replace("\ufffd", "")
    return known.startswith(_BYTES[:128].decode("ascii")) and len(set(known)) == len(known)


def encode_text(kind: str, text: str | bytes, encoding: str) -> bytes:
    """Return the text encoded as in a file of this encoding; bytes are returned unchanged.

    Raises:
        OptionsError: when the encoding lacks one of the text's characters.
    """
    if isinstance(text, bytes):
        return text
    codec = {"binary": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}.get(encoding, encoding)
    try:
        return text.encode(codec)
    except UnicodeEncodeError as error:
        msg = f"{kind}: {text!r} cannot be written in {encoding} ({error.reason}); choose another text or encoding"
        raise OptionsError(msg) from error
