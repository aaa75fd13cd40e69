"""The `--py-files` zip: what executors need of this package (rings 0 and 1, and the tasks' code)."""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path

import airflow_provider_blockread

_FILES = ("__init__.py", "errors.py", "heap.py", "observer.py", "periodic.py")
_FOLDERS = ("options", "blocks", "records", "storage", "exchange", "sinks", "proof", "spark")


def write_bundle(folder: str) -> str:
    """Write the zip into `folder` and return its path; the same version gives the same bytes."""
    root = Path(airflow_provider_blockread.__file__).parent
    target = Path(folder) / f"airflow_provider_blockread-{airflow_provider_blockread.__version__}.zip"
    descriptor, temporary = tempfile.mkstemp(dir=folder, suffix=".zip.tmp")
    with os.fdopen(descriptor, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bundle:
        for source in sorted(path for part in _FILES + _FOLDERS for path in _modules(root / part)):
            name = source.relative_to(root.parent).as_posix()
            bundle.writestr(zipfile.ZipInfo(name), source.read_bytes(), zipfile.ZIP_DEFLATED)
    Path(temporary).replace(target)
    return str(target)


def _modules(path: Path) -> list[Path]:
    return [path] if path.is_file() else list(path.rglob("*.py"))
