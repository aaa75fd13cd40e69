"""Names of text encodings: which are known, and what kind each one is."""

from __future__ import annotations

import codecs
import encodings
import importlib

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
    msg = f"{kind}: encoding {name!r} is not read: use utf-8, binary, utf-16, utf-32 or a single-byte one (cp1252)"
    raise OptionsError(msg)


def is_single_byte(name: str) -> bool:
    """Tell whether every byte stands for one character, or for none, in the encoding that Python calls `name`.

    Only Python's own codecs that are a table of 256 characters are taken: trying bytes out cannot tell, since an
    encoding may keep its other meanings behind an escape sequence.
    """
    if name == "ascii":
        return True
    try:
        module = importlib.import_module(f"encodings.{encodings.normalize_encoding(name)}")
    except ImportError:
        return False
    return len(getattr(module, "decoding_table", "")) == len(_BYTES)


def characters(name: str) -> str:
    """Return the 256 characters of a single-byte encoding; U+FFFD where a byte stands for none."""
    return _BYTES.decode(name, "replace")


def is_framed_as_bytes(name: str) -> bool:
    """Tell whether a mark in a file of this encoding is the bytes that it encodes to, wherever they stand.

    So it is where bytes below 128 are ASCII, and no character has two bytes.
    """
    if name in {"utf-8", "binary"}:
        return True
    if name in UNIT_BYTES:
        return False
    known = characters(name).replace("\ufffd", "")
    return known.startswith(_BYTES[:128].decode("ascii")) and len(set(known)) == len(known)


def encode_text(kind: str, text: str | bytes, encoding: str) -> bytes:
    """Return what `text` is in a file of this encoding; bytes are taken as they are.

    Raises:
        OptionsError: when the encoding has no such character.
    """
    if isinstance(text, bytes):
        return text
    codec = {"binary": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}.get(encoding, encoding)
    try:
        return text.encode(codec)
    except UnicodeEncodeError as error:
        msg = f"{kind}: {text!r} cannot be written in {encoding} ({error.reason}); choose another text or encoding"
        raise OptionsError(msg) from error
