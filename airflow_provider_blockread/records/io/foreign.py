"""Files that are no text by their names or first bytes: of codecs that are not decoded here, and of other formats.

Read as text they would have records, and as long as their bytes are UTF-8 even good ones.
"""

from __future__ import annotations

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
_MAGICS = {
    b"PK\x03\x04": "zip",
    b"7z\xbc\xaf\x27\x1c": "7-zip",
    b"Rar!\x1a\x07": "rar",
    b"\x1f\x9d": "compress",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xff\x06\x00\x00sNaPpY": "snappy",
    b"PAR1\x15": "Parquet",  # a header of csv may begin with PAR1
    b"Obj\x01": "Avro",
    b"SEQ\x06": "SequenceFile",
}
#: How files that are no text begin, as far as that tells them from text.
HEADS = tuple(_MAGICS)


def foreign_name(path: str) -> str | None:
    """Return of what a file is by its name, if it is no text, or None."""
    if not path[-_LONGEST:].lower().endswith(_ANY):
        return None
    name = path.lower()
    return next(kind for suffix, kind in _SUFFIXES.items() if name.endswith(suffix))


def foreign_head(head: bytes) -> str | None:
    """Return of what a file is by its first bytes, if it is no text, or None."""
    return next((kind for magic, kind in _MAGICS.items() if head.startswith(magic)), None)
