"""Small files, one record each, into Parquet at `local[2]`: `spark.read.text(wholetext=True)` against a window."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from airflow_provider_blockread.options import WholeFile
from benchmarks.harness.data import write_small_files
from benchmarks.harness.lab import Lab, Windows, require_same
from benchmarks.harness.measure import Contender, Row, alternate, ratio_row


def run(lab: Lab) -> Iterator[Row]:
    """Yield a row for whole windows and one for their read steps, over a fifth of the files of `planning`."""
    folder = lab.folder("small_files")
    source, theirs, count = folder / "source", folder / "theirs", lab.files // 5
    write_small_files(source, count, range(3000, 8000))
    with lab.spark(cores=2) as spark:
        ours = Windows(folder / "ours", source, WholeFile(), spark)
        rival = Contender(
            prepare=lambda: shutil.rmtree(theirs, ignore_errors=True),
            run=lambda: spark.read.text(str(source), wholetext=True, recursiveFileLookup=True).write.parquet(
                str(theirs)
            ),
        )
        reads: list[float] = []

        def read() -> None:
            ours.run()
            reads.append(ours.seconds["read"])

        both = alternate(rival, Contender(prepare=ours.prepare, run=read), lab.rounds)
    require_same(theirs, ours.output)
    shutil.rmtree(folder)
    yield ratio_row(f"{count:,} files of 3 to 8 KB, whole", both, (count, "files"))
    best = min(reads[1:])
    yield Row(
        work=f"{count:,} files of 3 to 8 KB, read step alone",
        rival=both[0].show(count, "files"),
        ours=f"{best:.2f} s, {count / best:,.0f} files/s",
        ratio=f"{both[0].best / best:.2f} x",
    )
