"""What a query reads: the files that `load` listed, their blocks and states, and the blocks of each partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from airflow_provider_blockread.blocks import AutoSize, Block, FileVersion, GroupLimits, iter_blocks
from airflow_provider_blockread.blocks.group import FileRange
from airflow_provider_blockread.blocks.sizing import READERS, STORE_BLOCK
from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import parse_size
from airflow_provider_blockread.options.plan import AUTO
from airflow_provider_blockread.records.format import RecordFormat, is_one_block
from airflow_provider_blockread.records.reading import scan_source
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.spark.data_source.options import NAME, ReadOptions
from airflow_provider_blockread.spark.packing import pack, read_costs
from airflow_provider_blockread.spark.scanning import entry_states, files_to_scan
from airflow_provider_blockread.spark.tasks.opening import open_version
from airflow_provider_blockread.storage.stores import Stores

_SCANS = 8  # at once, since they mostly wait for the store


def plan_partitions(
    options: ReadOptions, stores: Stores, versions: Sequence[FileVersion]
) -> Iterator[tuple[list[Block], dict[int, int]]]:
    """Yield the blocks of each partition, of about the size of the largest block, and their entry states.

    Blocks are numbered over all files in order, even those that are not chosen. States are found here, in one process,
    by a scan of the files with more than one block if their format requires it.

    Raises:
        OptionsError: when a chosen file or block does not exist.
    """
    fmt = make_format(options.record_format)
    files = (
        FileRange(number, version, 0, version.size, whole=is_one_block(fmt, version.path))
        for number, version in enumerate(versions)
    )
    blocks = list(iter_blocks(files, _limits(options, stores, fmt), total_bytes=0))
    of_files = _of_files(options, stores, blocks, versions)
    wanted = _numbered(options, of_files)
    states = _states(options, stores, fmt, of_files, {block.number for block in wanted})
    size = STORE_BLOCK if options.block_size == AUTO else parse_size(options.block_size)
    costs = read_costs(wanted)
    count = sum(costs) // max([size, *costs]) + 1
    for part in pack(wanted, cores=count, sure=True, max_readers=options.max_readers):
        yield part, {block.number: states[block.number] for block in part if block.number in states}


def _of_files(
    options: ReadOptions, stores: Stores, blocks: list[Block], versions: Sequence[FileVersion]
) -> list[Block]:
    """Return the blocks of the files that the option `files` names."""
    if not options.files:
        return blocks
    wanted = {stores.canonical(file) for file in options.files}
    missing = wanted - {version.path for version in versions}
    if missing:
        msg = f"{NAME}: files={min(missing)!r} is not among the {len(versions)} files; name files as _file does"
        raise OptionsError(msg)
    return [block for block in blocks if block.version.path in wanted]


def _numbered(options: ReadOptions, blocks: list[Block]) -> list[Block]:
    """Return the blocks that the option `blocks` names."""
    if not options.blocks:
        return blocks
    there = {block.number for block in blocks}
    missing = [numbers for numbers in options.blocks if numbers[0] not in there or numbers[-1] not in there]
    if missing:
        msg = (
            f"{NAME}: blocks={missing[0][0]}-{missing[0][-1]} is not among the {len(blocks)} blocks; name blocks as"
            " _block does"
        )
        raise OptionsError(msg)
    return [block for block in blocks if any(block.number in numbers for numbers in options.blocks)]


def _states(
    options: ReadOptions, stores: Stores, fmt: RecordFormat, blocks: list[Block], wanted: set[int]
) -> dict[int, int]:
    """Return the entry states of the blocks of those files from which a block after the first is wanted."""
    files = []
    for of_file in files_to_scan(blocks, fmt):
        last = max((place for place, block in enumerate(of_file) if block.number in wanted), default=0)
        if last:
            files.append(of_file[: last + 1])

    def scan(block: Block) -> tuple[int, list[list[int]]]:
        with open_version(stores, block.version, fmt, options) as (source, bound):
            return block.number, scan_source(source, block.start, block.end, bound).to_json()

    with ThreadPoolExecutor(_SCANS) as threads:
        maps = dict(threads.map(scan, (block for of_file in files for block in of_file[:-1])))
    return entry_states(fmt, files, maps)


def _limits(options: ReadOptions, stores: Stores, fmt: RecordFormat) -> GroupLimits:
    if options.block_size == AUTO:
        size: int | AutoSize = AutoSize(readers=options.max_readers or READERS, store_block=stores.block_size)
    else:
        size = parse_size(options.block_size)
    return GroupLimits(block_size=size, group_bytes=1, max_groups=1, splittable=fmt.splittable)
