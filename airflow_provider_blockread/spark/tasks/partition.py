"""One task: reads its blocks, applies the user's function, writes the sink's files itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

import pyarrow as pa

from airflow_provider_blockread.blocks import Block, FileVersion
from airflow_provider_blockread.errors import BlockReadError, FunctionError, RecordError, RowError, SourceError
from airflow_provider_blockread.exchange.failures import naming_file
from airflow_provider_blockread.exchange.layout import quarantine_folder
from airflow_provider_blockread.exchange.model import JobSpec, OutputFile, ReadSpec, Receipt, Target
from airflow_provider_blockread.exchange.progress import Mark
from airflow_provider_blockread.exchange.receipts import receipts_batch
from airflow_provider_blockread.observer import Tally
from airflow_provider_blockread.records.format import RecordFormat
from airflow_provider_blockread.records.model import BadRecord, Chunk
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.registry import make_sink, quarantine_of
from airflow_provider_blockread.spark.tasks.block_reader import BlockReader, OpenFile, Rows, describe_bad
from airflow_provider_blockread.spark.tasks.opening import open_version
from airflow_provider_blockread.spark.tasks.quarantine import QUARANTINE_SCHEMA, Quarantine
from airflow_provider_blockread.spark.tasks.user_function import UserFunction
from airflow_provider_blockread.spark.tasks.worker import keep_freed_memory
from airflow_provider_blockread.storage.stores import Stores


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport:
    """What one task did; only the reports of accepted attempts reach the driver."""

    receipts: bytes  # Arrow IPC stream of receipts
    outputs: tuple[OutputFile, ...]
    quarantined: tuple[OutputFile, ...]
    schema: str  # of the output, as text; empty when nothing was written
    tally: Tally  # of its receipts


#: State maps (as JSON), by block number.
StateMaps: TypeAlias = list[tuple[int, list[list[int]]]]


def scan_blocks(spec: JobSpec, stores: Stores, blocks: Iterable[Block]) -> StateMaps:
    """Return the state map (as JSON) of each block, by block number."""
    fmt = make_format(spec.options.record_format)
    maps = []
    for _, members in groupby(blocks, key=lambda block: block.file):
        of_file = list(members)
        version = of_file[0].version
        with _named(spec, version), open_version(stores, version, fmt, spec.options) as (source, bound):
            for block in of_file:
                start = min(max(block.start, source.data_offset), block.end)
                maps.append((block.number, bound.scan(source, start, block.end).to_json()))
    return maps


def read_blocks(
    spec: ReadSpec, stores: Stores, blocks: Iterable[Block], *, attempt: int, states: Mapping[int, int], mark: str = ""
) -> TaskReport:
    """Read the blocks and return the task's report.

    Args:
        spec: the job.
        stores: opens files.
        blocks: consecutive blocks, in order.
        attempt: a number that is in the names of its files, and that no other attempt has.
        states: entry states by block number, for formats that need them.
        mark: where to say what has been read so far; empty for nowhere.
    """
    keep_freed_memory()
    task = _Task(spec, stores, attempt)
    marked = Mark(stores, mark)
    receipts = []
    try:
        for receipt in task.read(blocks, states):
            receipts.append(receipt)
            marked.add(_tally([receipt]))
        return task.report(receipts)
    except BaseException:
        task.abort()
        raise
    finally:
        marked.remove()


def _tally(receipts: Sequence[Receipt]) -> Tally:
    """Return what receipts sum up to."""
    return Tally(
        blocks=len(receipts),
        records=sum(receipt.records for receipt in receipts),
        bad_records=sum(receipt.bad_records for receipt in receipts),
        bytes=sum(receipt.end - receipt.start for receipt in receipts),
    )


@contextmanager
def _named(spec: JobSpec, version: FileVersion) -> Iterator[None]:
    """Add feed and window to errors about a file, its records or the user's function."""
    try:
        yield
    except (SourceError, RecordError, FunctionError) as error:
        msg = f"feed {spec.feed} window {spec.window}: {naming_file(error, spec.window, version.path)}"
        if isinstance(error, SourceError):
            raise type(error)(msg, error.path) from error
        raise type(error)(msg) from error


