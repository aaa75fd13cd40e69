"""The columns of csv without a schema, from a sample of its files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.records.csv.infer import Sample, infer_schema, sample_file
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.spark.tasks.opening import Opening, open_version
from airflow_provider_blockread.storage.stores import Stores

_FILES = 8  # the first ones that hold a row or header
_TRIED = 100  # files at most that are opened to find those
_BYTES = 2**20  # of each


def infer_columns(
    stores: Stores, versions: Iterable[FileVersion], option: Csv, options: Opening, sampled: list[str]
) -> str:
    """Return the schema of the first files that hold a row or header.

    Args:
        stores: opens the files.
        versions: the files, without empty ones.
        option: the format.
        options: how to open files.
        sampled: takes the paths of the files that decide; the last one is at hand when an error is raised.

    Raises:
        FileMissingError: when a file of the sample is gone.
        FileChangedError: when it is no longer the same version.
        RecordError: when the files are no csv of one kind.
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
