"""A command on a machine with `pyspark-client` alone, one minor version older than the server, and without a JVM."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_blockread.spark.engines.session import Server
from tests.architecture.tree import ROOT
from tests.spark.engines.server import ConnectServer

pytestmark = pytest.mark.spark

_CLIENT = "pyspark-client==4.2.*"


@pytest.fixture(scope="session")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `pyspark-client`, which uv keeps in its cache; what it needs is installed already."""
    folder = tmp_path_factory.mktemp("client")
    uv = shutil.which("uv") or str(ROOT / ".uv/bin/uv")
    install = [uv, "pip", "install", "--quiet", "--no-deps", "--python", sys.executable, "--target", str(folder)]
    subprocess.run([*install, _CLIENT], check=True, cwd=folder)  # this project's settings of uv leave it out
    return folder


_FUNCTION = """
def function(records):
    from pyspark.sql.functions import upper

    return records.select(upper("value").alias("value"))
"""


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--sql", "SELECT upper(value) AS value FROM records"],
        ["--dataframe-function", "mine:function", "--py-file", "mine.py"],
    ],
    ids=["records", "query", "function"],
)
def test_a_window_without_java(client: Path, server: ConnectServer, tmp_path: Path, options: list[str]) -> None:
    """It is read and published; neither the command nor what it imports knows a JVM."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "mine.py").write_text(_FUNCTION)
    hidden = {"JAVA_HOME", "SPARK_HOME", "PYTHONPATH", "PATH"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden} | {
        "PATH": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(client), str(ROOT)]),
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": server.token,
    }
    look = "import pyspark, pyspark.util; print(pyspark.__version__, pyspark.__file__, pyspark.util.is_remote_only())"
    found = subprocess.run([sys.executable, "-c", look], env=environment, capture_output=True, text=True, check=True)
    version, path, is_client = found.stdout.split()
    program = str(Path(sys.executable).parent / "blockread")
    command = [sys.executable, program, "run", "in", "--output", "out", "--json"]
    done = subprocess.run(
        [*command, "--state", "noop://", "--remote", server.remote, *options],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert version.startswith("4.2.")
    assert path.startswith(str(client))
    assert is_client == "True"
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["records"] == 2
    assert server.token not in done.stderr + repr(Server(server.remote))
