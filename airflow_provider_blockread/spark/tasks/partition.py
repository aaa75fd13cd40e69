"""One task: reads its blocks, applies the user's function, writes the sink's files itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from airflow_provider_blockread.blocks import Block, FileVersion
from airflow_provider_blockread.blocks.model import by_file
from airflow_provider_blockread.errors import (
    BlockReadError,
    FunctionError,
    OptionsError,
    RecordError,
    RowError,
    SourceError,
)
from airflow_provider_blockread.exchange.failures import naming_file
from airflow_provider_blockread.exchange.layout import quarantine_folder
from airflow_provider_blockread.exchange.model import JobSpec, OutputFile, ReadSpec, Target
from airflow_provider_blockread.exchange.progress import TaskProgress
from airflow_provider_blockread.exchange.receipts import ReceiptLog, receipt_sums, with_rows_out
from airflow_provider_blockread.exchange.results import columns_text
from airflow_provider_blockread.observer import Tally
from airflow_provider_blockread.options import AsRead
from airflow_provider_blockread.records.format import RecordFormat
from airflow_provider_blockread.records.model import BadRecord, Chunk
from airflow_provider_blockread.records.reading import scan_source
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.registry import make_sink, quarantine_of
from airflow_provider_blockread.spark.tasks.audit import Audit
from airflow_provider_blockread.spark.tasks.block_reader import BlockReader, OpenFile, Rows, describe_bad
from airflow_provider_blockread.spark.tasks.joined_read import Together
from airflow_provider_blockread.spark.tasks.opening import open_version
from airflow_provider_blockread.spark.tasks.quarantine import QUARANTINE_SCHEMA, Quarantine
from airflow_provider_blockread.spark.tasks.small_files import SmallFiles
from airflow_provider_blockread.spark.tasks.user_function import UserFunction
from airflow_provider_blockread.spark.tasks.worker import keep_freed_memory
from airflow_provider_blockread.storage.stores import Stores


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport:
    """What one task did; only the reports of accepted attempts reach the driver."""

    receipts: bytes  # Arrow IPC stream of receipts
    outputs: tuple[OutputFile, ...]
    quarantined: tuple[OutputFile, ...]
    schema: str  # of the output, as `columns_text` returns it; empty if nothing was written
    tally: Tally  # of its receipts
    first_bad: str = ""  # where the first bad record that was left out is, and why it is bad; empty if there was none


#: State maps (as JSON), by block number.
StateMaps: TypeAlias = list[tuple[int, list[list[int]]]]


def scan_blocks(spec: JobSpec, stores: Stores, blocks: Iterable[Block]) -> StateMaps:
    """Return the state map (as JSON) of each block, by block number."""
    fmt = make_format(spec.options.record_format)
    maps: StateMaps = []
    for of_file in by_file(blocks):
        version, end = of_file[0].version, of_file[-1].end
        with _named(spec, version), open_version(stores, version, fmt, spec.options, end) as (source, bound):
            maps += [(b.number, scan_source(source, b.start, b.end, bound).to_json()) for b in of_file]
    return maps


def read_blocks(
    spec: ReadSpec,
    stores: Stores,
    blocks: Iterable[Block],
    *,
    attempt: int,
    states: Mapping[int, int],
    progress: str = "",
) -> TaskReport:
    """Read consecutive blocks and return the task's report.

    The names of the task's files contain `attempt`, a unique number. `states` are entry states by block number, for
    formats that need them; `progress` is the URI to which progress is written, empty for none.
    """
    keep_freed_memory()
    task = _Task(spec, stores, attempt)
    written = TaskProgress(stores, progress)
    try:
        for tally in task.read(blocks, states):
            written.add(tally)
        return task.report()
    except BaseException:
        task.abort()
        raise
    finally:
        written.remove()


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


def _loaded(spec: ReadSpec, schema: pa.Schema) -> UserFunction:
    """Return the user's function; errors while loading it name feed and window."""
    try:
        return UserFunction(spec.options.function, schema)
    except (FunctionError, OptionsError) as error:
        msg = f"{spec}: {error}"
        raise type(error)(msg) from error


