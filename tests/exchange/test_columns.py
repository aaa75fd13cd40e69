"""The columns of an output, as a result carries them."""

from __future__ import annotations

import pyarrow as pa

from airflow_provider_blockread.exchange.results import columns_of, columns_text


def test_names_may_contain_anything() -> None:
    """Colons, line ends and blanks in a name are no part of a type, and metadata is none either."""
    odd = pa.field("f", pa.int64(), nullable=False, metadata={"PARQUET:field_id": "1"})
    schema = pa.schema([("a: b", pa.int64()), ("-x", pa.string()), ("n\nl", pa.struct([("q", pa.int32())])), odd])

    assert columns_of(columns_text(schema)) == [
        ("a: b", "int64"),
        ("-x", "string"),
        ("n\nl", "struct<q: int32>"),
        ("f", "int64 not null"),
    ]
    assert columns_of("") == []
