"""Writing a DataFrame by the sink's own writer, in the tasks of one Spark job."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from airflow_provider_blockread.errors import FunctionError
from airflow_provider_blockread.exchange.model import OutputFile, ReadSpec
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.registry import make_sink
from airflow_provider_blockread.spark.engines.reporting import own_errors_as_text
from airflow_provider_blockread.storage.stores import Stores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def write_frame(
    frame: DataFrame, schema: pa.Schema, spec: ReadSpec, make_stores: Callable[[], Stores], secret: str
) -> tuple[OutputFile, ...]:
    """Write the rows of a DataFrame and return the files of the task attempts that Spark accepted.

    Args:
        frame: what to write.
        schema: of its rows, as they are written.
        spec: of the group, by which files are named.
        make_stores: opens the staging folder of the sink.
        secret: seals the errors of this package.
    """
    task = partial(_write, spec, schema, make_stores, secret)
    plain = frame.toDF(*(f"c{number}" for number in range(len(schema))))  # mapInArrow takes a dot for a path
    answers = plain.mapInArrow(task, "outputs string").collect()
    return tuple(OutputFile(**output) for answer in answers for output in json.loads(answer.outputs))


def _write(
    spec: ReadSpec,
    schema: pa.Schema,
    make_stores: Callable[[], Stores],
    secret: str,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Write a partition and yield its report; runs on executors."""
    from pyspark import TaskContext

    context = TaskContext.get()
    name = AttemptName.of(spec, attempt=context.taskAttemptId() if context else 0)
    with own_errors_as_text(secret):
        outputs = _written(spec, schema, make_stores(), name, batches)
    yield pa.RecordBatch.from_pydict({"outputs": [json.dumps([dataclasses.asdict(output) for output in outputs])]})


def _written(
    spec: ReadSpec, schema: pa.Schema, stores: Stores, name: AttemptName, batches: Iterator[pa.RecordBatch]
) -> list[OutputFile]:
    writer = make_sink(stores, spec.options.sink).writer(spec.target, name, schema)
    try:
        for batch in batches:
            if batch.num_rows:
                writer.write(_cast(batch, schema))
        return writer.close()
    except FunctionError as error:
        writer.abort()
        msg = f"a row of {spec.options.function}: {error}"
        raise FunctionError(msg) from error
    except BaseException:
        writer.abort()
        raise


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the batch with the types of a schema: Spark marks instants with the zone of its session."""
    columns = [column.cast(kind) for column, kind in zip(batch.columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=schema.names)
