"""Files as a commit adds them to an Iceberg table: with statistics from their footers, by column id, and partitions.

Partitions are not taken from the files' own bounds, as pyiceberg does: buckets and long texts have no bounds. Instead,
the task that wrote a file reports them.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from pyiceberg.expressions.literals import literal
from pyiceberg.io.pyarrow import (
    MetricModeTypes,
    MetricsMode,
    StatisticsCollector,
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField
from pyiceberg.schema import Schema
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import VoidTransform, parse_transform
from pyiceberg.typedef import Record
from pyiceberg.types import DateType, DoubleType, FloatType, IcebergType, TimestampType, TimestamptzType

from airflow_provider_blockread.errors import OptionsError, ProofError
from airflow_provider_blockread.exchange.model import FieldIds, OutputFile
from airflow_provider_blockread.options.partitions import Partition
from airflow_provider_blockread.sinks.columnar.field_ids import ids_of, with_ids
from airflow_provider_blockread.sinks.columnar.transforms import as_number
from airflow_provider_blockread.sinks.parquet import read_footer
from airflow_provider_blockread.storage import Stores


def written(partition: Partition) -> str:
    """Return a partition as an option spells it: `day`, `day(at)`, `bucket(16, id)`."""
    width = f"{partition.width}, " if partition.width else ""
    return partition.column if partition.is_plain else f"{partition.transform}({width}{partition.column})"


def mispartitioned(table: Table, wanted: Sequence[Partition], name: str) -> str:
    """Return in words that a table has other partitions than an option, or an empty string if it has the same."""
    fields = (field for field in table.spec().fields if not _was_removed(field))
    found = [written(_partition(field, table.schema())) for field in fields]
    if found == list(map(written, wanted)):
        return ""
    return (
        f"{name} is partitioned by {', '.join(found) or 'nothing'}; give partition_by the same columns and transforms,"
        " or choose another table"
    )


def whole_files(table: Table, name: str) -> Iterator[DataFile]:
    """Yield the data files of a table from which no file of deletes has taken rows.

    Raises:
        OptionsError: when the table has deletes that pyiceberg does not read.
    """
    try:
        tasks = list(table.scan().plan_files())
    except ValueError as error:
        msg = (
            f"{name} has deleted rows that pyiceberg does not find ({error}); have its data files rewritten without"
            " them (CALL system.rewrite_data_files in Spark), then retry"
        )
        raise OptionsError(msg) from error
    return (task.file for task in tasks if not task.delete_files)


def add_partitions(made: Transaction, partitions: Sequence[Partition]) -> None:
    """Partition a table that is being created."""
    with made.update_spec() as spec:
        for one in partitions:
            transform = f"{one.transform}[{one.width}]" if one.width else one.transform
            spec.add_field(one.column, parse_transform(transform), one.name)


def field_ids(metadata: TableMetadata) -> FieldIds:
    """Return the ids that a table gives its columns, and the last one in use."""
    return FieldIds(mapping=metadata.schema().name_mapping.model_dump_json(), last=metadata.last_column_id)


def data_files(stores: Stores, metadata: TableMetadata, files: Sequence[OutputFile]) -> Iterator[DataFile]:
    """Yield files with their statistics and partitions; each footer is read.

    pyiceberg's own function for this converts the table's columns again for each file, and ignores the ids in files.

    Raises:
        ProofError: when the columns of a file have different ids than the table's.
    """
    spec, schema = metadata.spec(), metadata.schema()
    ids, known = field_ids(metadata), list[pa.Schema]()
    paths, plan = parquet_path_to_id_mapping(schema), compute_statistics_plan(schema, metadata.properties)
    for file in files:
        footer = read_footer(stores, file)
        found = footer.schema.to_arrow_schema()
        if not any(found.equals(checked, check_metadata=True) for checked in known):
            _require_ids(found, ids, file)
            known.append(found)
        # A column with NaN has no bounds there. Those of the footer leave it out, and pyiceberg does not count it.
        own = dict(_without_bounds(plan, (FloatType, DoubleType), but=file.statistics.get("min", ())))
        try:
            said = data_file_statistics_from_parquet_metadata(footer, own, paths)
        except OverflowError:  # a bound is outside of the years that Python supports
            own = dict(_without_bounds(own, (DateType, TimestampType, TimestamptzType)))
            said = data_file_statistics_from_parquet_metadata(footer, own, paths)
        yield DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=file.uri,
            file_format=FileFormat.PARQUET,
            partition=Record(*[_value(field, schema, file) for field in spec.fields]),
            file_size_in_bytes=file.size,
            spec_id=spec.spec_id,
            **said.to_serialized_dict(),
        )


def _without_bounds(
    plan: Mapping[int, StatisticsCollector], types: tuple[type[IcebergType], ...], but: Container[str] = ()
) -> Iterator[tuple[int, StatisticsCollector]]:
    """Yield a plan of statistics without bounds of the columns of some types, but for those of some names."""
    for number, column in plan.items():
        drops = isinstance(column.iceberg_type, types) and column.column_name not in but
        yield number, replace(column, mode=MetricsMode(MetricModeTypes.COUNTS)) if drops else column


def _require_ids(found: pa.Schema, ids: FieldIds, file: OutputFile) -> None:
    """Refuse a file whose ids would lead readers to wrong columns; a file without ids is read by names."""
    carried = ids_of(found)
    if any(number is not None for number in carried) and carried != ids_of(with_ids(found, ids)):
        msg = (
            f"{file.uri} has other column ids than the table, whose columns were changed by another writer since the"
            " file was written; clear the run from its plan on, and it is written again"
        )
        raise ProofError(msg)


def _was_removed(field: PartitionField) -> bool:
    """Return whether a field of a spec is only the place of one that was removed, as format version 1 keeps it."""
    return isinstance(field.transform, VoidTransform)


def _partition(field: PartitionField, schema: Schema) -> Partition:
    name, _, width = str(field.transform).rstrip("]").partition("[")
    return Partition(str(schema.find_column_name(field.source_id)), name, int(width or 0))


def _value(field: PartitionField, schema: Schema, file: OutputFile) -> object:
    """Return the value of a partition as Iceberg stores it."""
    if _was_removed(field):
        return None
    partition = _partition(field, schema)
    text = file.partition[partition.name]
    if text is None:
        return None
    if partition.is_plain or partition.transform == "truncate":
        return literal(str(text)).to(schema.find_type(field.source_id)).value
    return as_number(partition, text)
