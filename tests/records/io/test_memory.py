"""What reading takes in memory: a record and a buffer at most, whatever a file is full of."""

from __future__ import annotations

import gc
import io
import json
import subprocess
import sys
import weakref

import pytest

from airflow_provider_blockread.records.io.streaming import StreamSource
from tests.records.runs_in_memory import ENDING, ENDLESS, LIMIT, MIB

pytestmark = pytest.mark.slow

BUFFER = 72 * MIB  # a chunk as columns, its places, bad records, and what the allocator holds back


@pytest.fixture(scope="module")
def taken() -> list[int]:
    """Bytes that a process has taken at most, in addition, after each file."""
    command = [sys.executable, "-m", "tests.records.runs_in_memory"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    base, *peaks = json.loads(done.stdout)
    return [peak - base for peak in peaks]


@pytest.mark.parametrize("number", [pytest.param(i, id=f"{o.kind} {p!r}") for i, (o, p) in enumerate(ENDLESS)])
def test_a_record_without_end_takes_the_limit_and_a_buffer(taken: list[int], number: int) -> None:
    """Of a file whose first record does not end, little more than `max_record_bytes` is ever in memory."""
    assert taken[number] < LIMIT + BUFFER


@pytest.mark.parametrize("number", [pytest.param(i, id=f"{o.kind} {p!r}") for i, (o, p) in enumerate(ENDING)])
def test_records_of_next_to_nothing_take_a_buffer(taken: list[int], number: int) -> None:
    """A file of millions of records, bad ones too, takes the memory of some of them."""
    assert taken[len(ENDLESS) + number] < LIMIT + BUFFER


def test_a_decoder_goes_with_its_stream() -> None:
    """No cycle keeps a zstd decoder, whose window may take 128 MiB, until Python looks for cycles."""
    frame = b"\x28\xb5\x2f\xfd\x00\x88\x09\x00\x00a"  # a window of 128 MiB, and one byte
    gc.disable()
    try:
        source = StreamSource(io.BytesIO(frame), "zstd", name="a.zst")
        data, decoder = source.read(0, 10), weakref.ref(source._stream)
        del source
        assert (data, decoder()) == (b"a", None)
    finally:
        gc.enable()
