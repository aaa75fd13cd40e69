"""Small files, one record each, into Parquet at `local[2]`: Spark's `wholetext` and `binaryFile` against a window."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from airflow_provider_blockread.options import WholeFile
from benchmarks.harness.data import write_small_files
from benchmarks.harness.lab import Lab, Windows, require_same
from benchmarks.harness.measure import Contender, Row, Timed, Times, alternate, beside_others
from benchmarks.harness.peers import floor, peers

_WINDOW = {"Spark": 10}
_READ_STEP = {"Spark": 30, "binaryFile": 15}
_DUCKDB_FILES = 20_000  # at most: twice as many take DuckDB nine times as long


def run(lab: Lab) -> Iterator[Row]:
    """Yield a row for whole windows and one for their read steps."""
    folder = lab.folder("small_files")
    source, count = folder / "source", lab.files
    write_small_files(source, count, range(3000, 8000))
    theirs = {name: folder / name for name in ("Spark", "binaryFile")}

    def contender(name: str) -> Contender:
        return Contender(prepare=lambda: shutil.rmtree(theirs[name], ignore_errors=True), run=lambda: spark_reads(name))

    duckdb = ("DuckDB",) if count <= _DUCKDB_FILES else ()
    with lab.spark(cores=2) as spark, peers(duckdb, "whole_files", source, folder) as others:

        def spark_reads(name: str) -> None:
            reader = spark.read.option("recursiveFileLookup", "true")
            as_text = name == "Spark"
            found = (
                reader.text(str(source), wholetext=True) if as_text else reader.format("binaryFile").load(str(source))
            )
            (found if as_text else found.select("content")).write.parquet(str(theirs[name]))

        ours, reads = Windows(folder / "ours", source, WholeFile(), spark), Times()

        def window() -> None:
            ours.run()
            reads.seconds.append(ours.seconds["read"])

        sides: dict[str, Timed] = {name: contender(name) for name in theirs}
        sides |= {"blockread": Contender(prepare=ours.prepare, run=window), **others}
        times = dict(zip(sides, alternate(list(sides.values()), lab.rounds), strict=True))
    require_same(theirs["Spark"], ours.output)
    least = floor("whole_files", source, ours.output, folder / "floor", lab.rounds)
    shutil.rmtree(folder)
    title = f"{count:,} files of 3 to 8 KB"
    yield beside_others(f"{title}, whole window", times, (count, "files"), _WINDOW, least)
    reads.seconds.pop(0)
    reads.cpu_seconds = times["blockread"].cpu_seconds
    yield beside_others(f"{title}, read step alone", {**times, "blockread": reads}, (count, "files"), _READ_STEP, least)
