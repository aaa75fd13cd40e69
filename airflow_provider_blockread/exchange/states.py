"""State files: the states in which blocks are entered, found once by a scan and kept with the window.

JSON: `states` maps block numbers to states, `digest` guards them against damage. They follow from the manifest and the
format, which are in the file's name, so whoever writes one writes the same. The proof guards against forged ones: each
block finds the state that it is left in from its own records, and the next one must have been entered in that state.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from airflow_provider_blockread.blocks.ids import digest
from airflow_provider_blockread.errors import ExchangeError
from airflow_provider_blockread.exchange.files import parse_json, read_required
from airflow_provider_blockread.storage.stores import Stores

_WHAT = "state file"


def write_states(stores: Stores, uri: str, states: Mapping[int, int]) -> None:
    """Keep the entry states of blocks, by block number."""
    named = {str(number): int(state) for number, state in states.items()}  # numpy has integers of its own
    stores.write_bytes_atomic(uri, json.dumps({"digest": _digest(named), "states": named}).encode())


def read_states(stores: Stores, uri: str) -> dict[int, int] | None:
    """Return the entry states that were kept; None when there are none, or they are damaged: then scan again."""
    try:
        data = parse_json(read_required(stores, uri, _WHAT), uri, _WHAT)
    except ExchangeError:
        return None
    states = data.get("states")
    if not isinstance(states, dict) or data.get("digest") != _digest(states):
        return None
    try:
        return {int(number): int(state) for number, state in states.items()}
    except (TypeError, ValueError):
        return None


def require_states(stores: Stores, uri: str) -> dict[int, int]:
    """Return the entry states that a scan step kept.

    Raises:
        ExchangeError: when they are missing or damaged.
    """
    states = read_states(stores, uri)
    if states is None:
        msg = f"{_WHAT} {uri} is missing or damaged; clear the run's scan task so that it is written again"
        raise ExchangeError(msg)
    return states


def _digest(states: Mapping[str, int]) -> str:
    return digest("states", json.dumps(states, sort_keys=True))
