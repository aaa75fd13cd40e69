"""Columns of csv without a schema: inferred once from a sample, kept with the window, fixed for its generations.

They are kept as sealed JSON: `schema` is the schema's text, `files` the paths of the sampled files. It is determined by
the manifest and the format, which are in the file's name, and the seal is bound to that name. A plan that names newer
versions keeps it, unless these are in the sample and nothing is published.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import FileMissingError, RecordError, SourceError, printable
from airflow_provider_blockread.exchange.failures import naming_file
from airflow_provider_blockread.exchange.files import read_small
from airflow_provider_blockread.exchange.layout import window_folder
from airflow_provider_blockread.exchange.seals import sealed, unsealed
from airflow_provider_blockread.ledger.feeds import require_feed
from airflow_provider_blockread.ledger.model import Claim, Window
from airflow_provider_blockread.ledger.overview.windows import WindowFilter, list_page
from airflow_provider_blockread.ledger.windows.generations import as_read_by
from airflow_provider_blockread.options import Csv, FormatOption, GenerationOptions
from airflow_provider_blockread.options.parsing.sizes import plural
from airflow_provider_blockread.records.columns.schema import parse_schema
from airflow_provider_blockread.spark.inferring import infer_columns, with_inferred
from airflow_provider_blockread.steps.model import Environment
from airflow_provider_blockread.steps.read.scanning import format_key, without_files
from airflow_provider_blockread.storage import uris

_NAME = "columns"
_NAMED = 5  # columns in a message
_MOST_BYTES = 2**26  # a million columns


def infers_columns(option: FormatOption) -> bool:
    """Return whether a format's columns must be inferred from the files."""
    return isinstance(option, Csv) and option.schema is None


def with_columns(
    env: Environment, window: Window, options: GenerationOptions, claim: Claim
) -> tuple[GenerationOptions, bool]:
    """Return the options unchanged or, for csv without a schema, with the schema inferred for the window.

    Also return whether the columns are known: they are not if no file had a row or header to infer them from.
    Groups, retries and rebuilds of a window with the same format use the same schema: the first of them infers it. A
    rebuild that is alone in leaving files out infers a schema for itself.

    Raises:
        FileMissingError: when a file of the sample is gone.
        FileChangedError: when it is no longer the version that was planned.
        RecordError: when the sample cannot be read as csv.
    """
    option = options.record_format
    if not isinstance(option, Csv) or option.schema is not None:
        return options, True
    own = _schema_uri(window, options, without_files(env, window, claim.ref.generation))
    kept = _kept(env, window, _schema_uri(window, options)) or _kept(env, window, own)
    if kept is None:
        schema, paths = _infer(env, window, options, option, excluded=set(claim.excluded))
        kept = {"schema": schema, "files": paths}
        _keep(env, window, own, kept)
        source = f"as found in {plural(len(paths), 'file')}" if paths else "of files without a row or header"
        env.observer.log(f"window {window.id}: columns {source}: {schema}")
        _warn_of_other_types(env, window, options, schema)
    now = with_inferred(option, str(kept["schema"]))
    return dataclasses.replace(options, record_format=now), bool(kept["files"])


def _warn_of_other_types(env: Environment, window: Window, options: GenerationOptions, schema: str) -> None:
    """Warn about columns with other types than in the last published window, since readers may not read both."""
    feed = require_feed(env.ledger, window.feed)
    last = next(iter(list_page(env.ledger, feed, WindowFilter(state="published"), limit=1)), None)
    if last is None or last.window.id == window.id:
        return
    before = inferred_schema(env, as_read_by(last.window, last.shown), options)
    if before is None:
        return
    types = {field.name: field.type for field in parse_schema(before)}
    others = [field for field in parse_schema(schema) if types.get(field.name, field.type) != field.type]
    if others:
        named = ", ".join(f"{field.name!r} {field.type} instead of {types[field.name]}" for field in others[:_NAMED])
        env.observer.warn(
            f"window {window.id}: inferred columns have other types than in window {last.window.id}: {named}; readers"
            f" of both may fail. Declare types for all windows, such as schema={before!r}"
        )


def inferred_schema(env: Environment, window: Window, options: GenerationOptions) -> str | None:
    """Return the schema that was inferred for the window and format, or None if there is none with a valid seal."""
    kept = _kept(env, window, _schema_uri(window, options))
    return None if kept is None else str(kept["schema"])


def _kept(env: Environment, window: Window, uri: str) -> dict[str, Any] | None:
    try:
        data = read_small(env.stores, uri, _MOST_BYTES)
    except FileMissingError:
        return None
    return unsealed(_NAME, data, secret=env.window_secret(window.id), bound=uris.name_of(uri))


def _keep(env: Environment, window: Window, uri: str, kept: Mapping[str, object]) -> None:
    if env.stores.exists(uri):
        env.observer.warn(f"schema file {uri} is damaged or was replaced; the columns are inferred again")
    env.stores.write_bytes_atomic(uri, _sealed(env, window, uri, kept))


def _sealed(env: Environment, window: Window, uri: str, kept: Mapping[str, object]) -> bytes:
    return sealed(_NAME, kept, secret=env.window_secret(window.id), bound=uris.name_of(uri))


def _schema_uri(window: Window, options: GenerationOptions, without: str = "") -> str:
    folder = window_folder(options.sink.work_area, window.feed, window.id)
    return f"{folder}/schema-{format_key(window.manifest_hash, options)}{without}.json"


def carry_schema(
    env: Environment, before: Window, now: Window, options: GenerationOptions, changed: Collection[str]
) -> bool:
    """Keep the schema inferred under an earlier plan of a window; return whether groups read under it stay valid.

    The options are those of the generation that will read it. If one of the changed files (paths) was sampled, the
    columns are inferred again.
    """
    if not infers_columns(options.record_format):
        return True
    kept = _kept(env, before, _schema_uri(before, options))
    if kept is None or set(kept["files"]) & set(changed):
        return False
    uri = _schema_uri(now, options)
    env.stores.write_bytes_atomic(uri, _sealed(env, now, uri, kept))
    return True


def _with_bytes(env: Environment, window: Window, excluded: set[int]) -> Iterator[FileVersion]:
    """Yield the window's files that are not empty, in the manifest's order."""
    for block in env.blocks(window):
        if block.start == block.part_start and block.version.size and block.file not in excluded:
            yield block.version


def _infer(
    env: Environment, window: Window, options: GenerationOptions, option: Csv, *, excluded: set[int]
) -> tuple[str, list[str]]:
    """Return the schema of the first files with a row or header, and the paths of these files.

    If the files are not csv with the same columns, the error names the file concerned.
    """
    paths: list[str] = []
    versions = _with_bytes(env, window, excluded)
    try:
        return infer_columns(env.stores, versions, option, options, paths), paths
    except SourceError as error:
        raise type(error)(naming_file(error, window.id, error.path), error.path) from error
    except RecordError as error:
        why, path = naming_file(error, window.id, paths[-1]), paths[-1]
        where = "" if printable(path) in str(error) else f", {path}"
        msg = f"feed {window.feed} window {window.id}: the columns of csv cannot be inferred{where}: {why}"
        raise RecordError(msg) from error
