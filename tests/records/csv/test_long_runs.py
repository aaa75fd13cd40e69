"""Long runs of the bytes for which formats search: exact, and linear in their length."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest
from oracles import split_by, universal_lines

from airflow_provider_blockread.errors import LookBackError
from airflow_provider_blockread.records import RecordFormat, read_records, record_format
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.text import delimited as delimited_module
from airflow_provider_blockread.records.walking import first_start, walk_block
from tests.records.reading_here import CountingSource

pytestmark = pytest.mark.slow

SIZE = 300_000


def delimited(delimiter: bytes) -> RecordFormat:
    """Return the format of records ended by a delimiter."""
    return record_format("delimited", delimiter=delimiter)


RUNS = [
    pytest.param(record_format("lines"), b"\n", universal_lines, id="LF"),
    pytest.param(record_format("lines"), b"\r", universal_lines, id="CR"),
    pytest.param(record_format("lines"), b"\r\n", universal_lines, id="CRLF"),
    pytest.param(delimited(b"||"), b"|", split_by(b"||"), id="bars"),
    pytest.param(delimited(b"aabaa"), b"aab", split_by(b"aabaa"), id="even chain"),
    pytest.param(delimited(b"aabaa"), b"aabaaab", split_by(b"aabaa"), id="uneven chain"),
    pytest.param(delimited(b"aabaa"), b"a", split_by(b"aabaa"), id="no match"),
]


@pytest.mark.parametrize(("fmt", "piece", "oracle"), RUNS)
def test_a_long_run_is_read_exactly_at_some_splits(
    fmt: RecordFormat, piece: bytes, oracle: Callable[[bytes, int], list[tuple[int, bytes]]]
) -> None:
    """Runs longer than any search window give the oracle's records, whole and in two blocks."""
    data = b"xy" + piece * (SIZE // len(piece)) + b"z"
    expected = oracle(data, 0)
    for split in (1, 65_536 + 2, 65_536 * 3 + 1, len(data) - 1):
        parts = [list(read_records(io.BytesIO(data), *block, fmt)) for block in ((0, split), (split, len(data)))]

        assert parts[0] + parts[1] == expected, split


@pytest.mark.parametrize(("fmt", "piece", "oracle"), RUNS)
def test_a_run_is_looked_at_in_proportion_to_its_length(fmt: RecordFormat, piece: bytes, oracle: object) -> None:
    """Cutting into a run and walking it read each byte a few times, however long the run is."""
    del oracle
    data = b"xy" + piece * (2**22 // len(piece))
    source = CountingSource(io.BytesIO(data))
    first_start(source, fmt, len(data) // 2, 0)
    for _ in walk_block(source, fmt, 0, len(data)):
        pass

    assert source.bytes_read < 5 * len(data)


@pytest.mark.parametrize(
    ("fmt", "end"),
    [
        pytest.param(record_format("lines"), b"\n", id="LF"),
        pytest.param(record_format("lines"), b"\r", id="CR"),
        pytest.param(record_format("lines"), b"\r\n", id="CRLF"),
        pytest.param(delimited(b"<end>"), b"<end>", id="delimiter"),
        pytest.param(delimited(b"abab"), b"abab", id="overlapping delimiter"),
    ],
)
def test_an_end_across_the_border_of_a_search_window_is_found(fmt: RecordFormat, end: bytes) -> None:
    """A cut from inside a long record finds its end, wherever it is."""
    for windows in (2**16, 2**16 + 2**17):  # what a search has read after one window, and after two
        for length in range(windows - 6, windows + 7):
            data = b"first" + end + b"x" * length + end + b"last" + end
            source, fmt = open_source(io.BytesIO(data), fmt)
            inside = len(b"first" + end) + 1 + len(end)

            assert first_start(source, fmt, inside, 0) == len(data) - len(b"last" + end), length


def test_a_line_longer_than_many_chunks_is_one_record() -> None:
    """A JSON line of 5 MB between short ones is decoded with them."""
    fmt = record_format("json_lines", schema="id long, msg string")
    objects = [{"id": 1, "msg": "a"}, {"id": 2, "msg": "x" * 5_000_000}, {"id": 3, "msg": "b"}]
    data = "\n".join(json.dumps(o) for o in objects).encode()
    chunks = walk_block(*open_source(io.BytesIO(data), fmt), 0, len(data))
    rows = [row for chunk in chunks for row in fmt.decoder().decode(chunk).batch.to_pylist()]

    assert rows == objects


def test_a_chain_beyond_the_look_back_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a delimiter overlaps itself for too long, the error says to read the file as one block."""
    monkeypatch.setattr(delimited_module, "MAX_LOOK_BACK", 2**17)
    fmt = delimited(b"||")
    source, fmt = open_source(io.BytesIO(b"x" + b"|" * 2**20), fmt)
    with pytest.raises(LookBackError, match="read this file as one block"):
        first_start(source, fmt, 2**19, 0)
