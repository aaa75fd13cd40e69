"""Functions by their text, as `@blockread` takes them from a DAG's file."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_blockread.options import ArrowFunction, DataFrameFunction, FunctionCode, FunctionText
from tests.pipeline.make import Pipe

#: Keeps short lines.
SHORT = """\
    def short(batch: pa.RecordBatch, most=2) -> pa.RecordBatch:
        import pyarrow.compute as pc  # a mark: quagga

        return batch.filter(pc.less_equal(pc.utf8_length(batch["value"]), most))
"""

#: Doubles each line, by a function that it defines for the workers.
DOUBLED = """\
def doubled(frame: DataFrame) -> DataFrame:
    from pyspark.sql.functions import udf

    @udf("string")
    def twice(value):
        return value * 2

    return frame.select(twice("value").alias("value"))
"""


def text_of(body: str, name: str = "short", line: int = 12) -> FunctionText:
    """Return a function by its text, as a DAG's file would have it at a line."""
    code = FunctionCode(text=body, file="/dags/mine.py", line=line)
    return FunctionText(name=name, digest=code.digest, code=code)


def use(pipe: Pipe, text: FunctionText, option: type[ArrowFunction | DataFrameFunction] = ArrowFunction) -> None:
    """Read with a function by its text: its option for the plan, and its code for the read."""
    pipe.function = option(text)
    pipe.env = replace(pipe.env, code=text.code)
