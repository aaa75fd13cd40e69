"""The Spark application: reads one block group and leaves a result file. Run by spark-submit, or in process.

    spark-submit --py-files blockread.zip job.py --spec URI --spec-hash SHA256

It reaches no database. It reads its job specification, which must have the hash, and the manifest, reads the blocks in
Spark tasks, and writes receipts and, last, the result of the task attempts that Spark accepted. Environment:
BLOCKREAD_CREDENTIALS_FILE names a private file (JSON) of storage options by URI prefix (`stores`) and the secrets that
seal what this application writes (`secret`, `window_secret`), which is removed as soon as it is read; BLOCKREAD_PARENT
is `host:pid` of the process whose end ends this one, and BLOCKREAD_FOLDER its folder, which then goes too.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.errors import BlockReadError, FunctionError
from airflow_provider_blockread.exchange.failures import write_failure
from airflow_provider_blockread.exchange.manifest import read_manifest
from airflow_provider_blockread.exchange.model import GroupResult, JobSpec, Submission
from airflow_provider_blockread.exchange.receipts import write_receipts
from airflow_provider_blockread.exchange.results import RECEIPTS_NAME, read_spec, write_result
from airflow_provider_blockread.exchange.seals import new_secret
from airflow_provider_blockread.exchange.states import read_states, require_states, write_states
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.spark.packing import pack
from airflow_provider_blockread.spark.parent import end_with_parent
from airflow_provider_blockread.spark.partition import TaskReport, read_blocks, scan_blocks
from airflow_provider_blockread.spark.progress import ERROR_LINE, OWN_LINE, Log, logging_progress
from airflow_provider_blockread.spark.reporting import as_own_error, own_errors_as_text
from airflow_provider_blockread.spark.scanning import entry_states, files_to_scan
from airflow_provider_blockread.spark.settings import guarding, has_own_logging, silence
from airflow_provider_blockread.spark.worker import leave_pandas_out
from airflow_provider_blockread.storage.stores import Stores

if TYPE_CHECKING:
    from pyspark import SparkContext as SparkContext  # noqa: PLC0414 - others name the type by this module

#: Storage options by URI prefix; they travel in the tasks' closures and nowhere else.
Credentials = Mapping[str, Mapping[str, object]] | None

_DIFFERENT = "function {} returned batches of different schemas, {} and {}; return the same columns and types always"


def run(
    submission: Submission, context: SparkContext, credentials: Credentials = None, *, log: Log = lambda _: None
) -> None:
    """Do what a job specification says, on the given Spark context: read a group, or scan a window.

    `log` takes lines of progress.

    Raises:
        ExchangeError: when the specification is not the one that was submitted; nothing in it is used then.
        BlockReadError: what a task raised, as itself.
        SparkJobError: when the application failed for Spark's own reasons.
        ConnectionError: when Spark's JVM is gone.
    """
    stores = Stores(credentials)
    spec = read_spec(stores, submission)
    context.setJobDescription(f"feed {spec.feed} window {spec.window}: {spec.mode} group {spec.group}")
    application = _Application(spec, submission, context, credentials, log)
    try:
        if spec.mode == "scan":
            application.scan_window(stores)
        else:
            application.read_group(stores)
    except (BlockReadError, ConnectionError):  # the latter when the JVM is gone: whoever started it knows more
        raise
    except Exception as error:
        raise as_own_error(error, application.secret) from error


class _Application:
    def __init__(
        self, spec: JobSpec, submission: Submission, context: SparkContext, credentials: Credentials, log: Log
    ) -> None:
        self._spec, self._submission, self._context, self._credentials = spec, submission, context, credentials
        self._log = log
        self.secret = new_secret()  # seals what tasks report; it travels in their closure, and nowhere else

    def scan_window(self, stores: Stores) -> None:
        """Find the entry states of all blocks whose file spans groups, but for those that are known."""
        spec = self._spec
        kept = self._kept_states(stores)
        files = files_to_scan(self._blocks(stores, None), spec.options.record_format)
        spanning = [of_file for of_file in files if of_file[0].group != of_file[-1].group]
        unknown = [of_file for of_file in spanning if any(block.number not in kept for block in of_file)]
        secret = self._submission.window_secret
        write_states(stores, str(spec.entry_states_uri), kept | self._scan(unknown), secret=secret)

    def read_group(self, stores: Stores) -> None:
        """Read the group's blocks and leave the result."""
        spec = self._spec
        blocks = list(self._blocks(stores, spec.group))
        started = time.monotonic()
        states = self._entry_states(stores, blocks)
        work = [
            (part, {b.number: states[b.number] for b in part if b.number in states}) for part in self._packed(blocks)
        ]
        with self._logging_progress("read", blocks):
            reports = self._run_tasks(_reading(spec, self._credentials, self.secret), work)
        _write_result(stores, spec, self._submission, reports, seconds=time.monotonic() - started)

    def _blocks(self, stores: Stores, group: int | None) -> Iterator[Block]:
        spec, excluded = self._spec, set(self._spec.excluded)
        every = read_manifest(stores, spec.manifest_uri, spec.manifest_hash, group=group)
        return (block for block in every if block.file not in excluded)

    def _entry_states(self, stores: Stores, blocks: list[Block]) -> dict[int, int]:
        """Return the entry states of blocks that need one.

        Those of files that span groups come from the scan step; the others an earlier attempt has kept, or they are
        scanned here, and kept.
        """
        spec, secret = self._spec, self._submission.window_secret
        if not make_format(spec.options.record_format).needs_scan:
            return {}
        begun = dict(spec.part_states)
        entered = {b.number: begun[b.file] for b in blocks if b.file in begun and b.start == b.part_start}
        known = require_states(stores, spec.entry_states_uri, secret=secret) if spec.entry_states_uri else {}
        files = list(files_to_scan((b for b in blocks if b.number not in known), spec.options.record_format))
        if not files:
            return entered | known
        kept = self._kept_states(stores)
        unknown = [of_file for of_file in files if any(block.number not in kept for block in of_file)]
        if unknown:
            kept |= self._scan(unknown)
            if spec.group_states_uri:
                write_states(stores, spec.group_states_uri, kept, secret=secret)
        return entered | known | kept

    def _kept_states(self, stores: Stores) -> dict[int, int]:
        uri, secret = self._spec.group_states_uri, self._submission.window_secret
        return (read_states(stores, uri, secret=secret) if uri else None) or {}

    def _scan(self, files: list[list[Block]]) -> dict[int, int]:
        blocks = [block for of_file in files for block in of_file[:-1]]  # what lies behind a file's last is no block
        fmt, begun = make_format(self._spec.options.record_format), dict(self._spec.part_states)
        return entry_states(fmt, files, self._state_maps(blocks), begun)

    def _state_maps(self, blocks: list[Block]) -> dict[int, list[list[int]]]:
        with self._logging_progress("scanned", blocks):
            return dict(self._run_tasks(_scanning(self._spec, self._credentials, self.secret), self._packed(blocks)))

    def _logging_progress(self, what: str, blocks: list[Block]) -> AbstractContextManager[None]:
        size = sum(block.end - block.start for block in blocks)
        return logging_progress(self._log, self._context.statusTracker(), what, size)

    def _packed(self, blocks: list[Block]) -> list[list[Block]]:
        cores, here = self._context.defaultParallelism, str(self._context.master).startswith("local[")
        return pack(blocks, cores=cores, sure=here, max_readers=self._spec.max_readers)

    def _run_tasks(self, task: Callable[[Iterable[Any]], Iterator[Any]], work: list[Any]) -> list[Any]:
        return self._context.parallelize(work, len(work)).mapPartitions(task).collect() if work else []


