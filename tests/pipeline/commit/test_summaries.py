"""What a commit says of the table that it has changed: in its summary, in the log and in the ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_blockread.ledger.windows.generations import get_generation
from airflow_provider_blockread.options import Csv
from tests.pipeline.here import ReadHere
from tests.pipeline.make import Pipe

pytestmark = pytest.mark.slow


def test_a_new_column_is_in_summary_log_and_ledger(tmp_path: Path) -> None:
    """A repeated commit says the same."""
    pipe = Pipe(tmp_path, ReadHere(), kind="delta", sink_options={"schema": "add_columns"})
    pipe.record_format = Csv(header=True, schema="n long")
    pipe.put({"a.csv": b"n\n1\n"})
    first = pipe.run("first")
    pipe.record_format = Csv(header=True, schema="n long, note string")
    pipe.put({"b.csv": b"n,note\n2,x\n"})
    ref = pipe.plan("second")
    pipe.read(ref)
    done = [pipe.commit(ref) for _ in range(2)]

    assert (first.table_version, first.schema_changes) == ("0", "")
    assert [one.schema_changes for one in done] == ["column note string added"] * 2
    assert [one.table_version for one in done] == ["2", "2"]
    assert get_generation(pipe.env.ledger, ref.window, 1).schema_changes == "column note string added"
    assert sum("column note string added" in message for message in pipe.messages) == 1
    assert sorted((row["n"], row["note"]) for row in pipe.rows()) == [(1, None), (2, "x")]
    pipe.close()


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_the_partitions_that_were_written_are_in_the_summary(tmp_path: Path, kind: str) -> None:
    """By the names of Hive, in order; of very many as many as an XCom has room for, and the number of all."""
    pipe = Pipe(tmp_path, ReadHere(), kind=kind, sink_options={"partition_by": ["day", "at"]})
    pipe.record_format = Csv(header=True, schema="n long, day string, at string")
    pipe.put({"a.csv": b"n,day,at\n1,tue,CH\n2,mon,\n3,tue,CH\n"})
    few = pipe.run("few")
    pipe.put({"b.csv": b"n,day,at\n" + b"".join(b"%d,%s,%d\n" % (n, b"x" * 150, n) for n in range(150))})
    many = pipe.run("many")
    size = len(json.dumps(many.to_json()))

    assert few.partitions == 2
    assert few.partition_keys == ("day=mon/at=__HIVE_DEFAULT_PARTITION__", "day=tue/at=CH")
    assert many.partitions == 150
    assert few.to_json()["partition_keys"] == list(few.partition_keys)
    assert 50 < len(many.partition_keys) < 150
    assert size < 2**15
    pipe.close()
