"""Spark's archives of Python modules with bytecode: the same modules, imported without being compiled."""

from __future__ import annotations

import importlib
import zipfile
from pathlib import Path

import pytest

from tools.spark_modules import compile_archive


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An archive of a package and its tests."""
    path = tmp_path / "modules.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("spark_of_a_test/__init__.py", "def where():\n    return __file__\n")
        made.writestr("spark_of_a_test/data.json", "{}")
        made.writestr("spark_of_a_test/tests/test_it.py", "raise RuntimeError\n")
    return path


def test_modules_are_imported_as_compiled(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sources and data stay beside the bytecode, Spark's own tests do not."""
    compile_archive(archive)
    monkeypatch.syspath_prepend(str(archive))
    monkeypatch.delitem(importlib.sys.modules, "spark_of_a_test", raising=False)  # type: ignore[attr-defined]
    module = importlib.import_module("spark_of_a_test")

    assert module.where() == f"{archive}/spark_of_a_test/__init__.pyc"
    assert sorted(zipfile.ZipFile(archive).namelist()) == [
        f"spark_of_a_test/{name}" for name in ("__init__.py", "__init__.pyc", "data.json")
    ]


def test_a_compiled_archive_stays_as_it_is(archive: Path) -> None:
    """A process may have it open, and nothing is left beside it."""
    compile_archive(archive)
    first = archive.stat()
    compile_archive(archive)

    assert archive.stat() == first
    assert list(archive.parent.iterdir()) == [archive]
