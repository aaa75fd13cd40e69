"""The digest of records: the same for every split, and the hash that its docstring defines."""

from __future__ import annotations

import io
from itertools import pairwise

import pytest
from every_format import FORMATS, Case, of_files
from hypothesis import assume, given
from hypothesis import strategies as st

from airflow_provider_blockread.records import scan_block
from airflow_provider_blockread.records.digest import BASE, LENGTH, MODULUS, digest_records
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.walking import WalkLimits, first_start, walk_block
from tests.records.reading_here import walk

LINES = FORMATS[0]
some_formats = pytest.mark.parametrize("case", [pytest.param(c, id=c.id) for c in FORMATS[::4]])


def scalar_hash(record: bytes) -> int:
    """Return one record's hash, byte by byte."""
    word = 0
    for byte in reversed(record):
        word = (word * BASE + byte) % MODULUS
    word = (word + LENGTH * (len(record) + 1)) % MODULUS
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % MODULUS
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % MODULUS
    return word ^ (word >> 31)


def digest(case: Case, data: bytes, start: int, end: int, chunk: int = 2**20) -> int:
    """Return the digest of a block."""
    source, fmt = open_source(io.BytesIO(data), case.fmt)
    state = scan_block(io.BytesIO(data), 0, start, case.fmt)(case.fmt.initial_state)
    first = first_start(source, fmt, start, state)
    chunks = walk_block(source, fmt, first, end, WalkLimits(chunk_bytes=chunk))
    return sum(map(digest_records, chunks)) % MODULUS


def expected(case: Case, data: bytes) -> int:
    """Return the sum of the scalar hashes of a file's records, without unescaping."""
    chunks = walk(case.fmt, data, 0, len(data))[2]
    return sum(scalar_hash(chunk.record(i)) for chunk in chunks for i in range(len(chunk.starts))) % MODULUS


@some_formats
@of_files(30)
@given(draw=st.data(), chunk=st.integers(1, 40))
def test_the_digest_does_not_depend_on_the_split(case: Case, draw: st.DataObject, chunk: int) -> None:
    """Two blocks that meet anywhere, read in chunks of any size, add up to the sum of the scalar hashes."""
    data = draw.draw(case.files())
    assume(case.records(data) is not None)
    total = expected(case, data)
    for split in range(len(data) + 1):
        parts = [digest(case, data, low, high, chunk) for low, high in pairwise([0, split, len(data)])]

        assert sum(parts) % MODULUS == total


@pytest.mark.parametrize("around", [32 * 2**10, 64 * 2**10])
def test_records_across_the_borders_of_tiles_hash_alike(around: int) -> None:
    """Records that begin or end near the border of two tiles, and empty ones, have the scalar hash."""
    for size in range(around - 3, around + 4):
        for data in (b"\x01" * size, b"y" * size + b"\n", b"z" * size + b"\n\nabc\n" + b"x" * size):
            assert digest(LINES, data, 0, len(data)) == expected(LINES, data)


def test_any_changed_lost_or_doubled_record_shows() -> None:
    """The digest detects a flipped bit, a swapped byte, a moved border, a lost and a doubled record, also of zeros."""
    data = b"alpha\nbeta\n\x00\n\x00\x00\ngamma\n"
    others = [
        b"alphb\nbeta\n\x00\n\x00\x00\ngamma\n",
        b"alhpa\nbeta\n\x00\n\x00\x00\ngamma\n",
        b"alphab\neta\n\x00\n\x00\x00\ngamma\n",
        b"alpha\nbeta\n\x00\n\x00\ngamma\n",
        b"beta\n\x00\n\x00\x00\ngamma\n",
        b"alpha\nalpha\nbeta\n\x00\n\x00\x00\ngamma\n",
        b"alpha\nbeta\n\x00\n\x00\x00\ngamma\n\n",
    ]

    assert len({digest(LINES, d, 0, len(d)) for d in [data, *others]}) == len(others) + 1


def test_the_order_of_records_does_not_matter() -> None:
    """The digest is a sum: the same records in another order, or in another file, have the same."""
    assert digest(LINES, b"a\nb\nc", 0, 5) == digest(LINES, b"c\nb\na\n", 0, 6)
