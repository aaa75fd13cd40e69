"""The driver's side of a job: reads a group, or scans a window, with tasks that an engine runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial, reduce
from typing import Any, TypeAlias

import pyarrow as pa

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.blocks.model import from_columns, to_columns
from airflow_provider_blockread.errors import BlockReadError, FunctionError, SparkJobError
from airflow_provider_blockread.exchange.manifest import read_manifest
from airflow_provider_blockread.exchange.model import GroupResult, JobSpec, ReadSpec, ScanSpec, Submission
from airflow_provider_blockread.exchange.progress import ProgressFile, read_task_progress, task_progress_uri
from airflow_provider_blockread.exchange.receipts import receipt_sums, write_receipts
from airflow_provider_blockread.exchange.results import RECEIPTS_NAME, read_spec, write_result
from airflow_provider_blockread.exchange.states import read_states, require_states, write_states
from airflow_provider_blockread.heap import settled_heap
from airflow_provider_blockread.observer import Observer, Progress, Tally
from airflow_provider_blockread.options import FrameFunction
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.spark.engines.protocol import Answer, Engine, SparkLostError, Task
from airflow_provider_blockread.spark.engines.reporting import job_failed
from airflow_provider_blockread.spark.engines.session import is_lost
from airflow_provider_blockread.spark.frames.running import FrameStage
from airflow_provider_blockread.spark.frames.staging import prove_staged, removed_afterwards, staging_spec
from airflow_provider_blockread.spark.packing import fill, largest_first, pack
from airflow_provider_blockread.spark.scanning import entry_states, files_to_scan
from airflow_provider_blockread.spark.tasks.partition import StateMaps, TaskReport, read_blocks, scan_blocks
from airflow_provider_blockread.spark.tasks.worker import leave_pandas_out
from airflow_provider_blockread.storage.stores import Stores

#: Makes the stores of the driver and of each task; it is sent to the tasks with the credentials.
MakeStores: TypeAlias = Callable[[], Stores]

_MOST_WATCHED = 32  # tasks that report their progress; with more tasks, the finished ones suffice


@dataclass(frozen=True, slots=True)
class Portion:
    """The blocks that one task reads or scans, the states in which they are entered, and where progress is written."""

    blocks: list[Block]
    states: dict[int, int] = field(default_factory=dict)
    progress: str = ""

    def __reduce__(self) -> tuple[Callable[..., Portion], tuple[object, ...]]:
        """Return a compact pickle: otherwise each of the many blocks of a task of small files would be pickled."""
        return _portion, (to_columns(self.blocks), self.states, self.progress)


def _portion(columns: list[tuple[Any, ...]], states: dict[int, int], progress: str) -> Portion:
    return Portion(from_columns(columns), states, progress)


#: Reads a portion as a specification says; the number identifies the attempt.
ReadTask: TypeAlias = Callable[[ReadSpec, MakeStores, Portion, int], TaskReport]


@dataclass(frozen=True, kw_only=True)
class Driver:
    """The driver of one submission; it reports its progress to `observer`."""

    submission: Submission
    engine: Engine
    make_stores: MakeStores = Stores
    observer: Observer = field(default_factory=Observer)
    _spent: list[float] = field(default_factory=list, init=False)  # seconds of each accepted task

    @cached_property
    def _stores(self) -> Stores:
        return self.make_stores()

    @cached_property
    def _progress(self) -> ProgressFile:
        return ProgressFile(self._stores, self.submission, application=self.engine.application)

    def run(self) -> None:
        """Do what the job specification says: read a group, or scan a window.

        Raises:
            ExchangeError: when the specification is not the one that was submitted; it is then not used at all.
            BlockReadError: the error that a task raised, unchanged.
            SparkJobError: when the job failed for another reason.
            SparkLostError: when Spark's JVM is gone.
        """
        spec = read_spec(self._stores, self.submission)
        try:
            with settled_heap():
                if isinstance(spec, ScanSpec):
                    self._scan_window(spec)
                else:
                    self._read_group(spec)
        except SparkLostError:  # the process that started the JVM knows more
            raise
        except Exception as error:
            if is_lost(error):
                raise SparkLostError(str(error)) from error
            failed = error if isinstance(error, BlockReadError) else job_failed(error)
            if type(failed) is not SparkJobError:
                raise
            msg = f"{spec}: {failed}"
            raise SparkJobError(msg) from error

    def _scan_window(self, spec: ScanSpec) -> None:
        """Find the entry states of all blocks whose file spans groups, except for states that are known."""
        secret = self.submission.window_secret
        known = read_states(self._stores, spec.known_states_uri, secret=secret) or {}
        files = files_to_scan(self._blocks(spec), make_format(spec.options.record_format))
        spanning = [of_file for of_file in files if of_file[0].group != of_file[-1].group]
        states = self._find_states(spec, spanning, known)
        write_states(self._stores, spec.entry_states_uri, states, secret=secret)

    def _read_group(self, spec: ReadSpec) -> None:
        """Read the group's blocks and write the result file."""
        blocks = list(self._blocks(spec, spec.group))
        started = time.monotonic()
        if isinstance(spec.options.function, FrameFunction):
            result = self._through_frame(spec, spec.options.function, blocks)
        else:
            result = self._read_blocks(spec, blocks, _read)
        took, spent = round(time.monotonic() - started, 3), round(sum(self._spent), 3)
        write_result(self._stores, self.submission, replace(result, seconds=took, reader_seconds=spent))

    def _through_frame(self, spec: ReadSpec, function: FrameFunction, blocks: list[Block]) -> GroupResult:
        """Stage the group's records, prove them, write what the function makes of them, and return the result.

        A verification only compares what is read with what was published, and does not call the function.
        """
        staged = staging_spec(spec)
        if spec.mode == "verify":
            return self._read_blocks(staged, blocks, _stage)
        report = partial(self._report, "transformed", _size(blocks), ())
        stage = FrameStage(
            spec=spec, function=function, engine=self.engine, make_stores=self.make_stores, report=report
        )
        stage.check()
        with removed_afterwards(self._stores, staged.target.folder):
            read = self._read_blocks(staged, blocks, _stage)
            prove_staged(self._stores, staged, blocks, read)
            return stage.run(read)

    def _read_blocks(self, spec: ReadSpec, blocks: list[Block], task: ReadTask) -> GroupResult:
        """Return the result of the tasks that read the blocks."""
        states = self._entry_states(spec, blocks)
        at_once = spec.options.sink.per_group and spec.mode != "verify"
        packed = [blocks] if blocks and at_once else self._packed(spec, blocks)
        few = len(packed) <= _MOST_WATCHED
        portions = [
            Portion(
                run,
                {b.number: states[b.number] for b in run if b.number in states},
                task_progress_uri(spec.folder, run[0].number) if few else "",
            )
            for run in packed
        ]
        reports = self._run_tasks(spec, partial(task, spec, self.make_stores), portions, verb="read")
        in_order = sorted(zip(portions, reports, strict=True), key=lambda read: read[0].blocks[0].number)
        return group_result(self._stores, spec, [report for _, report in in_order])

    def _entry_states(self, spec: ReadSpec, blocks: list[Block]) -> dict[int, int]:
        """Return the entry states of blocks that need one.

        For files that span groups they come from the scan step; the others were kept by an earlier attempt, or they are
        scanned here, and kept.
        """
        secret, fmt = self.submission.window_secret, make_format(spec.options.record_format)
        if not fmt.needs_scan:
            return {}
        begun = dict(spec.part_states)
        entered = {b.number: begun[b.file] for b in blocks if b.file in begun and b.start == b.part_start}
        known = require_states(self._stores, spec.entry_states_uri, secret=secret) if spec.entry_states_uri else {}
        files = list(files_to_scan((b for b in blocks if b.number not in known), fmt))
        if not files:
            return entered | known
        kept = read_states(self._stores, spec.group_states_uri, secret=secret) or {}
        states = self._find_states(spec, files, kept)
        if states.keys() != kept.keys():
            write_states(self._stores, spec.group_states_uri, states, secret=secret)
        return entered | known | states

    def _find_states(self, spec: JobSpec, files: list[list[Block]], known: dict[int, int]) -> dict[int, int]:
        """Return the known states, and those of all blocks of files with unknown states, which are scanned."""
        unknown = [of_file for of_file in files if any(block.number not in known for block in of_file)]
        blocks = [block for of_file in unknown for block in of_file[:-1]]  # the last block's map is not needed
        task, portions = partial(_scan, spec, self.make_stores), [Portion(run) for run in self._packed(spec, blocks)]
        found = self._run_tasks(spec, task, portions, verb="scanned")
        maps = {number: state_map for of_run in found for number, state_map in of_run}
        return known | entry_states(make_format(spec.options.record_format), unknown, maps, dict(spec.part_states))

    def _blocks(self, spec: JobSpec, group: int | None = None) -> Iterator[Block]:
        excluded = set(spec.excluded)
        planned = read_manifest(self._stores, spec.manifest_uri, spec.manifest_hash, group=group)
        return (block for block in planned if block.file not in excluded)

    def _packed(self, spec: JobSpec, blocks: list[Block]) -> list[list[Block]]:
        cores, sure, readers = self.engine.cores, not self.engine.may_grow, spec.readers
        limited = readers is not None and sure and cores <= readers  # regardless of the number of tasks
        most = None if limited else readers
        if spec.options.task_bytes is not None:
            runs = fill(blocks, spec.options.task_bytes, spec.options.added_bytes)
            return runs if most is None or len(runs) <= most else pack(blocks, cores=cores, max_readers=most)
        return largest_first(pack(blocks, cores=cores, sure=sure, max_readers=most, rate=spec.rate), spec.rate)

    def _run_tasks(
        self, spec: JobSpec, task: Task[Portion, Answer], portions: list[Portion], *, verb: str
    ) -> list[Answer]:
        progress = self._progress  # elapsed time counts from here
        size, watched = sum(_size(each.blocks) for each in portions), [each for each in portions if each.progress]
        report, title = partial(self._report, verb, size, watched), f"{spec}: {verb}"
        answers = self.engine.run(partial(_timed, task), portions, title=title, report=report, measure=_read_by)
        progress.write(reduce(Tally.plus, map(_read_by, answers), Tally()))
        self._spent.extend(seconds for _, seconds in answers)
        return [answer for answer, _ in answers]

    def _report(self, verb: str, size: int, at_work: Sequence[Portion], progress: Progress) -> None:
        read = (
            read_task_progress(self._stores, each.progress, blocks=len(each.blocks), size=_size(each.blocks))
            for each in at_work
        )
        tally = reduce(Tally.plus, read, progress.tally)
        self.observer.progress(replace(progress, what=verb, size=size, tally=tally))
        self._progress.write(tally)


