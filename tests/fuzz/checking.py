"""Whether a trial holds: what reading in blocks gives is what plain Python gives, and nothing hangs or crashes."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from airflow_provider_blockread.blocks import iter_ranges
from airflow_provider_blockread.errors import PermanentError
from airflow_provider_blockread.records import RecordFormat, make_format, scan_block
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.walking import WalkLimits, first_start, walk_block
from tests.fuzz.model import Trial
from tests.records.framing import RefusedError, UnspecifiedError
from tests.records.oracles import ShortReads
from tests.records.reading_here import read_blocks
from tests.records.reference import records_of

CPU_SECONDS = 10.0  # for one trial; the usual one takes milliseconds


class HangError(Exception):
    """A trial took far too long."""


@contextmanager
def limited(seconds: float = CPU_SECONDS) -> Iterator[None]:
    """Raise `HangError` in what takes more time of the processor; pytest's own limit, of the clock, is left alone."""

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        message = f"more than {seconds} s"
        raise HangError(message)

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def problem(trial: Trial) -> str | None:
    """Return what is wrong, or None: an error of the package's own is no problem where the file is to be refused."""
    try:
        with limited():
            return _compare(trial)
    except Exception:  # noqa: BLE001 - whatever is raised is what was looked for
        return traceback.format_exc(limit=-6)


def _compare(trial: Trial) -> str | None:
    fmt, data = make_format(trial.option), trial.data
    whole = [(0, len(data))]
    blocks = list(iter_ranges(len(data), trial.block_size)) or whole
    at_once = _outcome(lambda: read_blocks(fmt, data, whole))
    try:
        expected = records_of(trial.option, data)
    except RefusedError:
        expected = None
    except UnspecifiedError:
        expected = at_once
    in_blocks = _outcome(lambda: read_blocks(fmt, data, blocks, most=trial.most, chunk=trial.chunk))
    if expected != at_once:
        return f"read at once:\n {at_once}\nbut it is:\n {expected}"
    if expected != in_blocks:
        return f"read in blocks:\n {in_blocks}\nbut it is:\n {expected}"
    rows = [_outcome(lambda r=ranges, c=chunk: _rows(fmt, data, r, c)) for ranges, chunk in _ways(trial, whole, blocks)]
    if rows[0] != rows[1]:
        return f"decoded in blocks:\n {rows[1]}\nbut at once:\n {rows[0]}"
    if rows[0] is not None and [offset for offset, _ in rows[0]] != [offset for offset, _ in expected or []]:
        return f"decoded:\n {rows[0]}\nbut the records are:\n {expected}"
    return None


def _ways(
    trial: Trial, whole: list[tuple[int, int]], blocks: list[tuple[int, int]]
) -> list[tuple[list[tuple[int, int]], int]]:
    return [(whole, 2**20), (whole if trial.option.compression not in {"auto", "none"} else blocks, trial.chunk)]


def _outcome(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except PermanentError:
        return None


def _rows(fmt: RecordFormat, data: bytes, ranges: list[tuple[int, int]], chunk: int) -> list[tuple[int, Any]]:
    """Return (offset, row) of each record, in order; a bad record's row is its reason."""
    rows: list[tuple[int, Any]] = []
    state = fmt.initial_state
    for start, end in ranges:
        source, bound = open_source(ShortReads(data, 2**20), fmt)
        decoder = bound.decoder()
        first = first_start(source, bound, start, state)
        for part in walk_block(source, bound, first, 2**62 if source.streamed else end, WalkLimits(chunk_bytes=chunk)):
            decoded = decoder.decode(part)
            reasons = {bad.index: f"bad: {bad.reason}" for bad in decoded.bad}
            good = iter(decoded.batch.to_pylist())
            offsets = (part.starts + part.offset).tolist()
            rows += [(at, reasons[i] if i in reasons else next(good)) for i, at in enumerate(offsets)]
            if next(good, None) is not None:
                rows.append((-1, "a row too many"))
        state = scan_block(ShortReads(data, 2**20), start, end, fmt)(state)
    return rows


def minimal(trial: Trial, *, tries: int = 1500) -> Trial:
    """Return a trial with as little data as still has a problem."""
    piece = max(len(trial.data) // 2, 1)
    while piece and tries > 0:
        start, cut = 0, False
        while start < len(trial.data) and tries > 0:
            smaller = trial.with_data(trial.data[:start] + trial.data[start + piece :])
            tries -= 1
            if problem(smaller) is None:
                start += piece
            else:
                trial, cut = smaller, True
        piece = piece if cut and piece == 1 else piece // 2
    return trial
