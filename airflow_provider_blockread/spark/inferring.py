"""Samples of files, and the columns of csv without a schema that are inferred from one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.options import Csv, FormatOption
from airflow_provider_blockread.records.csv.infer import infer_schema
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.records.sampling import Sample, sample_file
from airflow_provider_blockread.spark.tasks.opening import Opening, open_version
from airflow_provider_blockread.storage.stores import Stores

SAMPLE_FILES = 8  # the first ones with a record or header
_SAMPLE_BYTES = 2**20  # read from each
_TRIED = 100  # files that are opened to find those


def infer_columns(
    stores: Stores, versions: Iterable[FileVersion], option: Csv, options: Opening, sampled: list[str]
) -> str:
    """Return the schema of the first files with a row or header, as text; `versions` are files that are not empty.

    `sampled` gets the paths of the sampled files; when an error is raised, the last one is the file concerned.

    Raises:
        FileMissingError: when a file of the sample is gone.
        FileChangedError: when a file of the sample is no longer the same version.
        RecordError: when the files are not csv with the same columns.
    """
    first = islice(versions, _TRIED)
    return infer_schema(option, islice(sample_files(stores, first, option, options, sampled), SAMPLE_FILES))


def with_inferred(option: Csv, schema: str) -> Csv:
    """Return csv with an inferred schema; a name that the sample lacks is then refused, since nobody left it out."""
    columns = "known_names" if option.columns == "by_name" else option.columns
    return replace(option, schema=schema, columns=columns)


def sample_files(
    stores: Stores, versions: Iterable[FileVersion], option: FormatOption, options: Opening, sampled: list[str]
) -> Iterator[Sample]:
    """Yield the first records of those files that have a record or header.

    `sampled` gets the path of each; when an error is raised, the last one is the file concerned.

    Raises:
        FileMissingError: when a file is gone.
        FileChangedError: when a file is no longer the same version.
        RecordError: when a record is longer than the policies allow.
    """
    fmt = make_format(option)
    for version in versions:
        sampled.append(version.path)
        with open_version(stores, version, fmt, options) as (source, bound):
            taken = sample_file(source, bound, _SAMPLE_BYTES)
        if taken.is_blank:
            sampled.pop()
        else:
            yield taken


@contextmanager
def naming_sampled(sampled: list[str]) -> Iterator[None]:
    """Name the last file of the sample in an error about its records.

    Raises:
        RecordError: when the body does.
    """
    try:
        yield
    except RecordError as error:
        msg = f"the columns cannot be inferred, {sampled[-1]}: {error}"
        raise RecordError(msg) from error
