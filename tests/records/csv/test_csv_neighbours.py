"""A csv row is decoded the same whatever its neighbours are, although chunks without misfits take a faster path."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_provider_blockread.options import Csv
from tests.examples import examples
from tests.records.csv.csv_reading import decode

OPTION = Csv(schema="i tinyint, l long, f float, v double, s string, b binary", null="NA")
_FIRST = b"0,0,0,0,0,0\n"  # so that nothing else begins the file: a byte order mark is text elsewhere
_OTHERS = (b"this row has another width\n", b"x,x,x,x,x,x\n")  # the latter makes all columns be looked at closely

numbers = st.integers(-(2**64), 2**64) | st.integers(-200, 200) | st.floats(width=32) | st.floats()
texts = st.sampled_from(
    ["", "NA", " 7", "7 ", "\t7", "+5", "007", "-0", "0x1F", "1e5", "1e400", "1.", ".5", "nan", "-inf"]
)
values = st.one_of(
    numbers.map(str),
    texts,
    texts.map(lambda text: f'"{text}"'),
    texts.map(lambda text: f'"{text[:1]}"{text[1:]}'),  # the quotes end inside the value
    st.sampled_from(["é", '"a,""b"""', '"two\nlines"', "true", "1_000", "\u0661", "\ufeff1", "1,5", "Infinity"]),
)

odd_rows = st.lists(values, min_size=6, max_size=6)
#: One odd value in an otherwise plain row: more of them hide what one changes.
plain_rows = st.builds(lambda place, value: ["1"] * place + [value] + ["1"] * (5 - place), st.integers(0, 5), values)


@examples(400)
@example(rows=[["1", "2", "3", "4", "5", "6"]])
@example(rows=[['"0"x1F', "2", "3", "4", "5", "6"]])
@given(rows=st.lists(odd_rows, min_size=1, max_size=5) | st.lists(plain_rows, min_size=1, max_size=3))
def test_rows_do_not_depend_on_their_neighbours(rows: list[list[str]]) -> None:
    """All rows of a chunk are the same as alone, and as next to a row of another width or with misfits."""
    lines = [(",".join(row) + "\n").encode() for row in rows]
    found, bad, _ = decode(_FIRST + b"".join(lines), OPTION)
    alone = [decode(_FIRST + line, OPTION) for line in lines]

    for other in _OTHERS:
        beside, bad_beside, _ = decode(_FIRST + b"".join(lines) + other, OPTION)
        assert repr(found) == repr(beside)
        assert bad == {place: reason for place, reason in bad_beside.items() if place <= len(lines)}
    assert repr(found[1:]) == repr([row for rows_of_one, _, _ in alone for row in rows_of_one[1:]])
    assert bad == {place: one[1][1] for place, one in enumerate(alone, start=1) if one[1]}


TIMES = Csv(schema="at timestamp, local timestamp_ntz, n int", null="NA")
_FORMS = ["", "NA", "2024-05-01", "2024-05-01 06", "2024-05-01T06:07", " 2024-05-01T06:07:08 ", "2024-05-01T06:07:08.1"]
_ZONES = ["", "", "Z", "+02:00", "-0130", "+02", " Z"]

times = st.builds(
    "{}{}{}".format,
    st.sampled_from([*_FORMS, "2024-05-01T06:07:08", "2024-02-30T06:07:08", "2024-05-01T06:07:08.123456", "x"]),
    st.sampled_from(["", "", "7"]),
    st.sampled_from(_ZONES),
)


@examples(300)
@example(rows=[["2024-05-01T06:07:08Z", "2024-05-01T06:07:08", "1"]] * 3 + [["2024-05-01", "", "1"]] * 3)
@given(
    rows=st.lists(st.tuples(times, times | times.map('"{}"'.format), st.sampled_from("12x")), min_size=1, max_size=9)
)
def test_times_do_not_depend_on_the_chunk_before(rows: list[list[str]]) -> None:
    """Chunks of a row or two, each written otherwise than the one before, give the rows of one chunk."""
    data = "".join(",".join(row) + "\n" for row in rows).encode()
    found, bad, _ = decode(data, TIMES)
    small, bad_of_small, _ = decode(data, TIMES, chunk_bytes=64)

    assert repr(found) == repr(small)
    assert bad == bad_of_small


@pytest.mark.parametrize("odd", [b"2024-01-01T00:00:00+01:00.5\n", b"2024-01-01T00:00.5\n"])
def test_only_digits_after_seconds_are_beyond_the_unit(odd: bytes) -> None:
    """Those after a zone or a minute are no time, whatever form the times beside have."""
    good, option = b"2024-01-01T00:00:00.5Z\n", Csv(schema="a timestamp[s, tz=UTC]")

    assert [list(decode(data, option)[1]) for data in (odd, good + odd, odd + good)] == [[0], [1], [0]]
