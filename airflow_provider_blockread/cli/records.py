"""`blockread records`: the blocks and records of a file."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from types import SimpleNamespace
from typing import BinaryIO, cast

import click

from airflow_provider_blockread.blocks import iter_ranges
from airflow_provider_blockread.cli.options.shared import format_options, make_format_option
from airflow_provider_blockread.cli.terminal.aside import printing_aside
from airflow_provider_blockread.cli.terminal.printing import print_json
from airflow_provider_blockread.errors import FileMissingError, SourceError
from airflow_provider_blockread.options import parse_size
from airflow_provider_blockread.records import RecordFormat, make_format, read_records, scan_block
from airflow_provider_blockread.records.format import codec_of
from airflow_provider_blockread.storage.stores import Stores


@click.command()
@click.argument("file")
@format_options
@click.option("--block-size", default="64MiB", show_default=True, metavar="SIZE", help="Bytes of a block.")
def records(file: str, format_name: str, format_option: tuple[str, ...], schema: str | None, block_size: str) -> None:
    """Print the records of FILE as JSON lines, block by block: block, start, end, offset, record (or record_b64).

    Records are not compared with the schema.
    """
    option = make_format_option(format_name, format_option, schema)
    stores = Stores()
    size = _size(stores, file)
    with printing_aside():
        fmt = make_format(option)
    if schema is not None:
        fmt.decoder()  # refuses a malformed one, though only the records are printed
    whole = codec_of(fmt, file) is not None or not fmt.splittable
    ranges = list(iter_ranges(size, max(size, 1) if whole else parse_size(block_size)))
    with stores.open_read(file) as opened:
        named = _named(opened, stores.canonical(file))
        states = entry_states(named, ranges, fmt)
        for number, ((start, end), state) in enumerate(zip(ranges, states, strict=True)):
            place = {"block": number, "start": start, "end": end}
            for offset, record in read_records(named, start, end, fmt, entry_state=state):
                print_json(place | {"offset": offset} | _record(record))


def _size(stores: Stores, file: str) -> int:
    try:
        return stores.stat(file).size
    except FileMissingError as error:
        msg = f"{stores.canonical(file)} does not exist; correct the path"
        raise SourceError(msg) from error


def _named(file: BinaryIO, name: str) -> BinaryIO:
    """Return an open file with a name for errors and the codec, as not all stores provide one."""
    return cast("BinaryIO", SimpleNamespace(name=name, seek=file.seek, read=file.read))


def entry_states(file: BinaryIO, ranges: Iterable[tuple[int, int]], fmt: RecordFormat) -> list[int]:
    """Return the format's state at the start of each range of a file, in order."""
    states, state = [], fmt.initial_state
    for start, end in ranges:
        states.append(state)
        state = scan_block(file, start, end, fmt)(state) if fmt.needs_scan else state
    return states


def _record(record: bytes) -> dict[str, str]:
    try:
        return {"record": record.decode()}
    except UnicodeDecodeError:
        return {"record_b64": base64.b64encode(record).decode("ascii")}
