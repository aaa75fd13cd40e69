"""Columns of csv without a schema: inferred from a sample once, kept with the window, fixed for its generations.

JSON: `schema` is the schema's text, `files` the paths of the sample. It follows from the manifest and the format, which
are in the file's name.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator
from itertools import islice

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import ExchangeError, RecordError
from airflow_provider_blockread.exchange.files import parse_json, read_required
from airflow_provider_blockread.exchange.layout import window_folder
from airflow_provider_blockread.exchange.manifest import read_manifest
from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.options import Csv, FormatOption, GenerationOptions
from airflow_provider_blockread.records.csv_infer import Sample, infer_schema, sample_file
from airflow_provider_blockread.records.reading import bind
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.spark.opening import open_version
from airflow_provider_blockread.steps.model import Environment
from airflow_provider_blockread.steps.scanning import format_key
from airflow_provider_blockread.storage.stores import Stores

_FILES = 8  # of the window's first ones that hold anything
_BYTES = 2**20  # of each
_OF_NOTHING = "_c0 string"  # where all files are empty: there is no row that it could be wrong about


def infers_columns(option: FormatOption) -> bool:
    """Tell whether a format's columns are to be inferred from the files."""
    return isinstance(option, Csv) and option.schema is None


def with_columns(
    env: Environment, window: Window, options: GenerationOptions, *, excluded: Iterable[int] = ()
) -> GenerationOptions:
    """Return the options with the columns of csv known: as they are, or with the window's inferred schema.

    Groups, retries and rebuilds of a window under one format agree on the schema: the first of them infers it.

    Raises:
        FileMissingError: when a file of the sample is gone.
        FileChangedError: when it is no longer the version that was planned.
        RecordError: when the sample cannot be read as csv.
    """
    option = options.record_format
    if not isinstance(option, Csv) or option.schema is not None:
        return options
    schema = inferred_schema(env.stores, window, options)
    if schema is None:
        sample = list(islice(_sampled(env, window, set(excluded)), _FILES))
        schema = _infer(env, sample, options, option)
        kept = {"schema": schema, "files": [version.path for version in sample]}
        env.stores.write_bytes_atomic(_schema_uri(window, options), json.dumps(kept, indent=1).encode())
        env.log(f"window {window.id}: columns as in the first {len(sample)} files: {schema}")
    return dataclasses.replace(options, record_format=dataclasses.replace(option, schema=schema))


def inferred_schema(stores: Stores, window: Window, options: GenerationOptions) -> str | None:
    """Return the schema that was inferred for the window and format, None when none was or it is damaged."""
    uri = _schema_uri(window, options)
    try:
        schema = parse_json(read_required(stores, uri, "schema file"), uri, "schema file").get("schema")
    except ExchangeError:
        return None
    return schema if isinstance(schema, str) else None


def _schema_uri(window: Window, options: GenerationOptions) -> str:
    folder = window_folder(options.sink.work_area, window.feed, window.id)
    return f"{folder}/schema-{format_key(window, options)}.json"


def _sampled(env: Environment, window: Window, excluded: set[int]) -> Iterator[FileVersion]:
    """Yield the window's files that hold anything, in the manifest's order."""
    for block in read_manifest(env.stores, window.manifest_uri, window.manifest_hash):
        if block.start == 0 and block.version.size and block.file not in excluded:
            yield block.version


def _infer(env: Environment, sample: list[FileVersion], options: GenerationOptions, option: Csv) -> str:
    """Return the schema of the sampled files; where they are no csv of one kind, the file at hand is named."""
    at = ""

    def samples() -> Iterator[Sample]:
        nonlocal at
        fmt = make_format(option)
        for version in sample:
            at = version.path
            with open_version(env.stores, version, options) as source:
                taken = sample_file(source, bind(source, fmt), _BYTES)
            yield taken

    try:
        return infer_schema(option, samples()) if sample else _OF_NOTHING
    except RecordError as error:
        msg = f"the columns of csv cannot be inferred, {at}: {error}"
        raise RecordError(msg) from error