def _size(blocks: Iterable[Block]) -> int:
    return sum(block.end - block.start for block in blocks)


def _timed(task: Task[Portion, Answer], portion: Portion, attempt: int) -> tuple[Answer, float]:
    """Return the task's answer, and the seconds that it took."""
    started = time.monotonic()
    return task(portion, attempt), time.monotonic() - started


def _read_by(answered: tuple[object, float]) -> Tally:
    """Return what a task has read; a scan's task has read nothing yet."""
    answer, _ = answered
    return answer.tally if isinstance(answer, TaskReport) else Tally()


def _read(spec: ReadSpec, make_stores: MakeStores, portion: Portion, attempt: int) -> TaskReport:
    leave_pandas_out(spec.options)
    return _stage(spec, make_stores, portion, attempt)


def _stage(spec: ReadSpec, make_stores: MakeStores, portion: Portion, attempt: int) -> TaskReport:
    """Read a portion in a worker that Spark may reuse for the user's code, which may need pandas."""
    return read_blocks(
        spec, make_stores(), portion.blocks, attempt=attempt, states=portion.states, progress=portion.progress
    )


def _scan(spec: JobSpec, make_stores: MakeStores, portion: Portion, attempt: int) -> StateMaps:
    del attempt  # a scan leaves no file
    return scan_blocks(spec, make_stores(), portion.blocks)


