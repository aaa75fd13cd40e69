"""Reading a directory through its log: whole windows, whatever is published, replaced or undone meanwhile."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs

from airflow_provider_blockread.errors import FileMissingError, OptionsError
from airflow_provider_blockread.sinks.log.columns import Columns
from airflow_provider_blockread.sinks.log.entries import PublishedLog
from airflow_provider_blockread.storage import Stores, uris


def published_files(uri: str, *, storage_options: Mapping[str, object] | None = None) -> list[str]:
    """Return the files that are currently published in a directory with a log: those of whole windows.

    If a window is replaced or undone while its files are read, some may be gone: call this function again then.

    Args:
        uri: the directory.
        storage_options: fsspec options for its store; default: the ambient identity.

    Returns:
        Paths in a local directory, otherwise URIs.

    Raises:
        FileMissingError: when the directory has no log.
        ProofError: when the log names files that are not in the directory.
    """
    _, log = _log(uris.canonical(uri), storage_options)
    return [str(uris.local_path(file) or file) for file in log.files()]


def read_published(uri: str, *, storage_options: Mapping[str, object] | None = None) -> ds.Dataset:
    """Return what is currently published in a directory of a `ParquetSink(log=True)`: whole windows, and all columns.

    If a window is replaced or undone while the dataset is read, some of its files may be gone: reading then raises
    FileNotFoundError, and never returns half of the window. Call this function again in that case.

    Args:
        uri: the directory.
        storage_options: fsspec options for its store; default: the ambient identity.

    Raises:
        FileMissingError: when the directory has no log.
        OptionsError: when its files are not Parquet files.
        ProofError: when the log names files that are not in the directory.
    """
    place = uris.canonical(uri)
    stores, log = _log(place, storage_options)
    files = log.files()
    if text := next((file for file in files if not file.endswith(".parquet")), None):
        msg = (
            f"{text} is not a Parquet file, so it does not state the types of its columns; open what published_files"
            " lists"
        )
        raise OptionsError(msg)
    columns = log.columns() or Columns(schema=pa.schema([]), partition_by=())
    system, (base, *paths) = _opened(stores, place, [place, *files])
    parts = ds.partitioning(pa.schema([columns.schema.field(name) for name in columns.partition_by]), flavor="hive")
    return ds.dataset(
        paths, columns.schema, format="parquet", filesystem=system, partitioning=parts, partition_base_dir=base
    )


def _log(place: str, storage_options: Mapping[str, object] | None) -> tuple[Stores, PublishedLog]:
    stores = Stores({place: storage_options} if storage_options else None)
    log = PublishedLog(stores, place)
    if not log.exists():
        msg = f"{place} has no log of what is published; publish into it with log=True"
        raise FileMissingError(msg)
    return stores, log


def _opened(stores: Stores, place: str, files: list[str]) -> tuple[fs.FileSystem, list[str]]:
    """Return the file system of a place, and the paths of files in it."""
    if uris.is_local(place):
        return fs.LocalFileSystem(), [str(uris.local_path(file)) for file in files]
    store, _ = stores.remote(place)
    return fs.PyFileSystem(fs.FSSpecHandler(store.system)), [store.path_of(file) for file in files]
