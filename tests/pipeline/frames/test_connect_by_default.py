"""Machines where Spark's sessions are those of a Spark Connect server, unless a program says otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds
import pytest

pytestmark = pytest.mark.spark


def test_a_command_runs_functions_in_its_own_spark(tmp_path: Path) -> None:
    """Whatever `spark-defaults.conf` and the environment say: it has been told a master."""
    (tmp_path / "in.csv").write_text("1\n2\n7\n")
    (tmp_path / "spark-defaults.conf").write_text("spark.api.mode connect\n")
    others = {"SPARK_CONF_DIR": str(tmp_path), "SPARK_REMOTE": "sc://127.0.0.1:9", "SPARK_API_MODE": "connect"}
    command = [str(Path(sys.executable).with_name("blockread")), "run", "in.csv", "--output", "out", "--format", "csv"]
    command += ["--schema", "id long", "--state", "noop://", "--master", "local[1]"]
    command += ["--dataframe-function", "user_frames:with_a_session"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **others}, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert sorted(ds.dataset(tmp_path / "out").to_table()["id"].to_pylist()) == [1, 2]
