"""The end of a zstd file's frames, found from their headers, for an error message.

A frame is a header, blocks that begin with their sizes in 3 bytes, and an optional checksum (RFC 8878).
"""

from __future__ import annotations

from airflow_provider_blockread.records.io.source import ByteSource

MAGIC = b"\x28\xb5\x2f\xfd"
#: The magic numbers of skippable frames, which contain application data.
SKIPPABLE = tuple(bytes((0x50 + number, 0x2A, 0x4D, 0x18)) for number in range(16))

_WORD, _BLOCK_HEAD = 4, 3  # bytes
_DICTIONARY_BYTES = (0, 1, 2, 4)
_SIZE_BYTES = (0, 2, 4, 8)
_SINGLE_SEGMENT, _CHECKSUM = 0x20, 0x04
_RLE = 1  # a block of one byte, repeated


def end_of_frames(raw: ByteSource) -> int:
    """Return where the frames at the start of a file, all of which are complete, end and other data begin."""
    position = 0
    while position < raw.size:
        magic = raw.read(position, position + _WORD)
        if magic == MAGIC:
            position = _end_of_frame(raw, position + _WORD)
        elif magic in SKIPPABLE:
            position += 2 * _WORD + _number(raw, position + _WORD, _WORD)
        else:
            break
    return min(position, raw.size)


def _end_of_frame(raw: ByteSource, position: int) -> int:
    flags = _number(raw, position, 1)
    single = bool(flags & _SINGLE_SEGMENT)
    position += 1 + (not single) + _DICTIONARY_BYTES[flags & 3] + (_SIZE_BYTES[flags >> 6] or single)
    last = 0
    while not last and position < raw.size:
        head = _number(raw, position, _BLOCK_HEAD)
        last, kind, size = head & 1, head >> 1 & 3, head >> 3
        position += _BLOCK_HEAD + (1 if kind == _RLE else size)
    return position + _WORD * bool(flags & _CHECKSUM)


def _number(raw: ByteSource, position: int, size: int) -> int:
    return int.from_bytes(raw.read(position, position + size), "little")
