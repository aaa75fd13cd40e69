"""Opening planned files: their version is checked before and after, and compressed ones are decoded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.blocks.ids import same_version
from airflow_provider_blockread.errors import FileChangedError, FileMissingError
from airflow_provider_blockread.options import GenerationOptions
from airflow_provider_blockread.records.source import ByteSource
from airflow_provider_blockread.records.streaming import StreamLimits, StreamSource
from airflow_provider_blockread.storage.stores import Stores


@contextmanager
def open_version(stores: Stores, version: FileVersion, options: GenerationOptions) -> Iterator[ByteSource]:
    """Open a planned file as exact reads, decoded where it is compressed; its version is checked now and at the end.

    Raises:
        FileMissingError: when the file is gone.
        FileChangedError: when it is another version before or after the reads.
        SourceError: when it is compressed, and cut short, harmed or larger than the policies allow.
    """
    _check_version(stores, version)
    codec = options.record_format.codec(version.path)
    policies = options.policies
    with _named(version), stores.open_read(version.path) as file:
        if codec is None:
            most = policies.max_record_bytes
            yield ByteSource(file, size=version.size, name=version.path, max_record_bytes=most)
        else:
            limits = StreamLimits(
                max_record_bytes=policies.max_record_bytes,
                max_decoded_bytes=policies.max_decoded_bytes,
                max_expansion=policies.max_expansion,
            )
            yield StreamSource(file, codec, size=version.size, name=version.path, limits=limits)
    _check_version(stores, version)


@contextmanager
def _named(version: FileVersion) -> Iterator[None]:
    """Give what says that a file is gone or changed the path, by which a policy may exclude it."""
    try:
        yield
    except (FileMissingError, FileChangedError) as error:
        raise type(error)(str(error), version.path) from error


def _check_version(stores: Stores, version: FileVersion) -> None:
    with _named(version):
        found = stores.stat(version.path)
    if not same_version(found, version):
        msg = (
            f"{version.path} is no longer the version that was planned: planned {_describe(version)}, found"
            f" {_describe(found)}; restore it, or exclude it with `blockread windows exclude`, then retry"
        )
        raise FileChangedError(msg, version.path)


def _describe(version: FileVersion) -> str:
    identity = f"etag {version.etag}" if version.etag else f"modified at {version.mtime_ns} ns"
    return f"{version.size} bytes, {identity}"
