"""Remedies in errors about files that have changed, or can be corrected: how to read them as they are now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow_provider_blockread.errors import FileChangedError, FileMissingError, LookBackError, RecordError
from airflow_provider_blockread.ledger.model import Generation
from airflow_provider_blockread.ledger.noop import forgets
from airflow_provider_blockread.ledger.windows.generations import published_generation
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
    """Append to errors about the content of files how to read the files once they are corrected."""
    try:
        yield
    except LookBackError:  # the file itself is correct
        raise
    except (RecordError, FileChangedError, FileMissingError) as error:
        way = way_to_renew(env, generation)
        if way not in str(error):
            what = "to read it as it is now" if isinstance(error, FileChangedError) else "to read a corrected file"
            error.args = (f"{error}; {what}: {way}", *error.args[1:])
        raise
