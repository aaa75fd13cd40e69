"""Decimals, whose overflows Arrow does not always detect: a number is preserved, or its record is bad."""

from __future__ import annotations

import io
from decimal import Context, Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.records import record_format
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.walking import walk_block
from tests.records.csv.csv_reading import decode

Value = Decimal | None  # None where the record is bad

digits = st.text("0123459", min_size=1, max_size=45).map(lambda text: text.lstrip("0") or "0")
fractions = st.one_of(st.just(""), st.text("0123459", min_size=1, max_size=45).map(".{}".format))
exponents = st.one_of(st.just(""), st.integers(-99, 99).map("e{:+}".format))
numbers = st.tuples(st.sampled_from(["", "-"]), digits, fractions, exponents).map("".join)
kinds = st.integers(1, 38).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size)))


def from_csv(text: str, schema: str) -> Value:
    """Return the number of a field."""
    rows, _, _ = decode(f"{text}\n".encode(), Csv(schema=schema))
    return rows[0]["v"] if rows else None


def from_json(value: str, schema: str) -> Value:
    """Return the number of an object's field."""
    source, fmt = open_source(io.BytesIO(f'{{"v": {value}}}\n'.encode()), record_format("json_lines", schema=schema))
    (chunk,) = walk_block(source, fmt, 0, source.size)
    decoded = fmt.decoder().decode(chunk)
    decoded.batch.validate(full=True)
    found: Value = decoded.batch["v"][0].as_py() if decoded.batch.num_rows else None
    return found


@pytest.mark.slow
@given(text=numbers, kind=kinds)
@example(text="12345678901234567890123456789012345678", kind=(38, 10))
@example(text="9e37", kind=(38, 10))
@example(text="65504", kind=(5, 2))
@example(text="301376506050898079.405012123223395904152931430999031203029", kind=(38, 0))
@example(text="31e-69", kind=(2, 0))
def test_a_number_is_itself_or_bad(text: str, kind: tuple[int, int]) -> None:
    """Numbers of too many digits on either side of the point are bad; none is rounded, truncated or wrapped around."""
    size, scale = kind
    number = Decimal(text)
    fits = not number or (
        number.adjusted() < size - scale and Context(prec=200).normalize(number).as_tuple().exponent >= -scale
    )
    schema = f"v decimal({size},{scale})"
    found = [from_csv(text, schema), from_json(text, schema), from_json(f'"{text}"', schema)]

    assert set(found) <= {number if fits else None} | ({None} if not number else set())


@pytest.mark.parametrize("text", ["x", "1_0", "NaN", "-inf", "1e", "e5", "--1" * 20, "1 " * 20 + "1", "\u0661" * 40])
def test_other_text_is_no_decimal(text: str) -> None:
    """Whatever its length."""
    assert from_csv(text, "v decimal(38,10)") is None
