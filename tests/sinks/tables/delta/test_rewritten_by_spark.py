"""Windows of Delta tables whose rows Spark has put into files of its own, as it writes them and their paths."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import Change
from tests.sinks.kinds import Bench

_OPTIONS = {"audit": ["_window"], "on_rewritten": "delete_rows"}


def rewrite_as_spark(bench: Bench, files: list[OutputFile], rows: pa.Table, logged: str) -> None:
    """Put rows in the place of files, into one that the log has under a path, as an OPTIMIZE of Spark does."""
    folder = Path(bench.option.uri)
    written = folder / unquote(logged)
    written.parent.mkdir(exist_ok=True)
    pq.write_table(rows, written, use_deprecated_int96_timestamps=True)
    partition = dict(files[0].partition)
    added = {"path": logged, "partitionValues": partition, "size": written.stat().st_size, "modificationTime": 0}
    actions = [
        *({"remove": {"path": Path(file.uri).name, "dataChange": False, "deletionTimestamp": 0}} for file in files),
        {"add": added | {"dataChange": False, "stats": json.dumps({"numRecords": len(rows)})}},
    ]
    log = folder / "_delta_log" / f"{DeltaTable(bench.option.uri).version() + 1:020}.json"
    log.write_text("".join(f"{json.dumps(action, ensure_ascii=False)}\n" for action in actions))


def test_instants_that_spark_has_written_stay_instants(tmp_path: Path) -> None:
    """Spark's usual kind of timestamps says of no zone; also times beyond the reach of nanoseconds are kept."""
    bench = Bench("delta", str(tmp_path / "out"), _OPTIONS)
    kind, published, rows = pa.timestamp("us", "UTC"), [], []
    for window, at in (("w1", 0), ("w2", 253370764800000000)):
        bench.marker = bench.marker_of(window)
        name = AttemptName(window=window, generation=1, group=0, epoch=1, attempt=0)
        writer = bench.sink.writer(bench.target, name, None)
        batch = pa.RecordBatch.from_pydict({"at": pa.array([at], kind), "_window": [window]})
        writer.write(batch)
        published.append(writer.close())
        rows.append(batch)
        bench.apply(bench.steps(published[-1]))
    rewrite_as_spark(
        bench, [file for files in published for file in files], pa.Table.from_batches(rows), "part-0.parquet"
    )
    bench.sink.undo(bench.placed(published[0]), bench.marker_of("w1", change=Change.WITHDRAW))

    (file,) = DeltaTable(bench.option.uri).file_uris()
    kept = pq.read_table(file)
    assert kept.schema.field("at").type == kind
    assert kept["at"].cast(pa.int64()).to_pylist() == [253370764800000000]


def test_a_path_that_the_library_does_not_write(tmp_path: Path) -> None:
    """Nothing is undone: the file could not be removed, so that its rows would be there twice."""
    bench = Bench("delta", str(tmp_path / "out"), _OPTIONS | {"partition_by": ["k"]})
    name = AttemptName(window="w1", generation=1, group=0, epoch=1, attempt=0)
    writer = bench.sink.writer(bench.target, name, None)
    writer.write(pa.RecordBatch.from_pydict({"k": ["é"], "value": ["a"], "_window": ["w1"]}))
    files = writer.close()
    bench.marker = bench.marker_of("w1")
    bench.apply(bench.steps(files))
    rewrite_as_spark(bench, files, pa.table({"value": ["a"], "_window": ["w1"]}), "k=é/part-0.parquet")
    with pytest.raises(ProofError, match="by a path that is not escaped, as Spark writes it, so deltalake"):
        bench.sink.undo(bench.placed(files), bench.marker_of("w1", change=Change.WITHDRAW))

    assert len(DeltaTable(bench.option.uri).file_uris()) == 1
