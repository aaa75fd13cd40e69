"""A program in the place of spark-submit that starts the real application detached, here, as a cluster would.

It keeps the arguments but for where to run, and copies what the cluster's client would upload.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REAL = Path(sys.executable).with_name("spark-submit")


def install(folder: Path) -> None:
    """Make the program in a folder, for use by a PATH that begins with it."""
    folder.mkdir()
    program = folder / "spark-submit"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).resolve()} "$@"\n')
    program.chmod(0o755)


def main(arguments: list[str]) -> int:
    """Start the application in a session of its own, and return at once."""
    given = list(arguments)
    for name, value in (("--master", "local[1]"), ("--deploy-mode", "client")):
        given[given.index(name) + 1] = value
    place = given.index("--py-files") + 1
    kept = Path(tempfile.mkdtemp(dir=os.environ["TMPDIR"]))
    given[place] = ",".join(shutil.copy(file, kept) for file in given[place].split(","))
    with (kept / "log").open("wb") as log:
        subprocess.Popen([REAL, *given], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    print("Submitted application application_1700000000000_0007", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
