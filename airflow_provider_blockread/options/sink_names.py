"""The names of sinks, as the command line and manifests use them."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_blockread.options.sinks import ArchiveSink, ParquetSink, Sink
from airflow_provider_blockread.options.tables import CustomSink, DeltaSink, IcebergSink, PostgresSink
from airflow_provider_blockread.options.text_sinks import CsvSink, JsonLinesSink, TextSink

#: The option class of each sink, by the name that users write.
SINKS: Mapping[str, type[Sink]] = {
    "parquet": ParquetSink,
    "text": TextSink,
    "delta": DeltaSink,
    "iceberg": IcebergSink,
    "postgres": PostgresSink,
    "json_lines": JsonLinesSink,
    "csv": CsvSink,
    "archive": ArchiveSink,
    "custom": CustomSink,
}
