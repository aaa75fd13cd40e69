"""Infers the columns of csv without a schema from a sample of its files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.records.csv.infer import Sample, infer_schema, sample_file
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.spark.tasks.opening import Opening, open_version
from airflow_provider_blockread.storage.stores import Stores

_FILES = 8  # in the sample: the first ones with a row or header
_TRIED = 100  # most files that are opened to find those
_BYTES = 2**20  # read from each


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

    def samples() -> Iterator[Sample]:
        fmt = make_format(option)
        for version in islice(versions, _TRIED):
            sampled.append(version.path)
            with open_version(stores, version, fmt, options) as (source, bound):
                taken = sample_file(source, bound, _BYTES)
            if taken.is_blank:
                sampled.pop()
                continue
            yield taken
            if len(sampled) == _FILES:
                return

    return infer_schema(option, samples())
