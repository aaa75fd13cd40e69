"""A file for each block, or one for a group, from a DataFrame: the rows say which block they are of."""

from __future__ import annotations

import dataclasses
import re

import pytest

from airflow_provider_blockread.errors import FunctionError
from airflow_provider_blockread.options import (
    DataFrameFunction,
    FrameFunction,
    FunctionCode,
    FunctionText,
    Sql,
    TextSink,
)
from tests.pipeline.make import Pipe

pytestmark = pytest.mark.spark

PLACES = ("_block", "_offset")
QUERY = "SELECT * FROM records WHERE NOT startswith(value, '.') ORDER BY value DESC"
CODE = FunctionCode(
    text="""\
def dotless(frame: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    return frame.where(~f.startswith("value", f.lit("."))).orderBy("value", ascending=False)
""",
    file="/dags/mine.py",
    line=7,
)
WAYS = {
    "sql": Sql(QUERY, columns=PLACES),
    "text": DataFrameFunction(FunctionText(name="dotless", digest=CODE.digest, code=CODE), columns=PLACES),
    "declared": DataFrameFunction(
        FunctionText(name="dotless", digest=CODE.digest, code=CODE),
        columns=PLACES,
        schema="value string, _block long, _offset long",
    ),
}


@pytest.fixture
def dots(pipe: Pipe) -> Pipe:
    """A pipeline over lines of which each second one starts with a dot, and a file for each block."""
    pipe.put({name: "".join(f"{'.' * (n % 2)}{name}{n}\n" for n in range(60)).encode() for name in ("a", "b")})
    pipe.kind, pipe.sink_options, pipe.block_size = "text", {"per": "block"}, 20
    pipe.env = dataclasses.replace(pipe.env, code=CODE)
    return pipe


def files(pipe: Pipe) -> dict[int, list[str]]:
    """Return the lines of each published file, by the block in its name."""
    return {
        int(re.findall(r"-b([0-9a-f]+)\.txt$", name)[0], 16): (pipe.out / name).read_text().splitlines()
        for name in pipe.published()
    }


@pytest.mark.parametrize("way", WAYS)
def test_each_block_has_a_file(dots: Pipe, way: str) -> None:
    """Whatever the order of the function's rows, each file holds the lines of one block, as they follow in it."""
    dots.run()
    lines = files(dots)
    dots.function = WAYS[way]
    done = dots.run(clear_number=1)

    kept = {block: [line for line in of_block if line[0] != "."] for block, of_block in lines.items()}
    assert len(lines) > 16
    assert files(dots) == {block: of_block for block, of_block in kept.items() if of_block}
    assert done.rows == 60


def test_a_group_has_a_file(dots: Pipe) -> None:
    """It has all rows, whatever the number of partitions."""
    dots.sink_options, dots.function = {"per": "group"}, Sql("SELECT /*+ REPARTITION(3) */ value FROM records")
    dots.run()

    (name,) = dots.published()
    lines = (dots.out / name).read_text().splitlines()
    assert sorted(lines) == sorted(f"{'.' * (n % 2)}{of}{n}" for of in "ab" for n in range(60))


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("SELECT value FROM records", r"the SQL query returns no column _block, .* or choose TextSink\(per='task'\)"),
        ("SELECT value, 'x' AS _block FROM records", "returns no column _block"),
        ("SELECT value, CAST(NULL AS long) AS _block FROM records", "a row has no block in _block"),
    ],
)
def test_rows_of_no_block_are_refused(dots: Pipe, query: str, says: str) -> None:
    """The message says what to do, and either of it works."""
    dots.function: FrameFunction = Sql(query)
    with pytest.raises(FunctionError, match=says):
        dots.run()
    assert dots.published() == []
    if "NULL" in query:
        dots.function = WAYS["sql"]
    else:
        dots.sink_options, dots.function = {"per": "task"}, Sql("SELECT value FROM records")

    assert dots.run(clear_number=1).rows == (60 if "NULL" in query else 120)


def test_only_some_sinks_have_files_of_blocks() -> None:
    """The option of the sink says so."""
    assert [TextSink("out", per=per).per_block for per in ("task", "block")] == [False, True]
