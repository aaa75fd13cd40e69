"""The `--py-files` zip: what executors need of this package (rings 0 and 1, and the tasks' code).

It contains each module's source and, if Python has cached it, its compiled form: each Python worker imports the
package, and compiling it would take half a second. An interpreter of another version uses the source.
"""

from __future__ import annotations

import io
import os
import struct
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path

import airflow_provider_blockread

_FOLDERS = ("options", "blocks", "records", "storage", "exchange", "sinks", "proof", "spark")
_PARTS = ("__init__.py", "errors.py", "heap.py", "observer.py", "periodic.py", *(f"{one}/**/*.py" for one in _FOLDERS))
_UNCHECKED = struct.pack("<I", 1)  # flags of a compiled module that is not compared with its source, see PEP 552
_LEVEL = 1  # of compression: 5% larger than by default, in two thirds of the time


def write_bundle(folder: str) -> str:
    """Write the zip into `folder` and return its path; all zips of a process are the same to the byte."""
    root = Path(airflow_provider_blockread.__file__).parent
    target = Path(folder) / f"airflow_provider_blockread-{airflow_provider_blockread.__version__}.zip"
    descriptor, temporary = tempfile.mkstemp(dir=folder, suffix=".zip.tmp")
    with os.fdopen(descriptor, "wb") as file:
        file.write(_content(root))
    Path(temporary).replace(target)
    return str(target)


@cache
def _content(root: Path) -> bytes:
    # Made once: Python may cache more modules meanwhile, and Spark refuses a file of the same name with other bytes.
    content = io.BytesIO()
    with _unpacked(root) as package, zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as bundle:
        for source in sorted(path for part in _PARTS for path in package.glob(part)):
            name, text = source.relative_to(package.parent).as_posix(), source.read_bytes()
            bundle.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED, _LEVEL)
            if compiled := _compiled(source, text):
                bundle.writestr(zipfile.ZipInfo(f"{name}c"), compiled, zipfile.ZIP_DEFLATED, _LEVEL)
    return content.getvalue()


@contextmanager
def _unpacked(root: Path) -> Iterator[Path]:
    """Yield the package's folder; a package that Python imports from a zip is unpacked meanwhile."""
    archive = next((path for path in root.parents if path.is_file()), None)
    if archive is None:
        yield root
        return
    place = root.relative_to(archive)
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(archive) as opened:
        opened.extractall(folder, [name for name in opened.namelist() if name.startswith(f"{place.as_posix()}/")])
        yield Path(folder) / place


def _compiled(source: Path, text: bytes) -> bytes | None:
    """Return a module's compiled form, as a file beside its source, or None if Python has not cached this version."""
    found = source.stat()
    today = MAGIC_NUMBER + struct.pack("<III", 0, int(found.st_mtime) & 0xFFFFFFFF, found.st_size & 0xFFFFFFFF)
    try:
        cached = Path(cache_from_source(str(source))).read_bytes()
    except OSError:
        return None
    return MAGIC_NUMBER + _UNCHECKED + source_hash(text) + cached[len(today) :] if cached.startswith(today) else None
