"""Encodings of Parquet columns: what is written is read again, and takes no more room than with the default ones."""

from __future__ import annotations

import io
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.sinks.columnar.encodings import choose_encodings
from tests.examples import examples

_ROWS = 100_000
_CHANCE = np.random.default_rng(1)
_COLUMNS = {
    "sequence": np.arange(_ROWS),
    "small": _CHANCE.integers(0, 10**7, _ROWS),
    "large": _CHANCE.integers(-(2**62), 2**62, _ROWS),
    "constant": np.zeros(_ROWS, np.int64),
    "codes": _CHANCE.integers(0, 1000, _ROWS) * 10**12,
    "many codes": _CHANCE.integers(0, 20_000, _ROWS) * 10**9,
    "bursts": np.repeat(_CHANCE.integers(0, 2**40, _ROWS // 20), 20),
    "in order": np.repeat(np.arange(_ROWS // 10) * 7, 10),
    "times": (np.arange(_ROWS) * 10**6 + _CHANCE.integers(0, 10**6, _ROWS)).astype("datetime64[us]"),
    "days": (np.arange(_ROWS) // 3).astype("datetime64[D]"),
    "doubles": _CHANCE.random(_ROWS),
    "prices": _CHANCE.integers(0, 10_000, _ROWS) / 100,
    "text": [f"item {number}" for number in _CHANCE.integers(0, 10**7, _ROWS)],
    "hosts": [f"host-{number}" for number in _CHANCE.integers(0, 300, _ROWS)],
    "sessions": np.repeat([f"session-{number:016x}" for number in _CHANCE.integers(0, 2**60, _ROWS // 20)], 20),
    "flags": _CHANCE.integers(0, 2, _ROWS).astype(np.bool_),
    "nulls": [None] * _ROWS,
    "sparse": [number if number % 100 == 0 else None for number in range(_ROWS)],
}


def _written(table: pa.Table, use_dictionary: list[str], column_encoding: dict[str, str] | None) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, compression="snappy", use_dictionary=use_dictionary, column_encoding=column_encoding)
    return file.getvalue()


@pytest.mark.parametrize("name", _COLUMNS)
def test_no_column_takes_more_than_by_default(name: str) -> None:
    """Each kind of column is read again as it was, from at most a twentieth more bytes."""
    values = pa.array(_COLUMNS[name], pa.int64() if name == "nulls" else None)
    table = pa.table({name: values, "list": pa.array([[1]] * _ROWS)})
    chosen = choose_encodings(table, "snappy")
    written = _written(table, **chosen)

    assert pq.read_table(io.BytesIO(written)).equals(table)
    assert len(written) <= 1.05 * len(_written(table, table.column_names, None))


_KINDS = (
    *(kind() for kind in (pa.int8, pa.int16, pa.int32, pa.int64, pa.float32, pa.float64, pa.string, pa.date32)),
    pa.timestamp("us"),
)


@examples(20)
@given(st.sampled_from(_KINDS), st.integers(0, 99).map(Random), st.sampled_from([1, 7, 1000, 10**6]), st.data())
def test_values_come_back(kind: pa.DataType, chance: Random, different: int, data: st.DataObject) -> None:
    """Whatever the first row group is like and whatever the next ones hold, it is read again as it was written."""
    width = 64 if pa.types.is_string(kind) else kind.bit_width
    whole = pa.int32() if width == 32 else pa.int64()
    edges = st.integers(-(2 ** (width - 1)), 2 ** (width - 1) - 1)

    def column(numbers: list[int | None]) -> pa.Table:
        as_whole = pa.array(numbers, whole if pa.types.is_temporal(kind) else pa.int64())
        return pa.table({"column": as_whole.cast(kind, safe=False)})

    most = min(different, 2 ** (width - 1))
    first = column([None if chance.random() < 0.01 else chance.randrange(most) for _ in range(20_000)])
    then = column(data.draw(st.lists(st.none() | edges, max_size=50)))
    chosen = choose_encodings(first, "snappy")
    written = _written(pa.concat_tables([first, then]), **chosen)

    assert pq.read_table(io.BytesIO(written)).equals(pa.concat_tables([first, then]))


def test_columns_get_what_fits_them() -> None:
    """A dictionary goes to what repeats, differences to what rises; raw text, and what is few, stay as they were."""
    names = ["sequence", "codes", "doubles", "hosts", "times"]
    table = pa.table({name: pa.array(_COLUMNS[name]) for name in names} | {"value": pa.array(_COLUMNS["hosts"])})
    chosen = choose_encodings(table, "snappy")

    assert (chosen["use_dictionary"], sorted(chosen["column_encoding"])) == (["codes", "hosts"], ["sequence", "times"])
    assert choose_encodings(table.slice(0, 100), "snappy")["use_dictionary"] == names
