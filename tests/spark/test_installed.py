"""PySpark that another package has written over: noticed before Spark starts, with the way out."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.spark.engines.session import Server, client_of
from airflow_provider_blockread.spark.installed import require_pyspark, require_spark

FILES = {"pyspark/__init__.py": "import pyspark.version\n", "pyspark/version.py": "__version__ = '4.3.0'\n"}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages that Python searches first, with pyspark in it as an installer leaves it."""
    info = tmp_path / "pyspark-4.3.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pyspark\nVersion: 4.3.0\n")
    rows = [f"{name},sha256=x,{len(text)}\n" for name, text in FILES.items()]
    (info / "RECORD").write_text("".join([*rows, "pyspark/__pycache__/version.cpython-311.pyc,,\n"]))
    install(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def install(site: Path) -> None:
    """Do what `pip install --force-reinstall --no-deps pyspark==4.3.0` does."""
    for name, text in FILES.items():
        (site / name).parent.mkdir(exist_ok=True)
        (site / name).write_text(text)


@pytest.mark.parametrize("harm", ["overwritten", "removed"])
def test_files_of_another_package_are_refused(site: Path, harm: str) -> None:
    """Once pyspark is installed again, as the message says, it is taken."""
    require_pyspark({})
    version = site / "pyspark" / "version.py"
    if harm == "overwritten":
        version.write_text("__version__ = '4.2.0'  # of pyspark-client\n")
    else:
        version.unlink()
    with pytest.raises(OptionsError) as refused:
        require_pyspark({})

    assert str(refused.value).startswith("pyspark/version.py does not belong to pyspark 4.3.0: ")
    assert re.findall(r"`([^`]+)`", str(refused.value)) == [
        "pip uninstall -y pyspark-client",
        "pip install --force-reinstall --no-deps pyspark==4.3.0",
    ]
    with pytest.raises(OptionsError, match=r"pyspark/version\.py"):
        client_of(Server("sc://localhost:1"), "")
    install(site)
    require_pyspark({})


def test_a_spark_of_its_own_brings_its_files(site: Path, tmp_path: Path) -> None:
    """What SPARK_HOME holds is not what Python's packages hold."""
    (site / "pyspark" / "version.py").unlink()
    own = tmp_path / "spark" / "python" / "pyspark" / "__init__.py"
    own.parent.mkdir(parents=True)
    own.touch()

    require_pyspark({"SPARK_HOME": str(tmp_path / "spark")})


def test_what_is_installed_here_is_taken_at_once() -> None:
    """The environment of these tests, in less time than anyone notices beside the start of Spark."""
    started = time.process_time()
    require_pyspark({})

    assert time.process_time() - started < 0.5


def test_a_python_without_spark_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pyspark, and with pyspark-client alone, before a window is planned; with pyspark it is taken."""
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    sys.path_importer_cache.pop(str(tmp_path), None)
    command = re.escape("`pip install 'airflow-provider-blockread[spark]'`")
    with pytest.raises(OptionsError, match=command):
        require_spark()
    client = tmp_path / "pyspark" / "__init__.py"
    client.parent.mkdir()
    client.touch()
    with pytest.raises(OptionsError, match=command):
        require_spark()

    (client.parent / "core").mkdir()
    (client.parent / "core" / "__init__.py").touch()
    require_spark()