def group_result(stores: Stores, spec: ReadSpec, reports: Sequence[TaskReport]) -> GroupResult:
    """Write the receipts of the tasks and return the result of the group.

    Raises:
        FunctionError: when tasks wrote batches of different schemas.
    """
    batches = [batch for report in reports for batch in pa.ipc.open_stream(report.receipts)]
    uri = f"{spec.folder}/{RECEIPTS_NAME}"
    receipts_hash = write_receipts(stores, uri, batches)
    outputs = tuple(output for report in reports for output in report.outputs)
    schemas = sorted({report.schema for report in reports if report.schema})
    if len(schemas) > 1:
        msg = (
            f"{spec.options.function} returned batches of different schemas, {schemas[0]!r} and {schemas[1]!r}; return"
            " the same columns and types always"
        )
        raise FunctionError(msg)
    return GroupResult(
        window=spec.window,
        generation=spec.generation,
        group=spec.group,
        epoch=spec.epoch,
        manifest_hash=spec.manifest_hash,
        receipts_uri=uri,
        receipts_hash=receipts_hash,
        rows=sum(output.rows for output in outputs),
        outputs=outputs,
        quarantined=tuple(output for report in reports for output in report.quarantined),
        schema="".join(schemas),
        first_bad=next((report.first_bad for report in reports if report.first_bad), ""),
        **asdict(receipt_sums(batches)),
    )
