"""A digest of records that does not depend on how a file was split: the sum of a hash of each record's content.

The hash of a record is `mix(sum(byte[i] * BASE**i) + LENGTH * (length + 1))`, all modulo 2**64, where `mix` is the
finaliser of splitmix64; an empty record counts as well. The sum over a record's bytes is a difference of two prefix
sums over the buffer, times the inverse of BASE to the power of the record's offset, so no step handles a single record.
It detects mistakes, not forgery.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from airflow_provider_blockread.records.model import Chunk, Offsets

BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse
LENGTH = 0xD1B54A32D192ED03
MODULUS = 2**64

_TILE = 32 * 2**10  # bytes summed at once: arrays of 8 bytes each fit the processor's cache
_INVERSE = pow(BASE, -1, MODULUS)
_TILE_STEP = pow(BASE, _TILE, MODULUS)

Words = npt.NDArray[np.uint64]


def _powers(base: int) -> Words:
    powers = np.full(_TILE, base, np.uint64)
    powers[0] = 1
    return np.multiply.accumulate(powers)


_POWERS, _INVERSES = _powers(BASE), _powers(_INVERSE)


def digest_records(chunk: Chunk) -> int:
    """Return the sum of the hashes of all records' contents, modulo 2**64; sums of chunks add up, in any order."""
    return int(record_hashes(chunk).sum(dtype=np.uint64))


def record_hashes(chunk: Chunk) -> Words:
    """Return the hash of each record's content."""
    if not len(chunk.ends):
        return np.empty(0, np.uint64)
    marks = np.stack([chunk.begins, chunk.ends], axis=1).ravel()  # in ascending order
    prefix = _prefix_sums(chunk.buffer, marks)
    sums = (prefix[1::2] - prefix[0::2]) * _inverse_powers(chunk.begins)
    sums += (chunk.ends - chunk.begins + 1).astype(np.uint64) * np.uint64(LENGTH)
    return _mix(sums)


def _prefix_sums(buffer: bytes, marks: Offsets) -> Words:
    """Return for each mark the sum of `byte[i] * BASE**i` over all bytes before it, a tile at a time."""
    data = np.frombuffer(buffer, np.uint8)
    prefix = np.empty(len(marks), np.uint64)
    terms = np.empty(_TILE + 1, np.uint64)
    running, scale, done = 0, 1, 0
    for low in range(0, int(marks[-1]) + 1, _TILE):
        tile = data[low : low + _TILE]
        np.multiply(tile.astype(np.uint64), _POWERS[: len(tile)], out=terms[: len(tile)])
        terms[len(tile)] = 0
        upto = int(np.searchsorted(marks, low + _TILE))
        cuts = np.concatenate([[0], marks[done:upto] - low])
        sums = np.add.reduceat(terms[: len(tile) + 1], cuts)
        sums[:-1][cuts[1:] == cuts[:-1]] = 0  # for an empty range, reduceat returns the byte after it
        inner = np.cumsum(sums, dtype=np.uint64)
        prefix[done:upto] = inner[:-1] * np.uint64(scale) + np.uint64(running)
        running = (running + int(inner[-1]) * scale) % MODULUS
        scale, done = scale * _TILE_STEP % MODULUS, upto
    return prefix


def _inverse_powers(places: Offsets) -> Words:
    tiles, within = np.divmod(places, _TILE)
    step = pow(_INVERSE, _TILE, MODULUS)
    scales = np.array([pow(step, tile, MODULUS) for tile in range(int(tiles[-1]) + 1)], np.uint64)
    return scales[tiles] * _INVERSES[within]


def _mix(words: Words) -> Words:
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
