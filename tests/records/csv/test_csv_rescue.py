"""What fits no column of csv rows is kept: nothing vanishes, and what fits is as without it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.records.csv.split import RowSplitter
from airflow_provider_blockread.records.model import Chunk
from tests.examples import examples
from tests.records.csv.csv_oracle import python_fields, quoted_fields, typed
from tests.records.csv.csv_reading import decode

SCHEMA = {"id": "long", "a/~b": "string", "ok": "boolean", "price": "double"}
OPTION = Csv(schema=", ".join(f"`{name}` {kind}" for name, kind in SCHEMA.items()), rescue=True)


def fitting(name: str, text: str, *, quoted: bool, null: str) -> tuple[bool, Any]:
    """Return whether a field fits its column, and its value."""
    if not quoted and text in {"", null}:
        return True, None
    try:
        return True, typed(text, SCHEMA[name])
    except (ValueError, ArithmeticError):
        return False, None


def expected(row: str, option: Csv, names: list[str]) -> dict[str, Any] | None:
    """Return the values of a row, and what fits no column by its path; None for a bad record."""
    fields, (*quoted, is_open) = python_fields(row, option), quoted_fields(row, option)
    if is_open or len(fields) < len(names) or "\0" in row:
        return None
    found: dict[str, Any] = {}
    values: dict[str, Any] = dict.fromkeys(SCHEMA)
    for place, (text, was_quoted) in enumerate(zip(fields, quoted, strict=True)):
        name = names[place] if place < len(names) else f"_c{place}"
        if name in SCHEMA and place < len(names):
            fits, values[name] = fitting(name, text, quoted=was_quoted, null=option.null)
            if fits:
                continue
        if was_quoted or text not in {"", option.null}:
            found["/" + name.replace("~", "~0").replace("/", "~1")] = text
    return {**values, "_rescued": found or None}


texts = st.text(st.sampled_from('ab1.,"-\\;é '), max_size=4)
odd = ["", "NA", "7", "-1.5", "true", "x", '""', '"NA"', '"7"', '"a,b"', '"x\ny"', "9" * 30, "1e5"]
rows = st.lists(st.sampled_from(odd) | texts, min_size=1, max_size=6).map(",".join)


def check(lines: list[str], option: Csv, head: str, names: list[str], chunk: int) -> None:
    """Compare what a file of rows is read as with the definition."""
    data = (head + "".join(f"{line}\n" for line in lines)).encode()
    found, bad, records = decode(data, option, chunk)
    wanted = [expected(record.decode(), option, names) for record in records]

    assert [index not in bad for index in range(len(records))] == [row is not None for row in wanted]
    for row in found:
        row["_rescued"] = None if row["_rescued"] is None else json.loads(row["_rescued"])
    assert found == [row for row in wanted if row is not None]


@examples(300)
@given(lines=st.lists(rows, max_size=8), null=st.sampled_from(["", "NA"]), chunk=st.sampled_from([16, 2**20]))
def test_nothing_vanishes(lines: list[str], null: str, chunk: int) -> None:
    """Values of another type, and fields behind the last column."""
    option = Csv(schema=OPTION.schema, rescue=True, null=null)

    check(lines, option, "", list(SCHEMA), chunk)


@examples(300)
@given(lines=st.lists(rows, max_size=8), chunk=st.sampled_from([16, 2**20]))
def test_fields_that_the_schema_does_not_name(lines: list[str], chunk: int) -> None:
    """They are kept by their names in the header; a column that the header lacks is null."""
    option = Csv(schema=OPTION.schema, rescue=True, header=True, columns="by_name")

    check(lines, option, "price,more,id,m/~\n", ["price", "more", "id", "m/~"], chunk)


def test_one_column() -> None:
    """A value that does not fit leaves a row without values."""
    rows, bad, _ = decode(b"1\nx\n\n2,y\n", Csv(schema="n long", rescue=True))

    assert bad == {}
    assert rows == [
        {"n": 1, "_rescued": None},
        {"n": None, "_rescued": '{"/n":"x"}'},
        {"n": None, "_rescued": None},
        {"n": 2, "_rescued": '{"/_c1":"y"}'},
    ]


def test_what_stays_bad() -> None:
    """A row that is too short, is not UTF-8, or has nothing that fits where nothing may be missing."""
    data = b'1,a\n7\n2,\xff,x\nx,b\n3,c,"d\n'
    rows, bad, _ = decode(data, Csv(schema="n long not null, s string", rescue=True))

    assert rows == [{"n": 1, "s": "a", "_rescued": None}]
    assert list(bad) == [1, 2, 3, 4]
    assert bad[3] == "column 'n' is null, but the schema says not null"


_NAMES = st.sampled_from(["_c0", "_c1", "_c2", "_c2_", "_c3", "_c3_", "_c4", "id", " ", ""])


@examples(300)
@given(
    header=st.lists(_NAMES, min_size=1, max_size=5).filter(
        lambda names: len(own := [name for name in names if name.strip()]) == len({*own}) and any(own)
    ),
    more=st.integers(0, 3),
)
def test_made_names_are_no_other_field_s(header: list[str], more: int) -> None:
    """A field without a name gets one that neither header nor schema has: each value is found by a name of its own."""
    known = next(name for name in header if name.strip())
    option = Csv(schema=f"`{known}` string", header=True, columns="by_name", rescue=True)
    fields = [f"value {place}" for place in range(len(header) + more)]
    ((row,), bad, _) = decode(f"{','.join(header)}\n{','.join(fields)}\n".encode(), option, 2**20)

    assert not bad
    rescued = list(json.loads(row["_rescued"], object_pairs_hook=list) if row["_rescued"] else ())
    names = [name for name, _ in rescued]
    assert len(set(names)) == len(names)
    assert f"/{known}" not in names
    assert [row[known], *(value for _, value in rescued)] == [
        fields[header.index(known)],
        *(field for place, field in enumerate(fields) if place != header.index(known)),
    ]
    by_header = dict(zip(header, fields, strict=False))
    assert all(by_header.get(path[1:], value) == value for path, value in rescued)


def test_misfits_among_many_columns_are_sought_in_small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row for each column, each as wide as the schema, would cost the square of the columns."""
    width, misfits, cells = 300, (0, 63, 64, 299), list[int]()
    split = RowSplitter.split

    def counting(splitter: RowSplitter, chunk: Chunk, of: Any) -> Any:
        cells.append(len(chunk.ends) * splitter._width)
        return split(splitter, chunk, of)

    monkeypatch.setattr(RowSplitter, "split", counting)
    option = Csv(schema=", ".join(f"c{place} int" for place in range(width)), rescue=True)
    line = ",".join("x" if place in misfits else "1" for place in range(width))
    rows, bad, _ = decode(f"{line}\n".encode(), option)

    assert not bad
    assert json.loads(rows[0].pop("_rescued")) == {f"/c{place}": "x" for place in misfits}
    assert list(rows[0].values()) == [None if place in misfits else 1 for place in range(width)]
    assert sum(cells) < 70 * width


def test_a_row_with_far_too_many_fields_stays_bad() -> None:
    """As without the option: each field takes a hundred times its byte."""
    rows, bad, _ = decode(b"1,a\n2," + b"," * 20_000 + b"\n3,b\n", Csv(schema="id long, b string", rescue=True))

    assert [row["id"] for row in rows] == [1, 3]
    assert bad == {1: "20002 fields, expected 2"}


def test_a_mark_may_be_a_null_byte() -> None:
    """Only elsewhere does one make a row no text."""
    option = Csv(delimiter="\0", schema="a long, b string", rescue=True)
    rows, bad, _ = decode(b"x\0y\n", option)

    assert not bad
    assert rows == [{"a": None, "b": "y", "_rescued": '{"/a":"x"}'}]
