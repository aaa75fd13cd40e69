"""Writes a DataFrame with the sink's own writer, in the tasks of one Spark job."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_blockread.errors import FunctionError
from airflow_provider_blockread.exchange.model import OutputFile, ReadSpec
from airflow_provider_blockread.options import GenerationOptions
from airflow_provider_blockread.sinks.conform import conform
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.registry import make_sink
from airflow_provider_blockread.spark.engines.context import attempt_id
from airflow_provider_blockread.spark.engines.reporting import own_errors_as_text
from airflow_provider_blockread.spark.tasks.audit import Audit
from airflow_provider_blockread.storage.stores import Stores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BLOCK = "_block"
_PLACES = (_BLOCK, "_offset")  # rows are sorted by these if each block has a file


def write_frame(
    frame: DataFrame, schema: pa.Schema, spec: ReadSpec, make_stores: Callable[[], Stores], secret: str
) -> tuple[OutputFile, ...]:
    """Write the rows of a DataFrame in this schema, and return the files of the task attempts that Spark accepted.

    `secret` seals the errors of this package.
    """
    if spec.options.sink.per_block:
        frame = frame.repartition(_BLOCK).sortWithinPartitions(*(name for name in _PLACES if name in frame.columns))
    if spec.options.sink.per_group:
        frame = frame.coalesce(1)  # no shuffle; if partitions have preferred hosts, they may change order
    task = partial(_write, spec, schema, make_stores, secret)
    plain = frame.toDF(*(f"c{number}" for number in range(len(schema))))  # mapInArrow reads a dot as a path
    answers = plain.mapInArrow(task, "outputs string").collect()
    return tuple(OutputFile(**output) for answer in answers for output in json.loads(answer.outputs))


def written_schema(schema: pa.Schema, options: GenerationOptions) -> pa.Schema:
    """Return the schema of what the sink gets; if each block has a file, the file's name replaces the column `_block`.

    Raises:
        FunctionError: when files are named after blocks, but the column `_block` is missing.
    """
    if not options.sink.per_block:
        return schema
    if schema.get_field_index(_BLOCK) < 0 or schema.field(_BLOCK).type != pa.int64():
        msg = (
            f"{options.function} returns no column {_BLOCK}, by which a file for each block gets its rows; ask for"
            f" it by columns=[{_BLOCK!r}] and return it as it is, or choose TextSink(per='task')"
        )
        raise FunctionError(msg)
    return pa.schema([field for field in schema if field.name not in _PLACES])


def _write(
    spec: ReadSpec, schema: pa.Schema, make_stores: Callable[[], Stores], secret: str, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Write a partition and yield its report; runs on executors."""
    name = AttemptName.of(spec, attempt=attempt_id())
    with own_errors_as_text(secret):
        outputs = _written(spec, schema, make_stores(), name, batches)
    yield pa.RecordBatch.from_pydict({"outputs": [json.dumps([dataclasses.asdict(output) for output in outputs])]})


def _written(
    spec: ReadSpec, schema: pa.Schema, stores: Stores, name: AttemptName, batches: Iterator[pa.RecordBatch]
) -> list[OutputFile]:
    audit = Audit(spec)
    writer = make_sink(stores, spec.options.sink).writer(spec.target, name, None)  # with a schema, it checks nothing
    try:
        for batch in batches:
            for rows, block in _rows(_cast(batch, schema), per_block=spec.options.sink.per_block):
                writer.write(audit.add(rows), block)
        return writer.close()
    except FunctionError as error:
        writer.abort()
        msg = f"{spec}: a row of {spec.options.function}: {error}"
        raise FunctionError(msg) from error
    except BaseException:
        writer.abort()
        raise


def _rows(batch: pa.RecordBatch, *, per_block: bool) -> Iterator[tuple[pa.RecordBatch, int | None]]:
    """Yield the rows of a batch; block by block, with the block's number, if each block has a file."""
    if not per_block:
        if batch.num_rows:
            yield batch, None
        return
    runs = pc.run_end_encode(batch[_BLOCK])
    rest = batch.drop_columns([name for name in _PLACES if name in batch.schema.names])
    start = 0
    for block, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        if block is None:
            msg = f"a row has no block in {_BLOCK}; return that column as it is"
            raise FunctionError(msg)
        yield rest.slice(start, end - start), block
        start = end


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the batch with the types of a schema, since Spark marks instants with the zone of its session."""
    columns = [column.cast(kind) for column, kind in zip(batch.columns, schema.types, strict=True)]
    return conform(pa.RecordBatch.from_arrays(columns, names=schema.names), schema)
