"""Values of records as one array: the bytes between their offsets, wherever these begin, and however they are sent."""

from __future__ import annotations

import mmap

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.records.decode import raw_between


@given(gaps=st.lists(st.integers(0, 3), min_size=1, max_size=8), sizes=st.data())
def test_values_are_the_bytes_between_offsets(gaps: list[int], sizes: st.DataObject) -> None:
    """Their own offsets begin at 0, without which pyarrow before 21 sends other bytes between processes."""
    lengths = np.array(sizes.draw(st.lists(st.integers(0, 4), min_size=len(gaps), max_size=len(gaps))))
    ends = np.cumsum(np.array(gaps) + lengths)
    begins, buffer = ends - lengths, bytes(range(int(ends[-1]) + 2))
    values = raw_between(buffer, begins, ends)
    sent = pa.BufferOutputStream()
    with pa.ipc.new_stream(sent, pa.schema([("value", values.type)])) as stream:
        stream.write_batch(pa.record_batch([values], names=["value"]))
    received = pa.ipc.open_stream(sent.getvalue()).read_next_batch().column(0)

    expected = [buffer[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
    assert values.to_pylist() == received.to_pylist() == expected
    assert np.frombuffer(values.buffers()[1], np.int32)[0] == 0


def test_what_arrow_cannot_hold_is_refused() -> None:
    """Not cut, as offsets of 32 bits would."""
    record = mmap.mmap(-1, 2**32 + 10)  # no page of it is touched
    with pytest.raises(RecordError, match="4,294,967,306 bytes together are too long; choose a lower"):
        raw_between(record, np.array([0]), np.array([len(record)]))
