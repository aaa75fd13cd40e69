"""The partitions of an Iceberg table: its spec, and the values of each file, as the task that wrote it reported them.

Values are not taken from the files' own bounds, as pyiceberg does: there are none of buckets, nor of long texts.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg.expressions.literals import literal
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import parquet_files_to_data_files
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import parse_transform
from pyiceberg.typedef import Record

from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.options.partitions import Partition
from airflow_provider_blockread.sinks.columnar.transforms import as_number

_PLACE = 3  # of the partition in a data file's record


def written(partition: Partition) -> str:
    """Return a partition as an option has it: `day`, `day(at)`, `bucket(16, id)`."""
    width = f"{partition.width}, " if partition.width else ""
    return partition.column if partition.is_plain else f"{partition.transform}({width}{partition.column})"


def partitions_of(table: Table) -> list[str]:
    """Return by what a table is partitioned, in the same words."""
    return [written(_partition(field, table.schema())) for field in table.spec().fields]


def add_partitions(made: Transaction, partitions: Sequence[Partition]) -> None:
    """Partition a table that is being made."""
    with made.update_spec() as spec:
        for one in partitions:
            transform = f"{one.transform}[{one.width}]" if one.width else one.transform
            spec.add_field(one.column, parse_transform(transform), one.name)


def data_files(io: FileIO, metadata: TableMetadata, files: Sequence[OutputFile]) -> list[DataFile]:
    """Return files as a commit adds them, with their statistics and partitions; each footer is read."""
    spec, schema = metadata.spec(), metadata.schema()
    bare = metadata.model_copy(update={"partition_specs": [PartitionSpec(spec_id=spec.spec_id)]})
    added = list(parquet_files_to_data_files(io, bare, iter([file.uri for file in files])))
    for data_file, file in zip(added, files, strict=True):
        data_file[_PLACE] = Record(*[_value(field, schema, file) for field in spec.fields])
    return added


def _partition(field: PartitionField, schema: Schema) -> Partition:
    name, _, width = str(field.transform).rstrip("]").partition("[")
    return Partition(str(schema.find_column_name(field.source_id)), name, int(width or 0))


def _value(field: PartitionField, schema: Schema, file: OutputFile) -> object:
    """Return the value of a partition as Iceberg stores it."""
    partition = _partition(field, schema)
    text = file.partition[partition.name]
    if text is None:
        return None
    if partition.is_plain or partition.transform == "truncate":
        return literal(str(text)).to(schema.find_type(field.source_id)).value
    return as_number(partition, text)
