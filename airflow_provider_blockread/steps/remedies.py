"""Remedies in errors about files that have changed, or can be corrected: how to read them as they are now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow_provider_blockread.blocks.ids import same_version
from airflow_provider_blockread.errors import (
    BlockReadError,
    FileChangedError,
    FileMissingError,
    LookBackError,
    RecordError,
)
from airflow_provider_blockread.ledger.model import Generation
from airflow_provider_blockread.ledger.noop import forgets
from airflow_provider_blockread.ledger.windows.generations import as_read_by, published_generation
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.steps.model import Environment


def way_to_renew(env: Environment, generation: Generation) -> str:
    """Return what to do so that the generation's window, in its current state, reads newer versions of its files."""
    if generation.run is not None and published_generation(env.ledger, generation.window) is None:
        return "clear the run from its plan on"
    if forgets(env.ledger):
        return "repeat the run"
    return f"`blockread reprocess --window {generation.window}`"


@contextmanager
def naming_remedy(env: Environment, generation: Generation) -> Iterator[None]:
    """Append to errors about the content of files how to read the files once they are corrected.

    A file that only a task did not find as it was planned needs no correction, and must not be excluded.
    """
    try:
        yield
    except LookBackError:  # the file itself is correct
        raise
    except (RecordError, FileChangedError, FileMissingError) as error:
        way = way_to_renew(env, generation)
        if isinstance(error, (FileChangedError, FileMissingError)) and _is_here(env, generation, error.path):
            said = str(error).partition("; ")[0]
            msg = (
                f"{said}, says a Spark task, but this process finds it as it was planned; let every Spark worker open"
                " the source under the same URI, then retry"
            )
            error.args = (msg, *error.args[1:])
        elif way not in str(error):
            what = "to read it as it is now" if isinstance(error, FileChangedError) else "to read a corrected file"
            error.args = (f"{error}; {what}: {way}", *error.args[1:])
        raise


def _is_here(env: Environment, generation: Generation, path: str) -> bool:
    """Return whether this process finds a file as it was planned; False if it cannot look."""
    stores = env.stores.within(generation.as_options().bounds)
    try:
        window = as_read_by(get_window(env.ledger, generation.window), generation)
        planned = next((block.version for block in env.blocks(window) if block.version.path == path), None)
        return planned is not None and same_version(stores.stat(path), planned)
    except BlockReadError:
        return False