class _Task:
    def __init__(self, spec: ReadSpec, stores: Stores, attempt: int) -> None:
        options = spec.options
        self._spec, self._stores = spec, stores
        self._fmt: RecordFormat = make_format(options.record_format)
        self._decoder = self._fmt.decoder()
        self._function = _loaded(spec, self._decoder.schema)
        self._audit = Audit(spec)
        self._schema: pa.Schema | None = None  # of what was written
        name = AttemptName.of(spec, attempt=attempt)
        self._writer = make_sink(stores, options.sink).writer(
            spec.target, name, self._audit.schema(self._function.schema)
        )
        kept, staged = quarantine_of(options.sink, spec.feed, spec.window), quarantine_folder(spec.folder)
        writer = make_sink(stores, kept, "quarantine").writer(Target(folder=staged), name, QUARANTINE_SCHEMA)
        self._quarantine = Quarantine(spec.feed, writer)
        self._first_bad = ""
        self._file: OpenFile  # the file being read
        self._reader = BlockReader(policies=options.policies, handle_bad=self._handle_bad)
        self._small_files = SmallFiles(stores, options, self._fmt)
        self._by_block = options.sink.per_block or not isinstance(options.function, AsRead)
        self._receipts = ReceiptLog()

    def read(self, blocks: Iterable[Block], states: Mapping[int, int]) -> Iterator[Tally]:
        """Read the blocks, and yield a tally of what was read after each step."""
        with closing(self._small_files.read(blocks, states)) as found:
            for read in found:
                yield from self._read_together(read) if isinstance(read, Together) else self._read_file(read, states)

    def _read_file(self, blocks: Sequence[Block], states: Mapping[int, int]) -> Iterator[Tally]:
        version = blocks[0].version
        with (
            _named(self._spec, version),
            open_version(self._stores, version, self._fmt, self._spec.options, blocks[-1].end) as (source, fmt),
        ):
            decoder = self._decoder if fmt is self._fmt else fmt.decoder()
            self._file = OpenFile(source=source, fmt=fmt, decoder=decoder)
            for block in blocks:
                state = states.get(block.number, fmt.initial_state)
                receipt = self._reader.read(self._file, block, state, self._emit)
                self._receipts.add(receipt)
                yield Tally(1, receipt.records, receipt.bad_records, block.end - block.start)

    def _read_together(self, read: Together) -> Iterator[Tally]:
        """Process what was read from several small files as for a single file."""
        for block, chunk, bad in read.bad:
            self._handle_bad(block, chunk, bad)
        receipts = read.receipts
        if self._by_block:
            out = {rows.blocks[0].number: self._emit_named(rows) for rows in read.rows.by_block()}
            receipts = with_rows_out(receipts, [out.get(block.number, 0) for block in read.rows.blocks])
        elif read.rows.batch.num_rows:
            self._emit(read.rows)
        self._receipts.add(receipts)
        yield receipt_sums([receipts])

    def _emit_named(self, rows: Rows) -> int:
        with _named(self._spec, rows.blocks[0].version):
            return self._emit(rows)

    def _emit(self, rows: Rows) -> int:
        answer = self._function(rows)
        if answer is None or not answer.num_rows:
            return 0
        if self._spec.mode == "write":
            written = self._write(rows, answer)
            self._schema = self._schema or written.schema
        return int(answer.num_rows)

    def _write(self, rows: Rows, answer: pa.RecordBatch) -> pa.RecordBatch:
        """Write the function's answer to rows, and return it with its audit columns."""
        alone = len(rows.blocks) == 1
        try:
            written = self._audit.add(answer, rows)
            self._writer.write(written, rows.blocks[0].number if alone else None)
        except FunctionError as error:
            for of_block in rows.by_block() if not alone else ():  # to find the one at fault
                self._emit_named(of_block)
            raise self._blame(rows, error) from error
        return written

    def _blame(self, rows: Rows, error: FunctionError) -> BlockReadError:
        """Return an error that names the records that the sink refused, or the single record if it is known."""
        function, block = self._spec.options.function, rows.blocks[0]
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
        self._first_bad = self._first_bad or f"{self._fmt.name} record at byte {offset} of {block}: {bad.reason}"
        if policy == "quarantine" and self._spec.mode == "write":
            self._quarantine.add(block, offset, bad.reason, chunk.record(bad.index))

    def report(self) -> TaskReport:
        """Finish all files, and return a report of what was read and written."""
        receipts = self._receipts.close()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, receipts.schema) as stream:
            stream.write_batch(receipts)
        return TaskReport(
            receipts=sink.getvalue().to_pybytes(),
            outputs=tuple(self._writer.close()),
            quarantined=tuple(self._quarantine.close()),
            schema="" if self._schema is None else columns_text(self._schema),
            tally=receipt_sums([receipts]),
            first_bad=self._first_bad,
        )

    def abort(self) -> None:
        self._writer.abort()
        self._quarantine.abort()
