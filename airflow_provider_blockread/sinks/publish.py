"""The steps of publishing into a directory: each can be repeated, and readers only ever meet whole files."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_provider_blockread.errors import FileMissingError, ProofError, SourceError
from airflow_provider_blockread.sinks.names import output_name, window_prefix
from airflow_provider_blockread.storage import Stores, uris


def target_uri(folder: str, staged_uri: str) -> str:
    """Return where a staged file belongs: directly in the folder that it is published into."""
    return uris.child(uris.canonical(folder), output_name(staged_uri))


def publish_file(stores: Stores, source: str, target: str, size: int) -> None:
    """Bring a staged file of `size` bytes into the output; done already is fine.

    Raises:
        ProofError: when the file is in neither place, has another size, or the output's folder has been removed.
    """
    try:
        stores.move(source, target, size=size)
    except FileMissingError as error:
        if is_whole(stores, source, size):
            msg = (
                f"the output folder {uris.parent(target)} was removed while a window was published into it, with what"
                " was there; clear the run from its plan on, and the window is read and published again"
            )
        else:
            msg = f"{source} is gone and {target} is not published; clear the run from its plan on"
        raise ProofError(msg) from error


def remove_file(stores: Stores, target: str, source: str = "") -> None:
    """Remove a file of an earlier generation from the output; absent is fine.

    Its staged `source` goes first, if named: a publisher that was overtaken and wakes up finds nothing to move.
    """
    if source:
        stores.remove(source)
    stores.remove(target)


def is_whole(stores: Stores, uri: str, size: int) -> bool:
    """Tell whether a file of this size is there."""
    try:
        return stores.stat(uri).size == size
    except FileMissingError:
        return False


def sweep(stores: Stores, folder: str, window_id: str, keep: Collection[str]) -> list[str]:
    """Remove a window's files in a folder of published files that are not listed, and return their URIs in order.

    Args:
        stores: opens the folder.
        folder: its URI; it need not exist.
        window_id: whose files; those of other windows are not looked at.
        keep: names or URIs of the published files.
    """
    kept = {uris.name_of(uri) for uri in keep}
    prefix = window_prefix(window_id)
    found = [uri for start in (prefix, f".{prefix}") for uri, _ in stores.list_names(folder, start)]
    stray = sorted(uri for uri in found if uris.name_of(uri) not in kept)
    for uri in stray:
        stores.remove(uri)
    return stray


def footer_rows(stores: Stores, uri: str) -> int:
    """Return the number of rows that a Parquet file's own footer tells; only the footer is read.

    Raises:
        ProofError: when the file is missing, truncated or no Parquet file.
    """
    try:
        with stores.open_read(uri) as file:
            return int(pq.read_metadata(file).num_rows)
    except SourceError as error:
        msg = f"{uri} cannot be opened; clear the group that wrote it"
        raise ProofError(msg) from error
    except (pa.ArrowException, OSError) as error:
        msg = f"{uri} is truncated or no Parquet file; clear the group that wrote it"
        raise ProofError(msg) from error
