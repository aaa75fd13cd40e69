"""Opening planned files: exact reads of the planned version, decoded if it is compressed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.options import Bounds, Policies
from airflow_provider_blockread.records.format import PARQUET, RecordFormat, codec_of
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.members.format import MembersFormat
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.sinks.archive import read_index
from airflow_provider_blockread.storage import versions
from airflow_provider_blockread.storage.stores import Stores


class Opening(Protocol):
    """The options for opening files."""

    @property
    def policies(self) -> Policies:
        """The limits of a file and its records."""

    @property
    def bounds(self) -> Bounds:
        """Where links and redirects may lead."""


@contextmanager
def open_version(
    stores: Stores, version: FileVersion, fmt: RecordFormat, options: Opening, until: int | None = None
) -> Iterator[tuple[ByteSource, RecordFormat]]:
    """Yield a planned file's bytes, decoded if it is compressed, and the format as it applies to the file.

    Bytes from `until` on are not prefetched.

    Raises:
        FileMissingError: when the file is gone.
        FileChangedError: when the file is another version before, during or after the reads.
        SourceError: when a link leads out of the source's roots, or a compressed file is truncated, damaged or larger
            than the policies allow.
    """
    if isinstance(fmt, MembersFormat) and codec_of(fmt, version.path) != PARQUET:
        fmt = fmt.with_index(read_index(stores.within(options.bounds), version.path))
    with versions.open_version(stores, version, options.bounds, until) as file:
        yield open_source(file, fmt, name=version.path, size=version.size, limits=options.policies)