class _Task:
    def __init__(self, spec: ReadSpec, stores: Stores, attempt: int) -> None:
        options = spec.options
        self._spec, self._stores = spec, stores
        self._fmt: RecordFormat = make_format(options.record_format)
        self._decoder = self._fmt.decoder()
        self._function = UserFunction(options.function, self._decoder.schema)
        self._schema: pa.Schema | None = None  # of what was written
        name = AttemptName.of(spec, attempt=attempt)
        self._writer = make_sink(stores, options.sink).writer(spec.target, name, self._function.schema)
        kept, staged = quarantine_of(options.sink, spec.feed, spec.window), quarantine_folder(spec.folder)
        writer = make_sink(stores, kept, "quarantine").writer(Target(folder=staged), name, QUARANTINE_SCHEMA)
        self._quarantine = Quarantine(spec.feed, writer)
        self._file: OpenFile  # that is read now
        self._reader = BlockReader(policies=options.policies, handle_bad=self._handle_bad)

    def read(self, blocks: Iterable[Block], states: Mapping[int, int]) -> Iterator[Receipt]:
        for version, members in groupby(blocks, key=lambda block: block.version):
            with (
                _named(self._spec, version),
                open_version(self._stores, version, self._fmt, self._spec.options) as (source, fmt),
            ):
                decoder = self._decoder if fmt is self._fmt else fmt.decoder()
                self._file = OpenFile(source=source, fmt=fmt, decoder=decoder)
                for block in members:
                    yield self._reader.read(self._file, block, states.get(block.number, fmt.initial_state), self._emit)

    def _emit(self, block: Block, rows: Rows) -> int:
        answer = self._function(block, rows)
        if answer is None or not answer.num_rows:
            return 0
        if self._spec.mode == "write":
            try:
                self._writer.write(answer, block.number)
            except FunctionError as error:
                raise self._blame(block, rows, error) from error
            self._schema = self._schema or answer.schema
        return int(answer.num_rows)

    def _blame(self, block: Block, rows: Rows, error: FunctionError) -> BlockReadError:
        """Return an error that says which records the sink did not take, or which one of them."""
        function = self._spec.options.function
        if function.rows_out == "all" and isinstance(error, RowError):
            return RecordError(f"the record at byte {rows.offsets[error.row]} of {block}: {error}")
        where = f"{rows.batch.num_rows} records from byte {rows.offsets[0]} of {block} on"
        return FunctionError(f"{function} on {where}: {error}")

    def _handle_bad(self, block: Block, chunk: Chunk, bad: BadRecord) -> None:
        policy = self._spec.options.policies.on_bad_record
        offset = chunk.offset + int(chunk.starts[bad.index])
        if policy == "fail":
            msg = (
                f"{describe_bad(self._file, block, chunk, bad)}; correct the file or the format's options, or set"
                " on_bad_record to 'quarantine' or 'drop'"
            )
            raise RecordError(msg)
        if policy == "quarantine" and self._spec.mode == "write":
            self._quarantine.add(block, offset, bad.reason, chunk.record(bad.index))

    def report(self, receipts: list[Receipt]) -> TaskReport:
        sink = pa.BufferOutputStream()
        batch = receipts_batch(receipts)
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        return TaskReport(
            receipts=sink.getvalue().to_pybytes(),
            outputs=tuple(self._writer.close()),
            quarantined=tuple(self._quarantine.close()),
            schema="" if self._schema is None else self._schema.remove_metadata().to_string(),
            tally=_tally(receipts),
        )

    def abort(self) -> None:
        self._writer.abort()
        self._quarantine.abort()
