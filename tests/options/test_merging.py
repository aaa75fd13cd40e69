"""What sinks of merged files must hold."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import ArchiveSink, DeltaSink, ParquetSink, Policies, TextSink, merging


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


@pytest.mark.parametrize("column", ["_file", "_modified"])
def test_partitions_of_one_file_are_refused(column: str) -> None:
    """A folder for each file is no merge, and its files would lack the column; a column that files share is taken."""
    for sink in (ParquetSink, DeltaSink):
        with pytest.raises(OptionsError, match=f"partition_by '{column}' would .*; partition by .*, such as _window"):
            merging(sink("out", partition_by=("_window", column)))
    assert merging(ParquetSink("out", partition_by=("_window",))).sink.inner_folder == "_window=0/"


@pytest.mark.parametrize("policy", ["quarantine", "drop"])
def test_no_merged_file_is_bad(policy: Any) -> None:
    """A policy for bad records would promise to leave out a file that is too large, which fails the window."""
    with pytest.raises(OptionsError, match=f"on_bad_record='{policy}' has no meaning .*`blockread windows exclude`"):
        merging(ArchiveSink("out"), Policies(on_bad_record=policy))
    merging(ArchiveSink("out"), Policies(on_missing="exclude", max_record_bytes=1))


def test_a_task_reads_what_a_merged_file_holds() -> None:
    """Of other windows, tasks read equal shares."""
    options = merging(ArchiveSink("out", file_bytes=5))

    assert (options.task_bytes, merging(ParquetSink("out")).task_bytes) == (5, 2**30)
    assert type(options).from_json(options.to_json() | {"merges": False}).task_bytes is None
