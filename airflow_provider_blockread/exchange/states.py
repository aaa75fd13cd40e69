"""State files: the states in which blocks are entered, found once by a scan and kept with the window.

Sealed JSON: `states` maps block numbers to states. They are determined by the manifest and the format, which are in the
file's name, to which the seal is bound: every writer writes the same. If the seal has no secret, the proof refuses
forged states: each block finds its exit state from its own records, and the next block must have been entered in that
state.
"""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_blockread.errors import ExchangeError, FileMissingError
from airflow_provider_blockread.exchange.files import read_small
from airflow_provider_blockread.exchange.seals import sealed, unsealed
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.stores import Stores

_NAME = "states"
_WHAT = "state file"
_MOST_BYTES = 2**28  # ten million blocks


def write_states(stores: Stores, uri: str, states: Mapping[int, int], *, secret: str) -> None:
    """Write the entry states of blocks, by block number, sealed with the window's secret."""
    named = {str(number): int(state) for number, state in states.items()}  # they may be numpy integers
    stores.write_bytes_atomic(uri, sealed(_NAME, named, secret=secret, bound=uris.name_of(uri)))


def read_states(stores: Stores, uri: str, *, secret: str) -> dict[int, int] | None:
    """Return the stored entry states, or None if there are none with a valid seal, and a new scan is needed."""
    try:
        data = read_small(stores, uri, _MOST_BYTES)
    except FileMissingError:
        return None
    states = unsealed(_NAME, data, secret=secret, bound=uris.name_of(uri))
    if states is None:
        return None
    try:
        return {int(number): int(state) for number, state in states.items()}
    except (TypeError, ValueError):  # without a secret, anybody can make a seal
        return None


def require_states(stores: Stores, uri: str, *, secret: str) -> dict[int, int]:
    """Return the entry states that a scan step stored.

    Raises:
        ExchangeError: when they are missing or were changed.
    """
    states = read_states(stores, uri, secret=secret)
    if states is None:
        msg = (
            f"{_WHAT} {uri} is missing or damaged; clear the run's scan task, or the run from its plan on if its DAG"
            " has no scan any more"
        )
        raise ExchangeError(msg)
    return states
