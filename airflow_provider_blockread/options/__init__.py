"""Options as DAG authors write them: frozen values that convert to and from JSON; `resolve` renders their templates.

Standard library only: the DAG processor imports this at every parse. Sizes are bytes, durations seconds.
"""

from __future__ import annotations

from airflow_provider_blockread.options.formats import (
    FORMATS,
    Csv,
    CustomFormat,
    Delimited,
    Escaped,
    Fixed,
    FormatOption,
    JsonArray,
    JsonLines,
    Lines,
    Members,
    WholeFile,
)
from airflow_provider_blockread.options.functions import (
    ArrowFunction,
    AsRead,
    DataFrameFunction,
    FrameFunction,
    FunctionCode,
    FunctionOption,
    FunctionText,
    Sql,
)
from airflow_provider_blockread.options.parsing.sizes import parse_size
from airflow_provider_blockread.options.parsing.times import (
    TimePattern,
    moment,
    nanoseconds,
    parse_age,
    parse_duration,
    parse_time,
    utc_text,
)
from airflow_provider_blockread.options.plan import Limits, Selection, Splitting
from airflow_provider_blockread.options.read import MERGED, GenerationOptions, Policies, SparkJob, merging
from airflow_provider_blockread.options.sink_names import SINKS
from airflow_provider_blockread.options.sinks import ArchiveSink, ColumnarSink, ParquetSink, Sink
from airflow_provider_blockread.options.source import Bounds, FileSource
from airflow_provider_blockread.options.storage_events import StorageEvents
from airflow_provider_blockread.options.tables import CustomSink, DeltaSink, IcebergSink, PostgresSink
from airflow_provider_blockread.options.text_sinks import CsvSink, JsonLinesSink, LineSink, TextSink
from airflow_provider_blockread.options.upstream import EventFiles, FileList
from airflow_provider_blockread.options.values import Value, build, from_json, parse

__all__ = [
    "FORMATS",
    "MERGED",
    "SINKS",
    "ArchiveSink",
    "ArrowFunction",
    "AsRead",
    "Bounds",
    "ColumnarSink",
    "Csv",
    "CsvSink",
    "CustomFormat",
    "CustomSink",
    "DataFrameFunction",
    "Delimited",
    "DeltaSink",
    "Escaped",
    "EventFiles",
    "FileList",
    "FileSource",
    "Fixed",
    "FormatOption",
    "FrameFunction",
    "FunctionCode",
    "FunctionOption",
    "FunctionText",
    "GenerationOptions",
    "IcebergSink",
    "JsonArray",
    "JsonLines",
    "JsonLinesSink",
    "Limits",
    "LineSink",
    "Lines",
    "Members",
    "ParquetSink",
    "Policies",
    "PostgresSink",
    "Selection",
    "Sink",
    "SparkJob",
    "Splitting",
    "Sql",
    "StorageEvents",
    "TextSink",
    "TimePattern",
    "Value",
    "WholeFile",
    "build",
    "from_json",
    "merging",
    "moment",
    "nanoseconds",
    "parse",
    "parse_age",
    "parse_duration",
    "parse_size",
    "parse_time",
    "utc_text",
]
