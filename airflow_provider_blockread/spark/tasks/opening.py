"""Opening planned files: exact reads of the planned version, decoded if it is compressed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.options import GenerationOptions
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.io.streaming import StreamLimits, StreamSource
from airflow_provider_blockread.storage import versions
from airflow_provider_blockread.storage.stores import Stores


@contextmanager
def open_version(stores: Stores, version: FileVersion, options: GenerationOptions) -> Iterator[ByteSource]:
    """Open a planned file as exact reads, decoded if it is compressed.

    Raises:
        FileMissingError: when the file is gone.
        FileChangedError: when it is another version before, during or after the reads.
        SourceError: when a link leads out of the source's roots, or a compressed file is truncated, damaged or larger
            than the policies allow.
    """
    codec = options.record_format.codec(version.path)
    policies = options.policies
    with versions.open_version(stores, version, options.bounds) as file:
        if codec is None:
            most = policies.max_record_bytes
            source = ByteSource(file, size=version.size, name=version.path, max_record_bytes=most)
        else:
            limits = StreamLimits(
                max_record_bytes=policies.max_record_bytes,
                max_decoded_bytes=policies.max_decoded_bytes,
                max_expansion=policies.max_expansion,
            )
            source = StreamSource(file, codec, size=version.size, name=version.path, limits=limits)
        source.max_columns = policies.max_columns
        yield source
