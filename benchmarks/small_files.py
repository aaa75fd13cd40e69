"""Small files, one record each, into Parquet at `local[2]`: `spark.read.text(wholetext=True)` against a window."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from airflow_provider_blockread.options import WholeFile
from benchmarks.harness.data import write_small_files
from benchmarks.harness.lab import Lab, Windows, require_same
from benchmarks.harness.measure import Contender, Row, alternate, ratio_row


def run(lab: Lab) -> Iterator[Row]:
    """Yield one row, over a fifth of the files of the planning benchmark."""
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
        both = alternate(rival, Contender(prepare=ours.prepare, run=ours.run), lab.rounds)
    require_same(theirs, ours.output)
    shutil.rmtree(folder)
    yield ratio_row(f"{count:,} files of 3 to 8 KB, whole", both, (count, "files"))
