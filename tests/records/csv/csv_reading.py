"""Reads csv through the format and its decoder, and checks the invariants of every chunk."""

from __future__ import annotations

import io
from typing import Any

from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.records.csv import decode as csv_decode
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.records.walking import WalkLimits, walk_block

Rows = list[dict[str, Any]]


def decode(data: bytes, option: Csv, chunk_bytes: int = 2**20) -> tuple[Rows, dict[int, str], list[bytes]]:
    """Return a file's rows, the reasons of its bad records by index, and all records."""
    csv_decode._decoder.cache_clear()  # a decoder knows where the files before had misfits
    source, fmt = open_source(io.BytesIO(data), make_format(option))
    decoder = fmt.decoder()
    rows: Rows = []
    bad: dict[int, str] = {}
    records: list[bytes] = []
    for chunk in walk_block(source, fmt, source.data_offset, len(data), WalkLimits(chunk_bytes=chunk_bytes)):
        decoded = decoder.decode(chunk)
        decoded.batch.validate(full=True)
        assert decoded.batch.schema == decoder.schema
        assert decoded.batch.num_rows + len(decoded.bad) == len(chunk.ends)
        rows += decoded.batch.to_pylist()
        bad |= {len(records) + record.index: record.reason for record in decoded.bad}
        records += [chunk.record(index) for index in range(len(chunk.ends))]
    return rows, bad, records
