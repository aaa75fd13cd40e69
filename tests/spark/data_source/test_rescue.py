"""A scan of some columns keeps what fits none of all columns, not of those alone."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest

from airflow_provider_blockread.options import Csv, FormatOption, JsonLines
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.records.walking import WalkLimits, walk_block
from airflow_provider_blockread.spark.data_source.columns import Columns, chosen, file_schema, with_schema

_JSON = b'{"id":1,"msg":"a","more":2}\n'
_CSV = b"1,a,2\n"


@pytest.mark.parametrize(
    ("option", "data", "rescued"),
    [(JsonLines(rescue=True), _JSON, '{"/more":2}'), (Csv(rescue=True), _CSV, '{"/_c2":"2"}')],
)
def test_columns_that_are_not_asked_for_are_not_rescued(option: FormatOption, data: bytes, rescued: str) -> None:
    """Nor does it matter where the schema comes from, and whether it names the column."""
    asked = pa.schema([("id", pa.int64()), ("msg", pa.string()), ("_rescued", pa.string())])
    known = with_schema(option, asked)
    columns = Columns.of(known, chosen(file_schema(known), ("_rescued", "id")))
    source, fmt = open_source(io.BytesIO(data), make_format(columns.option))
    decoder = columns.decoder(fmt)
    (chunk,) = walk_block(source, fmt, 0, len(data), WalkLimits())

    assert decoder.decode(chunk).batch.select(["_rescued", "id"]).to_pylist() == [{"_rescued": rescued, "id": 1}]