def _scanning(spec: JobSpec, credentials: Credentials, secret: str) -> Callable[[Iterable[list[Block]]], Iterator[Any]]:
    def scan(parts: Iterable[list[Block]]) -> Iterator[tuple[int, list[list[int]]]]:
        for part in parts:
            with own_errors_as_text(secret):
                found = scan_blocks(spec, Stores(credentials), part)
            yield from found

    return scan


def _reading(spec: JobSpec, credentials: Credentials, secret: str) -> Callable[[Iterable[Any]], Iterator[TaskReport]]:
    def read(parts: Iterable[tuple[list[Block], dict[int, int]]]) -> Iterator[TaskReport]:
        from pyspark import TaskContext  # noqa: PLC0415 - only a task has one

        leave_pandas_out(spec.options)
        task = TaskContext.get()
        attempt = task.taskAttemptId() if task else 0
        for part, states in parts:
            with own_errors_as_text(secret):
                report = read_blocks(spec, Stores(credentials), part, attempt=attempt, states=states)
            yield report

    return read


def _write_result(
    stores: Stores, spec: JobSpec, submission: Submission, reports: list[TaskReport], *, seconds: float
) -> None:
    batches = [batch for report in reports for batch in pa.ipc.open_stream(report.receipts)]
    uri = f"{spec.work_uri}/{RECEIPTS_NAME}"
    receipts_hash = write_receipts(stores, uri, batches)
    sums = pa.Table.from_batches(batches).to_pydict() if batches else {}
    outputs = tuple(output for report in reports for output in report.outputs)
    schemas = sorted({report.schema for report in reports if report.schema})
    if len(schemas) > 1:
        raise FunctionError(_DIFFERENT.format(spec.options.transform.function, *map(repr, schemas)))
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
    write_result(stores, submission, result)


