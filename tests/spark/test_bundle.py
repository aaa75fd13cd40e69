"""The zip that executors import the package from."""

from __future__ import annotations

import os
import py_compile
import shutil
import subprocess
import sys
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from zipfile import ZipFile

import pyarrow.dataset as ds
import pytest

import airflow_provider_blockread
from airflow_provider_blockread.spark.bundle import write_bundle

_ERRORS = "airflow_provider_blockread/errors.py"


def test_bundle_is_complete(tmp_path: Path) -> None:
    """All that a task imports is in the zip: an interpreter without this repository, Airflow or SQL imports it."""
    bundle = write_bundle(str(tmp_path))
    site = Path(ds.__file__).parent.parent
    code = f"""
import sys
sys.path[:] = [p for p in sys.path if "site-packages" not in p]
sys.path.insert(0, {bundle!r})
class Wall:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("airflow", "sqlalchemy", "alembic", "click", "rich"):
            raise ImportError(name)
sys.meta_path.insert(0, Wall())
sys.path.append({str(site)!r})
import airflow_provider_blockread.spark.job as job, airflow_provider_blockread.spark.tasks.partition
import airflow_provider_blockread
assert airflow_provider_blockread.__file__.startswith({bundle!r}), airflow_provider_blockread.__file__
assert job.__file__.startswith({bundle!r})
assert not any(name.startswith(("pyspark", "fsspec")) for name in sys.modules)  # they take long to load
"""
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True, cwd=tmp_path, env={"PATH": os.defpath})


@pytest.mark.parametrize("below", ["", "lib/"])
def test_a_package_imported_from_a_zip_is_sent_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str) -> None:
    """As with `--py-files`, or a zip in PYTHONPATH: executors get the modules that they get of an installed package."""
    installed = Path(airflow_provider_blockread.__file__).parent
    with ZipFile(tmp_path / "sent.zip", "w") as sent:
        for source in installed.rglob("*.py"):
            sent.write(source, f"{below}{source.relative_to(installed.parent)}")
    usual = ZipFile(write_bundle(str(tmp_path))).namelist()
    zipped = tmp_path / "sent.zip" / below / installed.name / "__init__.py"
    monkeypatch.setattr(airflow_provider_blockread, "__file__", str(zipped))

    bundle = write_bundle(str(tmp_path))
    assert set(ZipFile(bundle).namelist()) == {name for name in usual if name.endswith(".py")}
    assert _imported(bundle) == f"{bundle}/{_ERRORS} ProofError\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package in which Python has cached two modules, and no other process caches any."""
    copy = tmp_path / "airflow_provider_blockread"
    installed = Path(airflow_provider_blockread.__file__).parent
    shutil.copytree(installed, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("errors.py", "heap.py"):
        py_compile.compile(str(copy / name), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP)
    monkeypatch.setattr(airflow_provider_blockread, "__file__", str(copy / "__init__.py"))
    return copy


def test_bundle_is_the_same_every_time(package: Path, tmp_path: Path) -> None:
    """In one session Spark takes no other bytes under its name, though Python caches more; no half of it is left."""
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    first = Path(write_bundle(str(folders[0])))
    py_compile.compile(str(package / "observer.py"), doraise=True)
    second = Path(write_bundle(str(folders[1])))

    assert first.read_bytes() == second.read_bytes()
    assert [path.name for path in folders[0].iterdir()] == [first.name]


def _imported(bundle: str | Path) -> str:
    """Return the file that an interpreter imports a module of the zip from, with what its code says."""
    code = "import airflow_provider_blockread.errors as found; print(found.__file__, found.ProofError.__name__)"
    environment = {"PATH": os.defpath, "PYTHONPATH": str(bundle)}
    return subprocess.run(
        [sys.executable, "-S", "-c", code], check=True, capture_output=True, text=True, cwd="/", env=environment
    ).stdout


@pytest.mark.usefixtures("package")
def test_workers_compile_nothing(tmp_path: Path) -> None:
    """What Python has cached of a module is in the zip, beside its source, and is what is imported."""
    bundle = write_bundle(str(tmp_path))

    with ZipFile(bundle) as opened:
        assert {_ERRORS, f"{_ERRORS}c"} <= set(opened.namelist())
    assert _imported(bundle) == f"{bundle}/{_ERRORS}c ProofError\n"


@pytest.mark.usefixtures("package")
def test_an_interpreter_of_another_version_takes_the_source(tmp_path: Path) -> None:
    """Compiled modules of another version of Python are passed over."""
    other = tmp_path / "other.zip"
    with ZipFile(write_bundle(str(tmp_path))) as made, ZipFile(other, "w") as written:
        for name in made.namelist():
            data = made.read(name)
            written.writestr(name, data.replace(MAGIC_NUMBER, b"\0\0\r\n", 1) if name.endswith("c") else data)

    assert _imported(other) == f"{other}/{_ERRORS} ProofError\n"


def test_a_cache_of_an_older_source_is_left_out(package: Path, tmp_path: Path) -> None:
    """A module that has changed since Python cached it is there as source alone, as is one that was never cached."""
    changed = package / "errors.py"
    changed.write_text(changed.read_text("utf-8") + "\n", "utf-8")

    with ZipFile(write_bundle(str(tmp_path))) as bundle:
        names = set(bundle.namelist())

    assert {name for name in names if name.endswith(".pyc")} == {"airflow_provider_blockread/heap.pyc"}
    assert {_ERRORS, "airflow_provider_blockread/observer.py"} <= names
