"""The data source reads each record once, at every block size, in every format."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from airflow_provider_blockread.options import Csv, JsonArray
from tests.records.every_format import COMPRESSED, FORMATS, Case, of_files
from tests.records.reference import UNREADABLE
from tests.spark.data_source.source_here import Query, as_options

CASES = [*FORMATS, *COMPRESSED]
sizes = st.integers(1, 40)


def is_text(content: bytes) -> bool:
    """Return whether bytes are UTF-8, as Python sees it."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES if not isinstance(case.option, Csv)])
@of_files(20)
@given(draw=st.data(), size=sizes)
def test_raw_records_are_those_of_the_definitions(case: Case, draw: st.DataObject, size: int) -> None:
    """`value` and `_offset` are those of the records, in order; what is not text of its encoding is dropped."""
    data = draw.draw(case.files())
    records = case.records(data)
    assume(records is not None)
    text, elements = case.fmt.encoding != "binary", isinstance(case.option, JsonArray)
    good = [
        {"value": content.decode() if text else content, "_offset": offset}
        for offset, content in records
        if content != UNREADABLE and (is_text(content) or not text) and (content or not elements)
    ]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "file").write_bytes(data)
        options = as_options(case.option) | {"columns": "*, _offset", "on_bad_record": "drop"}

        assert Query(folder, block_size=str(size), **options).rows() == good


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in FORMATS if isinstance(case.option, Csv)])
@of_files(20)
@given(draw=st.data(), size=sizes)
def test_rows_do_not_depend_on_blocks(case: Case, draw: st.DataObject, size: int) -> None:
    """Blocks of any size give the rows of csv that one block gives.

    So do some of its columns, by which alone a record is judged: one that is bad only in others has a row as well.
    """
    data = draw.draw(case.files(pieces=14))
    option = dataclasses.replace(case.option, schema="a string, b string")
    if option.header:
        mark = case.before[0]
        title = 'no "row\n' * option.skip_lines
        data = mark + f"{title}a{option.delimiter}b\n".encode(case.encoding) + data.removeprefix(mark)
    assume(case.records(data) is not None)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "file").write_bytes(data)
        options = as_options(option) | {"on_bad_record": "drop"}
        whole, split = (
            [Query(folder, **options, columns=columns, **of_size).rows() for columns in ("*,_offset", "_offset,b")]
            for of_size in ({}, {"block_size": str(size)})
        )

    assert split == whole
    assert [(row["_offset"], row["b"]) for row in whole[0]] == [
        (row["_offset"], row["b"]) for row in whole[1] if row["_offset"] in {row["_offset"] for row in whole[0]}
    ]


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        ("csv", [b"id,msg", b"1,a", b"z,b", b"2,\xff", b"3"]),
        ("json_lines", [b'{"id": 1}', b'{"id": "z"}', b'{"msg": 5}', b"{"]),
    ],
)
def test_places_alone_are_of_all_records(tmp_path: Path, kind: str, lines: list[bytes]) -> None:
    """No column is read, so none makes a record bad; only what is no record at all is left out."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_bytes(b"\n".join(lines) + b"\n")
    options = {"format": kind, "schema": "id long not null, msg string", "on_bad_record": "drop"}
    head = {"header": "true"} if kind == "csv" else {}

    assert len(Query(tmp_path / "in", **options, **head, columns="_offset").rows()) == 3
