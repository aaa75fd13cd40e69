"""The linters' rules that matter most here fire: a rule that never fires guards nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import PACKAGE, ROOT

PROGRAMS = Path(sys.executable).parent
FUTURE = "from __future__ import annotations\n\n"


def lint(code: str, *, path: str = "airflow_provider_blockread/sample.py") -> str:
    """Return what ruff says of the code, as if it lay at that path of the repository."""
    command = [PROGRAMS / "ruff", "check", "--no-cache", "--output-format", "concise", "--stdin-filename", path, "-"]
    return subprocess.run(command, capture_output=True, check=False, cwd=ROOT, input=code, text=True).stdout


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("x = 1", "missing-required-import"),
        (FUTURE + "import pyspark", "banned-module-level-imports"),
        (FUTURE + "from unittest import mock", "banned-api"),
        (FUTURE + "from . import errors", "relative-imports"),
        (
            FUTURE + "def f(a: int, b: int, c: int, d: int, *, e: int, f: int, g: int) -> None: ...",
            "too-many-arguments",
        ),
        (FUTURE + "def f(x: int) -> None: ...", "undocumented-public-function"),
        (FUTURE + "def f(x) -> None: ...", "missing-type-function-argument"),
        (FUTURE + 'from airflow.datasets import Dataset\n\nx = Dataset("a")\n', "airflow3"),
    ],
    ids=lambda value: value if "\n" not in value and " " not in value else "",
)
def test_ruff_fires(code: str, rule: str) -> None:
    """A sample that breaks a rule of the package is reported under the rule's name."""
    assert rule in lint(code)


@pytest.mark.parametrize("file", ["engines/context", "engines/rdd", "data_source/source"])
def test_pyspark_is_allowed_where_spark_runs(file: str) -> None:
    """The files that have a Spark context, or subclasses of Spark's classes, may import it at their head."""
    assert "banned-module-level-imports" not in lint(
        "import pyspark", path=f"airflow_provider_blockread/spark/{file}.py"
    )


@pytest.mark.parametrize(
    ("contract", "file", "code"),
    [
        ("layers", "errors.py", "import airflow_provider_blockread.blocks"),
        ("layers", "records/sample.py", "import airflow_provider_blockread.storage"),
        ("layers", "ledger/sample.py", "def f():\n    import airflow_provider_blockread.spark"),
        ("layers", "unplaced/__init__.py", ""),
        ("ring-0", "blocks/sample.py", "import numpy"),
        ("airflow", "storage/sample.py", "def f():\n    from airflow.sdk import dag"),
        ("sql", "hooks/sample.py", "import sqlalchemy"),
        ("spark", "spark/sample.py", "import pyspark.sql"),
    ],
)
def test_import_contracts_fire(tmp_path: Path, contract: str, file: str, code: str) -> None:
    """A copy of the package with one import too many breaks the contract."""
    copy = tmp_path / PACKAGE.name
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / file).parent.mkdir(exist_ok=True)
    with (copy / file).open("a", encoding="utf-8") as sample:
        sample.write(f"\n{code}\n")
    config = ROOT / "pyproject.toml"
    answer = subprocess.run(
        [PROGRAMS / "lint-imports", "--no-cache", "--config", config, "--contract", contract],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        text=True,
    )

    assert answer.returncode == 1, answer.stdout + answer.stderr
    assert "1 broken" in answer.stdout
