"""`blockread schema`: the columns of files, to be declared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from typing import Any

import click

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.cli.options.shared import format_option_option, json_option, make_format_option, number
from airflow_provider_blockread.cli.options.sourcing import Sourcing, sourcing_options
from airflow_provider_blockread.cli.terminal.aside import printing_aside
from airflow_provider_blockread.cli.terminal.printing import print_json, say
from airflow_provider_blockread.errors import BlockReadError, OptionsError, SourceError
from airflow_provider_blockread.ledger.store import utc_now
from airflow_provider_blockread.options import Bounds, Csv, FileSource, Policies
from airflow_provider_blockread.options.parsing.sizes import plural
from airflow_provider_blockread.records.csv.infer import infer_schema as infer_csv
from airflow_provider_blockread.records.json.infer import Inferred
from airflow_provider_blockread.records.json.infer import infer_schema as infer_json
from airflow_provider_blockread.spark.inferring import SAMPLE_FILES, naming_sampled, sample_files
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.listing.roots import bounds_of
from airflow_provider_blockread.storage.stores import Stores


@dataclass(frozen=True, kw_only=True)
class SchemaOptions(Sourcing):
    """The options as given."""

    format_name: str
    format_option: tuple[str, ...]
    files: int
    as_json: bool


@dataclass(frozen=True, kw_only=True)
class _Opening:
    policies: Policies
    bounds: Bounds


@click.command()
@click.argument("source", nargs=-1, required=True)
@click.option("--files", type=number, default=SAMPLE_FILES, show_default=True, help="Files in the sample.")
@sourcing_options
@format_option_option
@click.option(
    "--format", "format_name", required=True, type=click.Choice(["csv", "json_lines", "json_array"]), help="The format."
)
@json_option
def schema(**options: Any) -> None:  # noqa: ANN401 - click passes every option by name
    """Print the schema of the csv or JSON files of SOURCE, as --schema and DAGs take it.

    It is found in a sample, the first MiB of the first files: check it before you declare it.
    """
    given = SchemaOptions(**options)
    option = make_format_option(given.format_name, given.format_option, None)
    if getattr(option, "schema", None) is not None:
        msg = "the schema is what this command finds; leave out --format-option schema"
        raise OptionsError(msg)
    stores, source, sampled = Stores(), given.file_source(), list[str]()
    opening = _Opening(policies=Policies(), bounds=bounds_of(source))
    with printing_aside(), _advising(), naming_sampled(sampled):
        samples = sample_files(stores, _with_bytes(stores, source), option, opening, sampled)
        first = list(islice(samples, 1))
        if not first:
            msg = f"{', '.join(given.source)} has no file with a record; check the source and --pattern"
            raise SourceError(msg)
        sample = chain(first, islice(samples, given.files - 1))
        found = Inferred(schema=infer_csv(option, sample)) if isinstance(option, Csv) else infer_json(sample)
    if given.as_json:
        print_json({"schema": found.schema, "files": sampled, "unfit": found.unfit, "not_objects": found.others})
        return
    say(f"from the first MiB of {plural(len(sampled), 'file')}", err=True)
    if found.others:
        say(f"{plural(found.others, 'record')} of the sample: no JSON object", err=True)
    for words in found.unfit:
        say(words, err=True)
    say(found.schema)


@contextmanager
def _advising() -> Iterator[None]:
    """Let errors about files name the options of this command, in which no window is involved."""
    try:
        yield
    except BlockReadError as error:
        text = str(error).replace("`blockread windows exclude`", "--exclude")
        error.args = (text.replace("columns='by_name'", "--format-option columns=by_name"),)
        raise


def _with_bytes(stores: Stores, source: FileSource, now: Callable[[], datetime] = utc_now) -> Iterator[FileVersion]:
    return (version for version in list_files(stores, source, now_s=now().timestamp()) if version.size)
