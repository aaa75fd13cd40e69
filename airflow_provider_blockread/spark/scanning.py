"""Finding the states in which blocks are entered, for formats whose blocks depend on what comes before them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import groupby
from types import MappingProxyType

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.exchange.model import JobSpec, ScanSpec
from airflow_provider_blockread.exchange.states import read_states, write_states
from airflow_provider_blockread.records.format import RecordFormat, must_scan
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.records.statemap import StateMap
from airflow_provider_blockread.spark.driver import Driver, MakeStores
from airflow_provider_blockread.spark.tasks.partition import StateMaps, scan_blocks


def scan_window(driver: Driver, spec: ScanSpec) -> None:
    """Find the entry states of all blocks whose file spans groups, but for those that are known."""
    stores, secret = driver.stores, driver.submission.window_secret
    known = read_states(stores, spec.known_states_uri, secret=secret) or {}
    files = files_to_scan(driver.blocks(spec), make_format(spec.options.record_format))
    spanning = [of_file for of_file in files if of_file[0].group != of_file[-1].group]
    states = known | find_states(driver, spec, unknown(spanning, known))
    write_states(stores, spec.entry_states_uri, states, secret=secret)


def by_file(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """Yield the blocks file by file."""
    for _, members in groupby(blocks, key=lambda block: block.file):
        yield list(members)


def files_to_scan(blocks: Iterable[Block], fmt: RecordFormat) -> Iterator[list[Block]]:
    """Yield, file by file, the blocks of files whose states must be found: a file of one block has none to find."""
    return (of_file for of_file in by_file(blocks) if len(of_file) > 1 and must_scan(fmt, of_file[0].version.path))


def unknown(files: Iterable[list[Block]], states: Collection[int]) -> list[list[Block]]:
    """Return the files of which the state of some block is not among the states (by block number)."""
    return [of_file for of_file in files if any(block.number not in states for block in of_file)]


def find_states(
    driver: Driver, spec: JobSpec, files: list[list[Block]], max_readers: int | None = None
) -> dict[int, int]:
    """Scan the files and return the entry state of each of their blocks, by number."""
    blocks = [block for of_file in files for block in of_file[:-1]]  # no block follows the last one of a file
    size = sum(block.end - block.start for block in blocks)
    task, items = partial(_scan, spec, driver.make_stores), driver.packed(blocks, max_readers)
    found = driver.run(str(spec), task, items, verb="scanned", size=size)
    maps = {number: state_map for of_part in found for number, state_map in of_part}
    return entry_states(make_format(spec.options.record_format), files, maps, dict(spec.part_states))


def _scan(spec: JobSpec, make_stores: MakeStores, blocks: list[Block], attempt: int) -> StateMaps:
    del attempt  # a scan leaves no file
    return scan_blocks(spec, make_stores(), blocks)


def entry_states(
    fmt: RecordFormat,
    files: Iterable[list[Block]],
    maps: Mapping[int, list[list[int]]],
    entered: Mapping[int, int] = MappingProxyType({}),
) -> dict[int, int]:
    """Return each block's entry state, from the state maps (as JSON) of all blocks of each file but the last.

    `entered` has the states of files that are entered in the middle, where a part ends that another window reads.
    """
    states: dict[int, int] = {}
    for of_file in files:
        state = entered.get(of_file[0].file, fmt.initial_state)
        for block in of_file:
            states[block.number] = state
            if block is not of_file[-1]:
                state = StateMap.from_json(maps[block.number])(state)
    return states
