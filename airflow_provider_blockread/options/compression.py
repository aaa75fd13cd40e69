"""Codecs: the compression of a file, by its name or by an option."""

from __future__ import annotations

#: Suffixes of compressed files, to the codec of each.
SUFFIXES = {
    ".gz": "gzip",
    ".gzip": "gzip",
    ".bz2": "bzip2",
    ".xz": "xz",
    ".zst": "zstd",
    ".zstd": "zstd",
}

_ANY = tuple(SUFFIXES)
_LONGEST = max(map(len, SUFFIXES))

#: Values of the option `compression`: by suffix, never, or one codec for all files.
COMPRESSIONS = ("auto", "none", "gzip", "bzip2", "xz", "zstd")


def codec_of(path: str, compression: str) -> str | None:
    """Return the codec of a file (`gzip`, `bzip2`, `xz`, `zstd`); None if it is not compressed."""
    if compression == "auto":
        if not path[-_LONGEST:].lower().endswith(_ANY):
            return None
        name = path.rpartition("/")[2].lower()
        return next((codec for suffix, codec in SUFFIXES.items() if name.endswith(suffix)), None)
    return None if compression == "none" else compression
