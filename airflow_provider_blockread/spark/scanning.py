"""Which blocks must be scanned before they can be read independently, and the entry states from their state maps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.blocks.model import by_file
from airflow_provider_blockread.records.format import RecordFormat, must_scan
from airflow_provider_blockread.records.statemap import StateMap


def files_to_scan(blocks: Iterable[Block], fmt: RecordFormat) -> Iterator[list[Block]]:
    """Return, file by file, the blocks of files whose states must be found: those with more than one block."""
    return (each for each in by_file(blocks) if len(each) > 1 and must_scan(fmt, each[0].version.path))


def entry_states(
    fmt: RecordFormat,
    files: Iterable[list[Block]],
    maps: Mapping[int, list[list[int]]],
    entered: Mapping[int, int] = MappingProxyType({}),
) -> dict[int, int]:
    """Return each block's entry state by number, from the state maps (as JSON) of all but the last block of each file.

    `entered` has the states of files that are entered in the middle, at the end of a part that another window reads.
    """
    states: dict[int, int] = {}
    for of_file in files:
        state = entered.get(of_file[0].file, fmt.initial_state)
        for block in of_file:
            states[block.number] = state
            if block is not of_file[-1]:
                state = StateMap.from_json(maps[block.number])(state)
    return states
