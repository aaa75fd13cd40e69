"""Columns of csv without a schema: named by headers, typed by a sample."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.records.columns.schema import parse_schema
from airflow_provider_blockread.records.csv.decode import csv_decoder
from airflow_provider_blockread.records.csv.infer import infer_schema
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.records.sampling import Sample, sample_file


def sampled(option: Csv, *files: str, size: int = 2**20, encoding: str = "utf-8") -> list[Sample]:
    """Return a sample of each file."""
    samples = []
    for text in files:
        source, fmt = open_source(io.BytesIO(text.encode(encoding)), make_format(option))
        samples.append(sample_file(source, fmt, size))
    return samples


def inferred(option: Csv, *files: str, encoding: str = "utf-8") -> str:
    """Return the schema of files as text."""
    return infer_schema(option, sampled(option, *files, encoding=encoding))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-2", " 3 ", ""], "long"),
        (["1234567890123456789"], "long"),
        (["0", "-0"], "long"),
        (["1", "2.5"], "double"),
        (["1e5", ".5", "NaN", "-inf"], "double"),
        (["true", "FALSE"], "boolean"),
        (["1", "true"], "string"),
        (["2024-05-06", "2024-02-29"], "date"),
        (["2024-05-06", "2024-05-06 07:08:09"], "timestamp_ntz"),
        (["2024-05-06T07:08:09Z", "2024-05-06 07:08:09"], "timestamp"),
        (["2024-05-06 07:08:09.123456789+02:00"], "timestamp"),
        (["2024-05-06 07:08:09 UTC", "2024-05-06 07:08:09 -01:00"], "timestamp"),
        (["2024-02-30"], "string"),
        (["007", "12"], "string"),
        (["-01.5"], "string"),
        (["+41791234567", "+41440000000"], "string"),
        (["+1", "-2", "3"], "string"),
        (["+1.7035555555"], "string"),
        (["12e4567", "99e1234"], "string"),
        (["1E400"], "string"),
        (["-1.5e-400"], "string"),
        (["0e4567"], "string"),
        (["0.00e+00", "0E-10", "1e308", "-0.0"], "double"),
        (["2024-05-06 00:00:00"], "timestamp_ntz"),
        (["0x1f"], "string"),
        (["9223372036854775808"], "string"),
        (["1.5", "12345678901234567"], "string"),
        (["1", "x"], "string"),
        (["", ""], "string"),
        ([" "], "string"),
        (['""'], "string"),
    ],
)
def test_a_column_is_of_the_first_type_that_all_values_are(values: list[str], kind: str) -> None:
    """Nulls do not count, and values that a number would not preserve stay text."""
    text = "x,y\n" + "".join(f"{value},a\n" for value in values)

    assert inferred(Csv(header=True), text) == f"x {kind}, y string"


def test_files_are_taken_together() -> None:
    """A type holds for all files; a file without values changes nothing."""
    option = Csv(header=True)

    assert inferred(option, "a,b,c\n1,1,\n", "a,b,c\n", "a,b,c\n2.5,x,2024-05-06\n") == "a double, b string, c date"


def test_columns_without_header_are_numbered() -> None:
    """The width is that of most rows; other rows do not count."""
    assert inferred(Csv(), "", "1,a\n2\n3,b\nx,1,2\n") == "_c0 long, _c1 string"
    assert inferred(Csv(), "") == "_c0 string"
    assert inferred(Csv(), "\n\n", "\n" * 200 + "1,a\n", "\n") == "_c0 long, _c1 string"
    assert inferred(Csv(), "\n\n1\n") == "_c0 long"


def test_headers_must_agree_unless_columns_go_by_name() -> None:
    """By name the columns are all that occur, in the order of their first appearance."""
    files = ("a,b\n1,x\n", "b,c, \ny,2.5,\n")

    assert inferred(Csv(header=True, columns="by_name"), *files) == "a long, b string, c double, _c2 string"
    with pytest.raises(RecordError, match="headers of the files differ"):
        inferred(Csv(header=True), *files)


def test_bad_records_do_not_spoil_a_type() -> None:
    """Rows of another width, with a NUL byte, or in an open quote are left to the policy."""
    assert inferred(Csv(header=True), 'a,b\n1,2\nx\ny\0,2\n\n3,4\n5,"x') == "a long, b long"


def test_any_encoding_and_dialect_is_sampled() -> None:
    """The sample is read with the format: transcoded, without comments, with its marks."""
    option = Csv(header=True, encoding="utf-16", delimiter=";", quote="'", comment="#")

    assert inferred(option, "#x\n'a;b';ä\n1;'x;y'\n#\n", encoding="utf-16") == "`a;b` long, `ä` string"


def test_only_the_sample_is_looked_at() -> None:
    """Records that start after the sample's size do not count."""
    option = Csv()

    assert infer_schema(option, sampled(option, "1\n22\nx\n", size=4)) == "_c0 long"


@given(
    st.lists(
        st.lists(
            st.sampled_from(["1", "", "1.5", "true", "2024-05-06", "2024-05-06 07:08:09Z", "x", "012"]),
            min_size=3,
            max_size=3,
        ),
        max_size=6,
    )
)
def test_what_was_inferred_reads_the_sample(rows: list[list[str]]) -> None:
    """No record of the sample is bad under the inferred schema."""
    option = Csv(header=True)
    sample = sampled(option, "a b,`c`,d\n" + "".join(",".join(row) + "\n" for row in rows))
    schema = infer_schema(option, sample)
    decoder = csv_decoder(Csv(header=True, schema=schema), sample[0].header)

    assert parse_schema(schema).names == ["a b", "`c`", "d"]
    assert [decoder.decode(chunk).bad for chunk in sample[0].chunks] == [()] * len(sample[0].chunks)
