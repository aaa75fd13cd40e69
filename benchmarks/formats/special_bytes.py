"""Files that repeat one special byte: time grows linearly with the size, or the file is refused with advice.

Each file is read in a separate process: `python -m benchmarks.formats.special_bytes NUMBER FILE` prints JSON.
"""

from __future__ import annotations

import contextlib
import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_blockread.blocks import Block, FileVersion, iter_ranges
from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.options import (
    Csv,
    Delimited,
    Escaped,
    FormatOption,
    JsonArray,
    JsonLines,
    Lines,
    Policies,
)
from airflow_provider_blockread.records import ByteSource, make_format
from airflow_provider_blockread.records.reading import bind
from airflow_provider_blockread.spark.tasks.block_reader import BlockReader, OpenFile
from benchmarks.harness.measure import Row

if TYPE_CHECKING:
    from benchmarks.harness.lab import Lab

_MIB = 2**20
_BLOCK = 64 * _MIB
_HEAD = 64 * 2**10
_LIMIT_S = 600
_ALL_BAD = {"[,", "[1,", "1 "}  # every byte or two is a bad record, each of which is checked by itself
_SHARE = 64  # of the size, for those
_GROWTH = 1.5  # of time over that of size; more than this is worse than linear
_COLUMN = "value string"
_OBJECT = "id long"

#: Formats, and the bytes with a meaning to each.
_RUNS: tuple[tuple[FormatOption, str], ...] = (
    *((Lines(), run) for run in ("\n", "\r")),
    *((Delimited(delimiter="||"), run) for run in ("|",)),
    *((Delimited(delimiter="aabaa"), run) for run in ("a", "aab")),
    *((Escaped(), run) for run in ("\\", "\n", "\\\n")),
    *((Csv(schema=_COLUMN), run) for run in ('"', ",", "\n", "\r", '"\n', 'x"')),
    *((Csv(schema=_COLUMN, escape="\\", comment="#"), run) for run in ('"', "\\", "#", "\n", "#\n", "\\\n")),
    *((JsonLines(schema=_OBJECT), run) for run in ("\n", " ", "{", '"', "\\")),
    *((JsonArray(schema=_OBJECT), run) for run in ("[", "[{", '["', "[\\", "[ ", "[,", "[1,", "]")),
    *((JsonArray(schema=_OBJECT, layout="values"), run) for run in ("{", "[", '"', "\\", " ", "1 ", "}")),
    *((Lines(encoding="utf-16-le"), run) for run in ("\n\x00",)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """The cost of reading one file, in processor seconds; `refused` is the advice where it was refused."""

    seconds: float
    peak: int  # bytes of memory
    records: int = 0
    refused: str = ""

    def show(self) -> str:
        """Return a short description."""
        what = f"refused: {self.refused}" if self.refused else f"{self.records:,} records"
        return f"{self.seconds:.2f} s, {self.peak / _MIB:.0f} MiB, {what}"


def run(lab: Lab) -> Iterator[Row]:
    """Yield a row for each run of bytes, at a sixteenth and a quarter of the size of other benchmarks at most."""
    folder = lab.folder("special_bytes")
    for number, (option, piece) in enumerate(_RUNS):
        large = lab.size // 4 // (_SHARE if piece in _ALL_BAD else 1)
        reads = [_measure(number, folder / "run.bin", size) for size in (large // 4, large)]
        name = f"{option.kind}, {_written(option)}{piece!r} again and again"
        shown = [read.show() if isinstance(read, _Read) else read for read in reads]
        growth = _growth(*reads)
        yield Row(
            work=f"{large / _MIB:.0f} MiB of {name}",
            rival=f"a quarter of it: {shown[0]}",
            ours=shown[1],
            ratio=f"{growth:.2f}",
            target=f"growth < {_GROWTH:g}, or advice",
            met=growth < _GROWTH,
        )
    shutil.rmtree(folder)


def _written(option: FormatOption) -> str:
    said = [
        f"{name}={getattr(option, name)!r}, " for name in ("delimiter", "escape", "layout") if hasattr(option, name)
    ]
    return "".join(said)


def _growth(small: _Read | str, large: _Read | str) -> float:
    """Return the growth of the time per byte in the larger file, or 0 where it was refused with advice."""
    if isinstance(small, str) or isinstance(large, str):
        return float("inf")
    return 0.0 if large.refused else large.seconds / small.seconds / 4


def _measure(number: int, path: Path, size: int) -> _Read | str:
    _fill(path, _RUNS[number][1].encode(), size)
    command = [sys.executable, "-m", "benchmarks.formats.special_bytes", str(number), str(path)]
    try:
        done = subprocess.run(  # noqa: S603 - this program
            command, capture_output=True, text=True, check=False, timeout=_LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return f"no end within {_LIMIT_S} s"
    if done.returncode:
        return f"code {done.returncode}: {done.stderr.strip()[-200:]}"
    return _Read(**json.loads(done.stdout))


def _fill(path: Path, piece: bytes, size: int) -> None:
    head, rest = (piece[:1], piece[1:]) if piece[:1] == b"[" and len(piece) > 1 else (b"", piece)
    some = rest * (_MIB // len(rest))
    with path.open("wb") as file:
        file.write(head)
        while file.tell() < size:
            file.write(some)


def main(number: int, path: Path) -> _Read:
    """Read one file in blocks, in order, as a window does, and return its cost."""
    option = _RUNS[number][0]
    with contextlib.suppress(BlockReadError):
        _read(option, _head(path))  # loads modules and tables
    started = time.process_time()
    records, refused = 0, ""
    try:
        records = _read(option, path)
    except BlockReadError as error:
        refused = str(error).replace(str(path), path.name)
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return _Read(seconds=seconds, peak=peak, records=records, refused=refused)


def _head(path: Path) -> Path:
    """Return a small file with the first bytes of this one."""
    small = path.with_suffix(".head")
    with path.open("rb") as file:
        small.write_bytes(file.read(_HEAD))
    return small


def _read(option: FormatOption, path: Path) -> int:
    size = path.stat().st_size
    version = FileVersion(path=str(path), size=size, mtime_ns=0)
    fmt = make_format(option)
    reader = BlockReader(policies=Policies(on_bad_record="drop"), handle_bad=lambda _block, _chunk, _bad: None)
    records, state = 0, fmt.initial_state
    with path.open("rb") as raw:
        source = ByteSource(raw, name=str(path))
        bound = bind(source, fmt)
        file = OpenFile(source=source, fmt=bound, decoder=bound.decoder())
        for number, (start, end) in enumerate(iter_ranges(size, _BLOCK)):
            block = Block(
                number=number, group=0, file=0, version=version, start=start, end=end, part_start=0, part_end=size
            )
            records += reader.read(file, block, state, lambda rows: int(rows.batch.num_rows)).records
            if bound.needs_scan:
                state = bound.scan(source, min(max(start, source.data_offset), end), end)(state)
    return records


if __name__ == "__main__":
    print(json.dumps(asdict(main(int(sys.argv[1]), Path(sys.argv[2])))))
