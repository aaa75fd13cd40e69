"""Files that are no text: of codecs that are not decoded here, and of other formats.

Read as text they would have records, and as long as their bytes are UTF-8 even good ones.
"""

from __future__ import annotations

import codecs
import re

#: First bytes of a file that tell whether it is text: those of a tar are a name and zeros.
HEAD_BYTES = 512

_SUFFIXES = {
    ".snappy": "snappy",
    ".lz4": "lz4",
    ".lzo": "lzo",
    ".lzma": "lzma",
    ".deflate": "deflate",
    ".zip": "zip",
    ".7z": "7-zip",
    ".rar": "rar",
    ".xlsx": "Excel",
    **dict.fromkeys((".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst"), "tar"),
    ".parquet": "Parquet",
    ".orc": "ORC",
    ".avro": "Avro",
}
_ANY, _LONGEST = tuple(_SUFFIXES), max(map(len, _SUFFIXES))
#: Patterns of first bytes; a header of csv may begin with PAR1, and control bytes separate columns of Hive.
_HEADS = {
    "zip": rb"PK\x03\x04",
    "7-zip": rb"7z\xbc\xaf\x27\x1c",
    "rar": rb"Rar!\x1a\x07",
    "compress": rb"\x1f\x9d[\x89-\x90]",
    "lz4": rb"\x04\x22\x4d\x18",
    "snappy": rb"\xff\x06\x00\x00sNaPpY",
    "Parquet": rb"PAR1\x15[\x00\x04\x06]\x15",
    "Avro": rb"Obj\x01[\x02\x04\x06\x08].[a-z]",
    "SequenceFile": rb"SEQ\x06.(?:org|com|net|io)\.",
}
_HEAD = re.compile(b"|".join(b"(%b)" % pattern for pattern in _HEADS.values()), re.DOTALL)
_CONTROL = re.compile("[\0-\x08\x0e-\x1a\x1c-\x1f]")


def is_text(head: bytes, encoding: str) -> bool:
    """Return whether a file's first bytes are text without control characters."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeError:
        return False
    return _CONTROL.search(text) is None


def foreign_name(path: str) -> str | None:
    """Return of what a file is by its name, if that is the name of no text, or None."""
    if not path[-_LONGEST:].lower().endswith(_ANY):
        return None
    name = path.lower()
    return next(kind for suffix, kind in _SUFFIXES.items() if name.endswith(suffix))


def foreign_head(head: bytes) -> str | None:
    """Return of what a file is by its first bytes, if it is no text, or None."""
    found = _HEAD.match(head)
    return None if found is None else list(_HEADS)[(found.lastindex or 1) - 1]
