"""The memory of reading: at most a record and a buffer, whatever the file."""

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

BUFFER = 72 * MIB  # a chunk as columns, its offsets, bad records, and memory kept by the allocator


@pytest.fixture(scope="module")
def taken() -> list[int]:
    """The additional peak memory of a process after each file."""
    command = [sys.executable, "-m", "tests.records.runs_in_memory"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    base, *peaks = json.loads(done.stdout)
    return [peak - base for peak in peaks]


@pytest.mark.parametrize("number", [pytest.param(i, id=f"{o.kind} {p!r}") for i, (o, p) in enumerate(ENDLESS)])
def test_a_record_without_end_takes_the_limit_and_a_buffer(taken: list[int], number: int) -> None:
    """A file whose first record does not end takes little more memory than `max_record_bytes`."""
    assert taken[number] < LIMIT + BUFFER


@pytest.mark.parametrize("number", [pytest.param(i, id=f"{o.kind} {p!r}") for i, (o, p) in enumerate(ENDING)])
def test_records_of_next_to_nothing_take_a_buffer(taken: list[int], number: int) -> None:
    """A file of millions of records, also of bad ones, takes the memory of a buffer."""
    assert taken[len(ENDLESS) + number] < LIMIT + BUFFER


def test_a_decoder_goes_with_its_stream() -> None:
    """No cycle keeps a zstd decoder, whose window may be 128 MiB, until Python collects cycles."""
    frame = b"\x28\xb5\x2f\xfd\x00\x88\x09\x00\x00a"  # a window of 128 MiB, and one byte
    gc.disable()
    try:
        source = StreamSource(io.BytesIO(frame), "zstd", name="a.zst")
        data, decoder = source.read(0, 10), weakref.ref(source._stream)
        del source
        assert (data, decoder()) == (b"a", None)
    finally:
        gc.enable()
