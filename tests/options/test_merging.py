"""What sinks of merged files must hold."""

from __future__ import annotations

import pytest

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import ArchiveSink, ParquetSink, TextSink, merging


def test_names_and_times_are_added_once() -> None:
    """They come before other audit columns, whether they are asked for or not."""
    assert list(merging(ParquetSink("out", audit=("_window", "_file"))).sink.to_json()["audit"]) == [
        "_file",
        "_modified",
        "_window",
    ]


def test_a_sink_without_columns_is_refused() -> None:
    """Lines of text cannot say of which file they are; a Parquet directory and an archive can."""
    with pytest.raises(OptionsError, match="choose an archive, or a sink with columns, as parquet"):
        merging(TextSink("out"))
    merging(ParquetSink("out"))
    merging(ArchiveSink("out"))


def test_a_task_reads_what_a_merged_file_holds() -> None:
    """Of other windows, tasks read equal shares."""
    options = merging(ArchiveSink("out", file_bytes=5))

    assert (options.task_bytes, merging(ParquetSink("out")).task_bytes) == (5, 2**30)
    assert type(options).from_json(options.to_json() | {"merges": False}).task_bytes is None
