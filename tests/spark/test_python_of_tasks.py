"""In which Python the tasks of a command run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

_NAMED = "spark.pyspark.python"


@pytest.mark.parametrize(
    ("master", "by", "used"),
    [("local[1]", "option", True), ("local[1]", "default", False), ("local-cluster[1,1,1024]", "default", True)],
)
def test_the_python_that_the_configuration_names(tmp_path: Path, master: str, by: str, *, used: bool) -> None:
    """It runs the tasks, as with spark-submit; but one that is a default may be on a cluster's workers only."""
    import pyspark

    python, mark = tmp_path / "python", tmp_path / "started"
    python.write_text(f'#!/bin/sh\ntouch "{mark}"\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (tmp_path / "in.txt").write_text("one\ntwo\n")
    (tmp_path / "spark-defaults.conf").write_text(f"{_NAMED} {python}\n" if by == "default" else "")
    command = [str(Path(sys.executable).with_name("blockread")), "run", "in.txt", "--output", "out"]
    command += ["--state", "noop://", "--master", master, "--conf", "spark.executor.memory=512m"]
    command += ["--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1"]
    command += ["--conf", f"{_NAMED}={python}"] if by == "option" else []
    own = {"SPARK_CONF_DIR": str(tmp_path), "SPARK_HOME": str(Path(pyspark.__file__).parent)}
    kept = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    done = subprocess.run(command, cwd=tmp_path, env=kept | own, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert mark.exists() is used
