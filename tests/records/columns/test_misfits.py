"""Values that do not fit among many that do: each is converted as it is alone."""

from __future__ import annotations

import io
import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.records import record_format
from airflow_provider_blockread.records.columns.usual import are_usual
from airflow_provider_blockread.records.columns.values import convert
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.walking import walk_block

KINDS = {
    "int64": pa.int64(),
    "int8": pa.int8(),
    "uint32": pa.uint32(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "instant": pa.timestamp("us", tz="UTC"),
    "local time": pa.timestamp("us"),
    "nanoseconds": pa.timestamp("ns"),
    "boolean": pa.bool_(),
    "decimal": pa.decimal128(9, 2),
}
USUAL = {
    "int64": st.integers(-(2**63), 2**63 - 1).map(str),
    "int8": st.integers(-128, 127).map(str),
    "uint32": st.integers(0, 2**32 - 1).map(str),
    "float": st.floats(-1e9, 1e9, width=32).map(str),
    "double": st.floats(-1e9, 1e9).map(str),
    "date": st.dates().map(str),
    "instant": st.datetimes().map(lambda time: time.strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)),
    "local time": st.datetimes().map(lambda time: time.isoformat(" ", "seconds")),
    "nanoseconds": st.datetimes().map(lambda time: time.isoformat(" ", "seconds")),
    "boolean": st.sampled_from(["true", "false", "True", "FALSE", "1", "0"]),
    "decimal": st.decimals(-9999999, 9999999, places=2).map(str),
}
ODD = st.one_of(
    st.none(),
    st.text("0123456789-+.eETZ: /xaé", max_size=24),
    st.sampled_from(("", " 7", "7 ", "-", "-0", "007", "1.", ".5", "1.5.2", "nan", "-inf", "1e400", "128", "-129")),
    st.sampled_from(("+5", "1.250", "1.255", "1e2", "1e-3", "1e+-2", "1_0", "12345678.00", "0e99", "9" * 21)),
    st.sampled_from(
        ("9" * 18, "9" * 19, "9" * 32, "2024-02-29", "2023-02-29", "2024-02-30", "2024-13-01", "0000-01-01")
    ),
    st.sampled_from(
        ("2024-00-10", "2024-01-00", "2024-05-01T24:00:00Z", "2024-05-01T23:60:00Z", "2024-05-01 23:59:60")
    ),
    st.sampled_from(
        ("2024-05-01T23:59:59+02:00", "2024-05-01T23:59:59.1234567Z", "2024-05-01T23:59", "2024-05-01T23Z")
    ),
    st.sampled_from(("2024/05/01", "2024-05-01x00:00:00Z", "2024-05-01T23:59:59x", "True", " TRUE", "yes", "FALSE ")),
)


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
def test_each_value_is_converted_as_it_is_alone(name: str, data: st.DataObject) -> None:
    """A few values of another form change nothing about the others, wherever they are."""
    kind = KINDS[name]
    texts: list[str | None] = data.draw(st.lists(USUAL[name], min_size=32, max_size=64))
    if data.draw(st.booleans()):  # a column with few values
        texts = [None] * 64 + texts[:3]
    for value in data.draw(st.lists(ODD, max_size=4)):
        texts.insert(data.draw(st.integers(0, len(texts))), value)
    column = pa.array([None, *texts], pa.string())[1:]  # values of an array may begin anywhere in its buffers
    alone = [convert(column[place : place + 1], kind) for place in range(len(column))]
    for expect_misfits in (False, True):
        array, misfits = convert(column, kind, expect_misfits=expect_misfits)
        array.validate(full=True)
        assert str(array) == str(pa.concat_arrays([one for one, _ in alone]))
        assert misfits.tolist() == [place for place, (_, bad) in enumerate(alone) if len(bad)]


def test_hardly_any_value_is_looked_at_alone() -> None:
    """Plain numbers and times are of the usual form."""
    texts = pa.array([f"2024-{1 + day % 12:02d}-{1 + day % 28:02d}T10:00:{day % 60:02d}Z" for day in range(500)])
    assert are_usual(texts, pa.timestamp("us", tz="UTC")).all()
    numbers = pa.array(["5", "-12", "x", "0", "1.5", "05"])
    assert np.array_equal(are_usual(numbers, pa.int64()), [True, True, False, True, False, False])
    assert np.array_equal(are_usual(numbers, pa.uint32()), [True, False, False, True, False, False])


@pytest.mark.parametrize(
    ("name", "line", "schema"),
    [
        ("csv", "{}.12345,7\n", "v decimal(9,2), n long"),
        ("csv", "{}e30,7\n", "v decimal(9,2), n long"),
        ("json_lines", '{{"v":{}.12345}}\n', "v decimal(9,2)"),
        ("json_lines", '{{"v":"x{}"}}\n', "v decimal(9,2)"),
        ("json_lines", '{{"n":[{{"v":"2024-02-30 {}"}}]}}\n', "n array<struct<v:timestamp>>"),
    ],
)
def test_many_misfits_take_little_time(name: str, line: str, schema: str) -> None:
    """However a number or time does not fit, Arrow is not asked about each alone."""
    data = "".join(map(line.format, range(1, 20_001))).encode()
    source, fmt = open_source(io.BytesIO(data), record_format(name, schema=schema))
    decoder = fmt.decoder()
    started = time.process_time()
    bad = sum(len(decoder.decode(chunk).bad) for chunk in walk_block(source, fmt, 0, source.size))

    assert bad == 20_000
    assert time.process_time() - started < 3
