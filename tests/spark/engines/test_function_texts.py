"""Functions of a DAG's file on a Spark Connect server: their text is in the closure of a job, and in no other place."""

from __future__ import annotations

import pytest

from airflow_provider_blockread.options import ArrowFunction, DataFrameFunction
from tests.pipeline.functions.texts import DOUBLED, SHORT, text_of, use
from tests.pipeline.make import Pipe
from tests.spark.engines.server import ConnectServer

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("body", "name", "option", "values"),
    [(SHORT, "short", ArrowFunction, ["a", "bb"]), (DOUBLED, "doubled", DataFrameFunction, ["aa", "bbbb", "cccccc"])],
)
def test_a_text_runs_on_the_server(
    pipe: Pipe,
    server: ConnectServer,
    *,
    body: str,
    name: str,
    option: type[ArrowFunction | DataFrameFunction],
    values: list[str],
) -> None:
    """On batches in its workers, on a DataFrame in the client; no file of the work area and no log holds it."""
    pipe.put({"a.txt": b"a\nbb\nccc\n"})
    use(pipe, text_of(body, name), option)
    pipe.run()
    mark = body.splitlines()[-1].strip()

    assert pipe.values() == values
    assert not [path for path in pipe.work.rglob("*") if path.is_file() and mark.encode() in path.read_bytes()]
    assert mark not in server.log + server.events
