"""The data source without a JVM: what Spark's Python processes call, in their order, with all that they pickle."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.datasource import CaseInsensitiveDict, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType, VariantType

from airflow_provider_blockread.options import CustomFormat, FormatOption
from airflow_provider_blockread.records.columns.schema import parse_schema
from airflow_provider_blockread.spark.data_source.source import BlockReadReader, make_data_source

#: Schemas with a variant, which Arrow and so `parse_schema` does not have.
VARIANTS = [
    StructType([StructField("msg", kind)])
    for kind in (VariantType(), MapType(StringType(), VariantType()), ArrayType(VariantType()))
]


def as_options(option: FormatOption) -> dict[str, str]:
    """Return a format as the options of the data source."""
    default = type(option)
    texts = {"format": option.path if isinstance(option, CustomFormat) else option.kind}
    for field in dataclasses.fields(default):
        value = getattr(option, field.name)
        if value == field.default or field.name in {"path", "options"}:
            continue
        if isinstance(value, bool):
            texts[field.name] = str(value).lower()
        elif isinstance(value, bytes) or field.name in {"delimiter", "quote", "escape", "comment"}:
            data = b"" if value is None else value if isinstance(value, bytes) else value.encode()
            texts[field.name] = "".join(f"\\x{byte:02x}" for byte in data)
        else:
            texts[field.name] = str(value)
    return texts


class Query:
    """One query on a `load` of this process: `partitions` are planned, and `rows` reads them in order."""

    def __init__(
        self,
        path: Path | str,
        *,
        typed: str | StructType = "",
        storage: Mapping[str, Any] | None = None,
        **options: str,
    ) -> None:
        """Load and plan; `typed` is what `.schema(...)` gets, as Spark's type or in the words of this package."""
        source = make_data_source(storage or {})(CaseInsensitiveDict({"path": str(path), **options}))
        if isinstance(typed, str) and typed:
            typed = from_arrow_schema(parse_schema(typed))
        self.schema = typed or source.schema()
        source = cloudpickle.loads(cloudpickle.dumps(source))
        self._reader: BlockReadReader = source.reader(self.schema)
        self.partitions: list[InputPartition] = list(self._reader.partitions())

    def batches(self) -> list[pa.RecordBatch]:
        """Return the batches of all partitions."""
        reader = cloudpickle.loads(cloudpickle.dumps(self._reader))
        return [batch for p in self.partitions for batch in reader.read(cloudpickle.loads(cloudpickle.dumps(p)))]

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows."""
        return [row for batch in self.batches() for row in batch.to_pylist()]
