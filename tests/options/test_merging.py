"""What sinks of merged files must hold."""

from __future__ import annotations

import pytest

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import ParquetSink, TextSink, merging_sink


def test_names_and_times_are_added_once() -> None:
    """They come before other audit columns, whether they are asked for or not."""
    assert list(merging_sink(ParquetSink("out", audit=("_window", "_file"))).to_json()["audit"]) == [
        "_file",
        "_modified",
        "_window",
    ]


def test_a_sink_without_columns_is_refused() -> None:
    """Lines of text cannot say of which file they are; a Parquet directory can."""
    with pytest.raises(OptionsError, match="choose a sink with columns, as parquet"):
        merging_sink(TextSink("out"))
    merging_sink(ParquetSink("out"))
