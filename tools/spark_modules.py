"""Compiles the archives in which Spark gives its own Python modules to drivers and workers.

Python keeps no bytecode of what it imports from an archive: each process would compile Spark's modules again, which
takes longer than all else that it does at its start. Spark's own tests, two thirds of the archive, are left out.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import zipfile
from pathlib import Path

_UNCHECKED_HASH = 1  # the flags of bytecode that is used without a look at its source


def compiled(name: str, source: bytes) -> bytes:
    """Return the bytecode file of a module."""
    head = importlib.util.MAGIC_NUMBER + _UNCHECKED_HASH.to_bytes(4, "little") + importlib.util.source_hash(source)
    return head + marshal.dumps(compile(source, name, "exec", dont_inherit=True))


def compile_archive(path: Path) -> None:
    """Replace an archive by one with bytecode, which another process may be reading; one that has it stays."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if "/tests/" not in name]
        if any(name.endswith(".pyc") for name in names):
            return
        files = {name: archive.read(name) for name in names}
    made = path.with_name(f"{path.name}.{os.getpid()}")
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
            if name.endswith(".py"):
                archive.writestr(f"{name}c", compiled(name, data))
    made.replace(path)


def main() -> None:
    """Compile the archives of the Spark that is installed here."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        msg = "pyspark is not installed: make setup"
        raise SystemExit(msg)
    for path in sorted((Path(spec.origin).parent / "python" / "lib").glob("*.zip")):
        compile_archive(path)


if __name__ == "__main__":
    main()
