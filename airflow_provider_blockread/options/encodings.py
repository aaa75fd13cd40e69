"""Names of text encodings: which are known, and what kind each one is."""

from __future__ import annotations

import codecs

from airflow_provider_blockread.errors import OptionsError

#: Bytes a code unit takes in the encodings whose units are wider than a byte. `utf-16` and `utf-32` ask the file's
#: byte order mark for the order.
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
    """Return the one name of an encoding: `utf-8`, `binary` (bytes as they are), a wide one, or a single-byte one.

    Raises:
        OptionsError: when Python does not know it, or a character takes several bytes that are no code units.
    """
    if name.lower() == "binary":
        return "binary"
    try:
        found = codecs.lookup(name).name
    except LookupError as error:
        msg = f"{kind}: unknown encoding {name!r}; use utf-8, binary, utf-16, utf-32 or a single-byte one"
        raise OptionsError(msg) from error
    if found in {"utf-8", "utf-8-sig"}:
        return "utf-8"
    if found in UNIT_BYTES or is_single_byte(found):
        return found
    msg = f"{kind}: encoding {name!r} is not read: use utf-8, binary, utf-16, utf-32 or a single-byte one (cp1252)"
    raise OptionsError(msg)


def is_single_byte(name: str) -> bool:
    """Tell whether every byte stands for one character, or for none, in the encoding that Python calls `name`."""
    try:
        return len(_BYTES.decode(name, "replace")) == len(_BYTES) and all(
            len(bytes([byte]).decode(name, "replace")) == 1 for byte in (0x20, 0x80, 0xFF)
        )
    except (LookupError, UnicodeError, AttributeError):
        return False


def is_ascii_based(name: str) -> bool:
    """Tell whether the bytes below 128 are ASCII in an encoding of single-byte units."""
    return name in {"utf-8", "binary"} or (name not in UNIT_BYTES and _BYTES[:128].decode(name, "replace").isascii())


def encode_text(kind: str, text: str | bytes, encoding: str) -> bytes:
    """Return what `text` is in a file of this encoding; bytes are taken as they are.

    Raises:
        OptionsError: when the encoding has no such character.
    """
    if isinstance(text, bytes):
        return text
    try:
        return text.encode("utf-8" if encoding == "binary" else encoding)
    except UnicodeEncodeError as error:
        msg = f"{kind}: {text!r} cannot be written in {encoding} ({error.reason}); choose another one"
        raise OptionsError(msg) from error
