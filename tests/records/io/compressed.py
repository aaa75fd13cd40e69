"""The same data under each codec."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable

import pyarrow as pa
import pytest

DATA = b"one line\ntwo lines\n\nand a last one without an end"


# What `zstd --check` makes of it: the frames that Arrow writes carry no checksum.
ZSTD = bytes.fromhex(
    "28b52ffd24314501001203090cd03de0040951ce02a0f44a0cf2f1c3a94759ebf93931cc617900e0bcccb709f332cf2f00dba32f82"
)


def _zstd(data: bytes) -> bytes:
    return ZSTD if data == DATA else bytes(pa.compress(data, codec="zstd", asbytes=True))


CODECS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": _zstd,
}


each_codec = pytest.mark.parametrize("codec", CODECS)
