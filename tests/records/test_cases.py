"""Cases from other systems' test suites, and inputs on which those systems fail.

In `cases.json`, `data` is a list of (text, repetitions) in latin-1, and of `records`, `offsets`,
`count`, `last` those are given that its source gives. `split` and `block_size` are the source's own; every case is read
at many others as well.
"""

from __future__ import annotations

import io
import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from oracles import CountedReads

from airflow_provider_blockread.blocks import iter_ranges
from airflow_provider_blockread.errors import OptionsError, RecordError
from airflow_provider_blockread.records import ByteSource, read_records, record_format
from airflow_provider_blockread.records.walking import WalkLimits, walk_block

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "cases.json").read_text())


def those_with(key: str) -> pytest.MarkDecorator:
    """Parametrise over the cases that have a key."""
    return pytest.mark.parametrize("case", [pytest.param(c, id=c["id"]) for c in CASES if key in c])


def data_of(case: dict[str, Any]) -> bytes:
    """Return the file of a case."""
    return "".join(text * times for text, times in case["data"]).encode("latin-1")


def borders(case: dict[str, Any], size: int) -> list[list[int]]:
    """Return block borders to read at: the source's own, all splits of a small file, some of a large one."""
    own = [[0, case["split"], size]] if "split" in case else []
    if "block_size" in case:
        own.append([0, *(end for _, end in iter_ranges(size, case["block_size"]))])
    near = range(1, size) if size < 200 else [*range(4990, 5060), *range(1, size, 997)]
    steps = range(1, size + 1) if size < 200 else (61, 4096, 5000)
    return [
        *own,
        [0, size],
        *([0, split, size] for split in near if split < size),
        *([0, *(end for _, end in iter_ranges(size, step))] for step in steps),
    ]


def refused(case: dict[str, Any]) -> bool:
    """Return whether a case is about an error."""
    return "fails" in case or "error" in case


@pytest.mark.parametrize("case", [pytest.param(c, id=c["id"]) for c in CASES if not refused(c)])
def test_the_union_of_all_blocks_is_as_the_source_says(case: dict[str, Any]) -> None:
    """At every split, the blocks' records in order are those that the case states."""
    data, fmt = data_of(case), record_format(case["format"], **case["options"])
    whole = list(read_records(io.BytesIO(data), 0, len(data), fmt))
    records = [record.decode("latin-1") for _, record in whole]
    assert records == case.get("records", records)
    assert len(records) == case.get("count", len(records))
    assert records[-1:] == ([case["last"]] if "last" in case else records[-1:])
    assert [offset for offset, _ in whole][: len(case.get("offsets", []))] == case.get("offsets", [])
    for cuts in borders(case, len(data)):
        parts = [list(read_records(io.BytesIO(data), low, high, fmt)) for low, high in pairwise(cuts)]

        assert [pair for part in parts for pair in part] == whole, cuts


@those_with("fails")
def test_input_that_breaks_the_format_is_refused(case: dict[str, Any]) -> None:
    """A file that is invalid in the format fails with the reason, after reading at most the size limit of a record."""
    data, fmt = data_of(case), record_format(case["format"], **case["options"])
    file = CountedReads(data)
    most = case.get("max_record_bytes", 2**20)
    limits = WalkLimits(chunk_bytes=4096, max_record_bytes=most)
    with pytest.raises(RecordError, match=case["fails"]):
        list(walk_block(ByteSource(file), fmt, 0, len(data), limits))

    assert file.handed_out <= most + 64 * 2**10


@those_with("error")
def test_options_that_cannot_work_are_refused(case: dict[str, Any]) -> None:
    """The format is refused before any file is opened."""
    for options in case["error"]:
        with pytest.raises(OptionsError, match="length"):
            record_format(case["format"], **options)


@pytest.mark.parametrize("seed", range(5))
def test_numbered_lines_come_once_each(seed: int) -> None:
    """As in Hadoop's own test: lines 0..n-1 over random block sizes give each number once, in order."""
    chance = random.Random(seed)
    count = chance.randint(1, 10_000)
    data = b"".join(b"%d\n" % i for i in range(count))
    ranges = iter_ranges(len(data), -(-len(data) // chance.randint(1, 500)))
    fmt = record_format("lines")
    numbers = [int(record) for low, high in ranges for _, record in read_records(io.BytesIO(data), low, high, fmt)]

    assert numbers == list(range(count))


@pytest.mark.parametrize("seed", range(5))
def test_random_bytes_in_fixed_records_come_once_each(seed: int) -> None:
    """As in Hadoop's own test: n records of k random bytes, in blocks smaller than a record as well."""
    chance = random.Random(seed)
    count, length = chance.randint(0, 200), chance.choice([1, 7, 4096, 30_000])
    data = chance.randbytes(count * length)
    fmt = record_format("fixed", length=length)
    ranges = iter_ranges(len(data), chance.randint(length // 3 + 1, 4 * length))
    records = [pair for low, high in ranges for pair in read_records(io.BytesIO(data), low, high, fmt)]

    assert records == [(i * length, data[i * length : (i + 1) * length]) for i in range(count)]
