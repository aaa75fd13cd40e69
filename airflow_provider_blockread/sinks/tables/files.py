"""Checks of files before a commit names them: they are as their tasks wrote them, with allowed values only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter

from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.sinks.parquet import read_footer, read_rows
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.at_once import answers


def require_files(stores: Stores, table: str, files: Sequence[OutputFile]) -> None:
    """Refuse files that are gone, or are not as their tasks wrote them.

    Raises:
        ProofError: naming the file.
    """
    sizes = answers(stores, files, lambda file: stores.size(file.uri), attrgetter("uri"))
    for file, size in zip(files, sizes, strict=True):
        if size is None:
            msg = (
                f"{file.uri} is gone and {table} does not hold it; clear the run from its plan on, unless another"
                " writer has compacted the table meanwhile and the window's rows are in it, or they would be in it"
                " twice"
            )
            raise ProofError(msg)
        if size != file.size:
            msg = f"{file.uri} has {size} bytes instead of {file.size}; clear the group that wrote it"
            raise ProofError(msg)


def misplaced_nulls(stores: Stores, files: Iterable[OutputFile], needed: Sequence[str]) -> str:
    """Return in words which file has nulls in a required top-level column, or an empty string if no file has any."""
    for file in files:
        for name in needed:
            if count := _nulls(stores, file, name):
                return f"{file.uri} holds {count:,} nulls in column {name!r}"
    return ""


def _nulls(stores: Stores, file: OutputFile, name: str) -> int:
    values = dict(file.partition)
    if name in values:
        return file.rows if values[name] is None else 0
    counted = file.statistics.get("nulls", {}).get(name)
    if counted is not None:
        return int(counted)
    footer = read_footer(stores, file)  # reports cover fewer columns
    places = [place for place in range(footer.num_columns) if footer.schema.column(place).path == name]
    if not places:  # the leaves of a nested column do not count where it is null itself
        return sum(batch[name].null_count for batch in read_rows(stores, file, [name]))
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    found = [group.column(place).statistics for group in groups for place in places]
    return sum(part.null_count for part in found if part is not None and part.has_null_count)