def start_context(master: str, conf: Mapping[str, str], defaults: Mapping[str, str]) -> SparkContext:
    """Return a Spark context of this process; without a session of Spark's SQL, which takes seconds to start.

    `conf` wins over the `spark-defaults.conf` of the user, which wins over `defaults`.
    """
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415

    given = [("spark.master", master), ("spark.app.name", "blockread"), *conf.items()]
    SparkContext._ensure_initialized(conf=SparkConf().setAll(given))  # noqa: SLF001 - a JVM reads the user's defaults
    settings = SparkConf().setAll(given)
    for key, value in defaults.items():
        settings.setIfMissing(key, value)
    return SparkContext.getOrCreate(settings)


def main(arguments: list[str] | None = None) -> int:
    """Run as a Spark application; return the process's exit code. A failure leaves `error.json` beside the spec."""
    submission, credentials = what_was_submitted(arguments)
    end_with_parent()
    context = _own_context(has_secrets=bool(credentials))
    try:
        run(submission, context, credentials, log=_tell)
    except BlockReadError as error:
        write_failure(Stores(credentials), submission, error)
        print(f"{ERROR_LINE}{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
        return 1
    finally:
        context.stop()
    return 0


def what_was_submitted(arguments: list[str] | None = None) -> tuple[Submission, Credentials]:
    """Return what an application is to do, from its arguments and its private file; without one there is no secret."""
    parser = argparse.ArgumentParser(prog="blockread job", description="Read one block group.")
    parser.add_argument("--spec", required=True, help="URI of the job specification")
    parser.add_argument("--spec-hash", required=True, help="SHA-256 of the specification, as hex")
    given = parser.parse_args(arguments)
    private = _private()
    stores = private.pop("stores", None)
    return Submission(spec_uri=given.spec, spec_hash=given.spec_hash, **private), stores


def _private() -> dict[str, Any]:
    path = os.environ.pop("BLOCKREAD_CREDENTIALS_FILE", None)
    if not path:
        return {}
    file = Path(path)
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    file.unlink()
    return found


def _tell(line: str) -> None:
    print(f"{OWN_LINE}{line}", file=sys.stderr, flush=True)  # noqa: T201 - where Airflow's side reads it


def _own_context(*, has_secrets: bool) -> SparkContext:
    """Return the context of this application; what the user or the cluster has configured stays."""
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - one is made only when this is an application
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415

    gateway = launch_gateway()  # type: ignore[no-untyped-call]
    conf = SparkConf(_jvm=gateway.jvm)
    settings = guarding(conf.get("spark.master") or "", has_secrets=has_secrets)
    quiet = conf.get("spark.submit.deployMode", "client") == "client" and not has_own_logging(gateway.jvm)
    if quiet:
        settings["spark.log.level"] = "WARN"
    for key, value in settings.items():
        conf.setIfMissing(key, value)
    context = SparkContext(conf=conf, gateway=gateway)
    if quiet:
        silence(gateway.jvm)
    return context


if __name__ == "__main__":
    sys.exit(main())
