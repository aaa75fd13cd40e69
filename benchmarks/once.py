"""One run in a fresh Spark application: `python -m benchmarks.once spark|blockread SOURCE FOLDER` prints JSON.

Spark's own start is not timed; what it loads and compiles on its first job is, for both sides.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from airflow_provider_blockread.options import Lines
from benchmarks.lab import Lab, Windows
from benchmarks.measure import Times


def main(side: str, source: str, folder: str) -> None:
    """Do one side's work and print what it took."""
    place = Path(folder)
    with Lab(scratch=place, size=0, files=0, rounds=1).spark(cores=2) as spark:
        windows = Windows(place / "ours", Path(source), Lines(), spark)
        windows.prepare()
        spark.range(1).count()
        times = Times()
        if side == "blockread":
            times.add(windows.run)
        else:
            times.add(lambda: spark.read.text(source).write.mode("overwrite").parquet(str(place / "theirs")))
    print(json.dumps({"seconds": times.seconds, "cpu_seconds": times.cpu_seconds}))


def measure(side: str, source: Path, folder: Path, times: Times) -> None:
    """Run one side in a process of its own and add what it took."""
    command = [sys.executable, "-m", "benchmarks.once", side, str(source), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - this program
    if done.returncode:
        msg = f"{side} failed with code {done.returncode}: {done.stderr[-2000:]}"
        raise RuntimeError(msg)
    found = json.loads(done.stdout.splitlines()[-1])
    times.seconds += found["seconds"]
    times.cpu_seconds += found["cpu_seconds"]


if __name__ == "__main__":
    main(*sys.argv[1:])
