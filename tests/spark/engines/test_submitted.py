"""The behaviour of the engine in the driver of an application that spark-submit has started, with one JVM for all."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT

pytestmark = pytest.mark.spark

_SUITE = Path(__file__).with_name("test_behaviour.py")
_CONF = ("spark.ui.enabled=false", "spark.sql.session.timeZone=UTC")


def test_the_behaviour_suite_over_spark_submit(tmp_path: Path) -> None:
    """Each of its tests that an RDD passes in this process passes there, too."""
    options = [part for pair in _CONF for part in ("--conf", pair)]
    submit = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[2,4]", *options]
    suite = [pytest.__file__.replace("__init__", "__main__"), str(_SUITE), "-k", "rdd", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*submit, *suite, f"--basetemp={tmp_path}/suite"],
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    passed = re.search(r"^(\d+) passed, \d+ deselected", done.stdout, re.MULTILINE)
    tests = re.findall(r"^def test_", _SUITE.read_text("utf-8"), re.MULTILINE)

    assert done.returncode == 0, done.stdout + done.stderr
    assert passed is not None, done.stdout
    assert int(passed[1]) == len(tests)
