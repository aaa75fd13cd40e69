"""DuckDB, polars, and what bounds every reader, each in a separate process with two threads, or as many as cores.

`python -m benchmarks.harness.peers SIDE WORK SOURCE TARGET` does the work once for each line of its standard input.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import IO

from benchmarks.harness.data import CSV_SCHEMA, JSON_SCHEMA
from benchmarks.harness.measure import alternate

_CORES = "BENCHMARK_CORES"
_THREADS = int(os.environ.get(_CORES, "2"))
_SCHEMAS = {"csv": CSV_SCHEMA, "quoted_csv": CSV_SCHEMA, "json_lines": JSON_SCHEMA}
_PIECE = 2**20
_DONE = "done"

#: Does a work once; it was made with the work's name, the source and an empty folder.
Side = Callable[[], object]


def duckdb_copy(work: str, source: Path, target: Path) -> Side:
    """Return DuckDB's COPY of a work; it reads empty lines as null."""
    import duckdb  # noqa: PLC0415 - each process loads only what it measures

    types = {"long": "BIGINT", "double": "DOUBLE", "timestamp": "TIMESTAMPTZ", "string": "VARCHAR"}
    csv = f"'{source}', columns = { ({name: types[kind] for name, kind in _columns(work)}) }"
    strict = "header = false, auto_detect = false"
    queries = {
        "lines": f"SELECT coalesce(value, '') AS value FROM read_csv({csv}, {strict}, delim = '\x01', quote = '')",  # noqa: S608 - ours
        "csv": f"FROM read_csv({csv}, {strict})",
        "json_lines": f"FROM read_json({csv}, format = 'newline_delimited')",
        "whole_files": f"SELECT content AS value FROM read_text('{source}/**/*.log')",  # noqa: S608 - ours
    }
    connection = duckdb.connect()
    connection.execute(f"SET threads = {_THREADS}; SET TimeZone = 'UTC'; SET temp_directory = '{target}'")
    query = queries[work.removeprefix("quoted_")]
    copy = f"COPY ({query}) TO '{target}/all.parquet' (FORMAT parquet, COMPRESSION snappy)"
    return lambda: connection.execute(copy)


def polars_sink(work: str, source: Path, target: Path) -> Side:
    """Return polars' streaming write of a work. It reads the texts of times, which are converted afterwards."""
    import polars as pl  # noqa: PLC0415 - as above

    types = {"long": pl.Int64, "double": pl.Float64, "timestamp": pl.String, "string": pl.String}
    schema = {name: types[kind] for name, kind in _columns(work)}
    if work == "lines":
        frame = pl.scan_lines(source, name="value")
    else:
        read = pl.scan_ndjson if work == "json_lines" else partial(pl.scan_csv, has_header=False)
        frame = read(source, schema=schema).with_columns(
            pl.col("ts").str.to_datetime("%Y-%m-%dT%H:%M:%SZ", time_unit="us", time_zone="UTC")
        )
    return lambda: frame.sink_parquet(target / "all.parquet", compression="snappy")


def read_alone(_: str, source: Path, __: Path) -> Side:
    """Return a read of all bytes of a source by two processes."""
    files = sorted(file for file in source.rglob("*") if file.is_file()) if source.is_dir() else [source]
    tasks = [(files[number::_THREADS], 0, sys.maxsize) for number in range(_THREADS)]
    if len(files) == 1:
        share = -(-source.stat().st_size // _THREADS)
        tasks = [(files, number * share, (number + 1) * share) for number in range(_THREADS)]
    pool = get_context("fork").Pool(_THREADS)
    return lambda: pool.starmap(_read_files, tasks, chunksize=1)


def _read_files(files: Sequence[Path], start: int, end: int) -> int:
    buffer, total = bytearray(_PIECE), 0
    for file in files:
        with file.open("rb", buffering=0) as opened:
            opened.seek(start)
            while start + total < end and (count := opened.readinto(buffer)):
                total += count
    return total


def parquet_alone(_: str, source: Path, target: Path) -> Side:
    """Return a write of what blockread published at the source, from memory and as it is encoded there."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - as above

    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    from airflow_provider_blockread.sinks.columnar.encodings import choose_encodings  # noqa: PLC0415

    table = pa.concat_tables(pq.ParquetFile(file).read() for file in sorted(source.rglob("*.parquet")))
    encodings = choose_encodings(table[: 2**20], "snappy")
    share = -(-table.num_rows // _THREADS)

    def write(number: int) -> None:
        pq.write_table(table.slice(number * share, share), target / f"{number}.parquet", **encodings)

    pool = ThreadPoolExecutor(_THREADS)
    return lambda: list(pool.map(write, range(_THREADS)))


SIDES: Mapping[str, Callable[[str, Path, Path], Side]] = {
    "DuckDB": duckdb_copy,
    "polars": polars_sink,
    "read": read_alone,
    "Parquet": parquet_alone,
}


def _columns(work: str) -> list[tuple[str, str]]:
    pairs = [column.split() for column in _SCHEMAS.get(work, "value string").split(", ")]
    return [(name, kind) for name, kind in pairs]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A process that does a work when it is asked to, into a folder; one side of a comparison."""

    folder: Path
    process: subprocess.Popen[str]

    def prepare(self) -> None:
        """Empty the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def run(self) -> None:
        """Ask for the work, and wait for its end."""
        asked, answers = _pipes(self.process)
        print(file=asked, flush=True)
        if (answer := answers.readline().strip()) != _DONE:
            msg = f"{self.process.args!r} said {answer!r} and ended with code {self.process.wait()}"
            raise RuntimeError(msg)


@contextmanager
def peer(side: str, work: str, source: Path, folder: Path, cores: int = 2) -> Iterator[Peer]:
    """Provide a process that does a work of a source into a folder, on some cores."""
    command = [sys.executable, "-m", __name__, side, work, str(source), str(folder)]
    limits = dict.fromkeys((_CORES, "POLARS_MAX_THREADS"), str(cores))
    with subprocess.Popen(  # noqa: S603 - this program
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **limits}
    ) as process:
        try:
            yield Peer(folder=folder, process=process)
        finally:
            _pipes(process)[0].close()


@contextmanager
def peers(sides: Sequence[str], work: str, source: Path, folder: Path) -> Iterator[dict[str, Peer]]:
    """Provide several such processes by their names, each with a folder of its name."""
    with ExitStack() as stack:
        yield {side: stack.enter_context(peer(side, work, source, folder / side)) for side in sides}


def floor(work: str, source: Path, published: Path, folder: Path, rounds: int, cores: int = 2) -> dict[str, float]:
    """Return the seconds that reading a source alone takes, and those for writing what was published alone."""
    seconds = {}
    for side, read in (("read", source), ("Parquet", published)):
        with peer(side, work, read, folder / side, cores) as alone:
            (times,) = alternate([alone], rounds)
        seconds[side] = times.best
    return seconds


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    if process.stdin is None or process.stdout is None:
        msg = "this process was started without pipes"
        raise RuntimeError(msg)
    return process.stdin, process.stdout


def main(side: str, work: str, source: str, target: str) -> None:
    """Do the work once for each line of standard input."""
    do = None
    for _ in sys.stdin:
        do = do or SIDES[side](work, Path(source), Path(target))
        do()
        print(_DONE, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
