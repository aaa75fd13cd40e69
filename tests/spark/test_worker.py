"""A worker of Spark starts without what it does not need."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

_CODE = """
import sys
from airflow_provider_blockread.options import ArrowFunction, AsRead, GenerationOptions, ParquetSink
from airflow_provider_blockread.spark.tasks.worker import leave_pandas_out
leave_pandas_out(GenerationOptions(sink=ParquetSink("out"), function={function}))
import numpy, pyarrow
assert pyarrow.array(numpy.arange(2)).to_pylist() == [0, 1]
print("pandas" in sys.modules)
print(len(pyarrow.array([1]).to_pandas()))
"""


def _run(function: str) -> list[str]:
    code = [sys.executable, "-W", "error", "-c", _CODE.format(function=function)]
    return subprocess.run(code, check=True, capture_output=True, text=True).stdout.split()


def test_pandas_is_loaded_only_when_it_is_used() -> None:
    """Turning numpy's arrays into Arrow's does not load pandas; `to_pandas` does, and works."""
    assert _run("AsRead()") == ["False", "1"]


def test_a_function_of_the_users_finds_pandas_as_ever() -> None:
    """Where code of the user's runs, pyarrow is left as it is."""
    assert _run("ArrowFunction('user:function')") == ["True", "1"]
