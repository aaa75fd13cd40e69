"""What users of this package write: functions of record batches, named by import path."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.compute as pc
from quoted_lines import QuotedLines

from airflow_provider_blockread.records import Walk


def keep_even(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Keep the numbers that are even."""
    numbers = pc.cast(batch["value"], pa.int64())
    return batch.filter(pc.equal(pc.bit_wise_and(numbers, 1), 0))


def nothing(batch: pa.RecordBatch) -> None:
    """Keep no record."""
    del batch


def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return other columns, and twice as many rows."""
    length = pc.cast(pc.binary_length(batch["value"]), pa.int64())
    once = pa.record_batch({"length": length})
    return pa.Table.from_batches([once, once]).combine_chunks().to_batches()[0]


def wavering(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return another type for some batches."""
    kind = pa.int64() if batch["value"][0].as_py() == "first" else pa.string()
    return pa.record_batch({"answer": pa.array([None] * batch.num_rows, kind)})


def fails_on_bad_word(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Raise on the record `bad`."""
    if "bad" in batch["value"].to_pylist():
        msg = "cannot bear it"
        raise ValueError(msg)
    return batch


def no_batch(batch: pa.RecordBatch) -> int:
    """Return something else than a batch."""
    return int(batch.num_rows)


def _first_time(mark: str) -> bool:
    try:
        os.close(os.open(Path(os.environ["BLOCKREAD_TEST_MARKS"]) / mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def fails_once(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Raise in the first attempt at the record `fail here`."""
    if "fail here" in batch["value"].to_pylist() and _first_time("failed"):
        msg = "the network was away"
        raise OSError(msg)
    return batch


def sleeps_once(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Be slow in the first attempt at the record `sleep here`, until another attempt has come by."""
    if "sleep here" in batch["value"].to_pylist() and not _first_time("slow"):
        (Path(os.environ["BLOCKREAD_TEST_MARKS"]) / "overtaken").touch()
    elif "sleep here" in batch["value"].to_pylist():
        deadline = time.monotonic() + 60
        while not (Path(os.environ["BLOCKREAD_TEST_MARKS"]) / "overtaken").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(float(os.environ.get("BLOCKREAD_TEST_LAG_S", "0")))
    return batch


def dies(batch: pa.RecordBatch) -> pa.RecordBatch:
    """End the Python worker that calls, until there is a file `survives` among the marks."""
    if not (Path(os.environ["BLOCKREAD_TEST_MARKS"]) / "survives").exists():
        os._exit(137)
    return batch


def kills_spark(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Kill the JVM that this worker works for, the first time at the record `kill here`: driver or executor."""
    if "kill here" in batch["value"].to_pylist() and _first_time("killed"):
        next(process for process in psutil.Process().parents() if "java" in process.name()).kill()
        time.sleep(60)
    return batch


def fails_and_kills(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Raise once at one record, and kill the executor once at another."""
    return kills_spark(fails_once(batch))


def where_am_i(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Add where this package was imported from, on an executor."""
    import airflow_provider_blockread

    return batch.append_column("place", pa.array([airflow_provider_blockread.__file__] * batch.num_rows))


class Breaks(QuotedLines):
    """A format of one's own with a mistake that only some files show."""

    def walk(self, buffer: bytes, *, final: bool) -> Walk:
        """Raise on what it does not know."""
        if b"?" in buffer:
            msg = "no idea what ? means"
            raise KeyError(msg)
        return super().walk(buffer, final=final)


def quotes(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Raise with the record in the message, unless it is `fine`."""
    record = batch["value"][0].as_py()
    if record == "fine":
        return batch
    msg = f"cannot parse {record}"
    raise ValueError(msg)


def lingers(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Take as long for the record `linger here` as another executor stays, or a minute."""
    if "linger here" in batch["value"].to_pylist():
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not _has_lost_an_executor():
            time.sleep(0.2)
    return batch


def _has_lost_an_executor() -> bool:
    logs = (path for path in (Path(os.environ["BLOCKREAD_TEST_MARKS"]) / "events").rglob("*") if path.is_file())
    return any(b"SparkListenerExecutorRemoved" in path.read_bytes() for path in logs)


def kills_spark_later(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Have the executor killed soon after its task with the record `kill here` has ended, the first time."""
    if "kill here" in batch["value"].to_pylist() and _first_time("killed"):
        executor = next(process for process in psutil.Process().parents() if "java" in process.name())
        command = f"sleep 0.05; kill -9 {executor.pid}"
        subprocess.Popen(["/bin/sh", "-c", command], start_new_session=True)
    return batch


def takes_few(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Fail on a batch of more records than the environment allows."""
    if batch.num_rows > int(os.environ["MOST_RECORDS"]):
        msg = "too many"
        raise ValueError(msg)
    return batch


def viewed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a view of the texts, as polars and others have them."""
    return pa.record_batch({"value": batch["value"].cast(pa.string_view()), "other": batch["value"]})
