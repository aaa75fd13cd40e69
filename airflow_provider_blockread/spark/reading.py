"""Reading a group: its blocks become the sink's files, receipts and one result."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.errors import FunctionError
from airflow_provider_blockread.exchange.model import GroupResult, ReadSpec
from airflow_provider_blockread.exchange.receipts import write_receipts
from airflow_provider_blockread.exchange.results import RECEIPTS_NAME, write_result
from airflow_provider_blockread.exchange.states import read_states, require_states, write_states
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.spark.driver import Driver, MakeStores
from airflow_provider_blockread.spark.scanning import files_to_scan, find_states, unknown
from airflow_provider_blockread.spark.tasks.partition import TaskReport, read_blocks
from airflow_provider_blockread.spark.tasks.worker import leave_pandas_out

_DIFFERENT = "{} returned batches of different schemas, {} and {}; return the same columns and types always"


class Portion(NamedTuple):
    """The blocks that one task reads, and the states in which they are entered, by number."""

    blocks: list[Block]
    states: dict[int, int]


def read_group(driver: Driver, spec: ReadSpec) -> None:
    """Read the group's blocks and leave the result."""
    blocks = list(driver.blocks(spec, spec.group))
    size = sum(block.end - block.start for block in blocks)
    started = time.monotonic()
    states = _entry_states(driver, spec, blocks)
    portions = [
        Portion(part, {b.number: states[b.number] for b in part if b.number in states})
        for part in driver.packed(blocks, spec.max_readers)
    ]
    reports = driver.run(str(spec), partial(_read, spec, driver.make_stores), portions, verb="read", size=size)
    leave_result(driver, spec, reports, seconds=time.monotonic() - started)


def _read(spec: ReadSpec, make_stores: MakeStores, portion: Portion, attempt: int) -> TaskReport:
    leave_pandas_out(spec.options)
    return read_blocks(spec, make_stores(), portion.blocks, attempt=attempt, states=portion.states)


def _entry_states(driver: Driver, spec: ReadSpec, blocks: list[Block]) -> dict[int, int]:
    """Return the entry states of blocks that need one.

    Those of files that span groups come from the scan step; the others an earlier attempt has kept, or they are
    scanned here, and kept.
    """
    stores, secret, fmt = driver.stores, driver.submission.window_secret, make_format(spec.options.record_format)
    if not fmt.needs_scan:
        return {}
    begun = dict(spec.part_states)
    entered = {b.number: begun[b.file] for b in blocks if b.file in begun and b.start == b.part_start}
    known = require_states(stores, spec.entry_states_uri, secret=secret) if spec.entry_states_uri else {}
    files = list(files_to_scan((b for b in blocks if b.number not in known), fmt))
    if not files:
        return entered | known
    kept = read_states(stores, spec.group_states_uri, secret=secret) or {}
    if missing := unknown(files, kept):
        kept |= find_states(driver, spec, missing, spec.max_readers)
        write_states(stores, spec.group_states_uri, kept, secret=secret)
    return entered | known | kept


def leave_result(driver: Driver, spec: ReadSpec, reports: Sequence[TaskReport], *, seconds: float) -> None:
    """Write the receipts of the tasks, and then the result of the group.

    Raises:
        FunctionError: when tasks wrote batches of different schemas.
    """
    batches = [batch for report in reports for batch in pa.ipc.open_stream(report.receipts)]
    uri = f"{spec.work_uri}/{RECEIPTS_NAME}"
    receipts_hash = write_receipts(driver.stores, uri, batches)
    sums = pa.Table.from_batches(batches).to_pydict() if batches else {}
    outputs = tuple(output for report in reports for output in report.outputs)
    schemas = sorted({report.schema for report in reports if report.schema})
    if len(schemas) > 1:
        raise FunctionError(_DIFFERENT.format(spec.options.function, *map(repr, schemas)))
    result = GroupResult(
        window=spec.window,
        generation=spec.generation,
        group=spec.group,
        epoch=spec.epoch,
        manifest_hash=spec.manifest_hash,
        receipts_uri=uri,
        receipts_hash=receipts_hash,
        blocks=sum(batch.num_rows for batch in batches),
        records=sum(sums.get("records", [])),
        bad_records=sum(sums.get("bad_records", [])),
        rows=sum(output.rows for output in outputs),
        bytes=sum(sums.get("end", [])) - sum(sums.get("start", [])),
        outputs=outputs,
        quarantined=tuple(output for report in reports for output in report.quarantined),
        seconds=round(seconds, 3),
        schema="".join(schemas),
    )
    write_result(driver.stores, driver.submission, result)
