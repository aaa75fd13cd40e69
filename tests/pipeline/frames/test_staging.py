"""Records are proven before a function gets them: as much as one group can know."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.exchange.receipts import receipts_batch, write_receipts
from airflow_provider_blockread.options import AsRead, Lines, Sql, TextSink
from airflow_provider_blockread.spark.frames.staging import prove_staged, staging_spec
from tests.pipeline.evidence import STORES, Reading
from tests.pipeline.here import write_group


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Reading:
    """Records of two files in blocks, staged for a query."""
    made = Reading(tmp_path_factory.mktemp("staging"), [b"1\n22\n333\n4444\n", b"5\n6\n7\n"], 4, Lines())
    options = replace(made.spec.options, function=Sql("SELECT * FROM records", columns=["_block"]),
                      sink=TextSink(f"file://{made.folder}/text"))  # fmt: skip
    made.spec = staging_spec(replace(made.spec, options=options))
    return made


def test_records_are_staged_as_they_are_read(reading: Reading) -> None:
    """Whatever sink and function are, tasks stage Parquet files with the columns that the function asks for."""
    assert reading.spec.options.function == AsRead(columns=["_block"])
    assert reading.spec.options.sink.kind == "parquet"
    assert reading.spec.target.folder == f"{reading.spec.folder}/records"


@given(cut=st.data())
def test_any_run_of_blocks_is_proven(reading: Reading, cut: st.DataObject) -> None:
    """A group may begin and end within files; a block that was not read, or rows that are not staged, are missed."""
    first = cut.draw(st.integers(0, len(reading.blocks) - 1))
    last = cut.draw(st.integers(first, len(reading.blocks) - 1))
    blocks = reading.blocks[first : last + 1]
    result = write_group(reading.spec, STORES, [blocks], {})
    prove_staged(STORES, reading.spec, blocks, result)

    if result.rows:
        with pytest.raises(ProofError, match=r"rows? w(as|ere) handed to the writers, but the output files hold 0"):
            prove_staged(STORES, reading.spec, blocks, replace(result, outputs=()))
    uri = f"{reading.spec.folder}/none.parquet"
    nothing = replace(result, receipts_uri=uri, receipts_hash=write_receipts(STORES, uri, [receipts_batch([])]))
    with pytest.raises(ProofError, match="no receipt: the block was not read"):
        prove_staged(STORES, reading.spec, blocks, nothing)


@pytest.mark.slow
def test_a_staged_file_that_was_truncated(reading: Reading) -> None:
    """The file is named."""
    result = write_group(reading.spec, STORES, [reading.blocks], {})
    path = Path(result.outputs[0].uri.removeprefix("file://"))
    path.write_bytes(path.read_bytes()[:-9])

    with pytest.raises(ProofError, match=r"output file .*/records/.* cannot be counted: .* is truncated"):
        prove_staged(STORES, reading.spec, reading.blocks, result)
