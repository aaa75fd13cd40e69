"""A real Spark application through Airflow's hook: what it inherits, where it listens, what it leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from airflow_provider_blockread.hooks.spark import SparkSubmitter
from airflow_provider_blockread.options import SparkJob, Transform
from tests.pipeline.cluster import free_port
from tests.pipeline.looking_around import LOOPBACK
from tests.pipeline.make import Pipe

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore", "error:::airflow_provider_blockread"),  # Airflow's dependencies warn
]

Looker = Callable[..., dict[str, Any]]
SECRETS = {
    "AIRFLOW__CORE__FERNET_KEY": "fernet",
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql://airflow@db/airflow",
    "AIRFLOW_CONN_LAKE": "aws://key:hush@",
    "BLOCKREAD_STATE": "postgresql://ledger@db/ledger",
    "SLACK_TOKEN": "hush",
}
WANTED = {"AWS_PROFILE": "lake", "https_proxy": "http://127.0.0.1:9", "CORP_SITE": "north", "TZ": "UTC"}


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of this test's own."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


@pytest.fixture
def look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Looker]:
    """What reads a file by a real application and returns what that looked like from inside."""
    port = free_port()
    for name, value in {
        "LOOKING_FILE": str(tmp_path / "seen.json"),
        "LOOKING_UI": str(port),
        **SECRETS,
        **WANTED,
    }.items():
        monkeypatch.setenv(name, value)
    pipes = []

    def run(**conf: str) -> dict[str, Any]:
        job = SparkJob(
            master="local[1]",
            conf={"spark.ui.port": str(port), **{name.replace("_", "."): value for name, value in conf.items()}},
            environment=("LOOKING_*", "CORP_*"),
        )
        submitter = SparkSubmitter(job, {"s3://lake": {"secret": "hush"}})
        pipe = Pipe(folder=tmp_path, submitter=submitter, transform=Transform(function="looking_around:look_around"))
        pipes.append(pipe)
        pipe.put({"a.txt": b"one\n"})
        pipe.run()
        seen: dict[str, Any] = json.loads((tmp_path / "seen.json").read_text("utf-8"))
        assert "java" in seen["programs"]
        assert len(seen["programs"]) >= 3  # the JVM, the driver and a worker
        return seen

    yield run
    for pipe in pipes:
        pipe.close()


def test_an_application_keeps_to_itself(temporary: Path, look: Looker) -> None:
    """It listens on loopback, has a secret that is in no argument, and inherits what it needs and no more."""
    seen = look()

    assert len(seen["listening"]) >= 4  # UI, RPC, blocks, Py4J
    assert {address for _, address in seen["listening"]} <= LOOPBACK
    assert seen["settings"]["spark.authenticate"] == "true"
    assert not any("authenticate" in argument or "hush" in argument for argument in seen["arguments"])
    assert "stores.json" not in seen["temporary"]
    inherited = seen["environments"]
    assert SECRETS.keys().isdisjoint(inherited)
    assert not any(name.startswith("AIRFLOW") for name in inherited)
    assert not any(text in value for value in inherited.values() for text in ("fernet", "hush", "ledger"))
    assert inherited.items() >= WANTED.items()
    assert list(temporary.iterdir()) == []


@pytest.mark.usefixtures("temporary")
def test_a_users_settings_win(look: Looker) -> None:
    """What the configuration says of authentication and addresses is left as it is."""
    seen = look(spark_authenticate="false", spark_driver_bindAddress="0.0.0.0")  # noqa: S104

    assert seen["settings"]["spark.authenticate"] == "false"
    assert seen["settings"]["spark.driver.bindAddress"] == "0.0.0.0"  # noqa: S104


_OPERATOR = """
import sys
from pathlib import Path
from airflow_provider_blockread.hooks.spark import SparkSubmitter
from airflow_provider_blockread.options import SparkJob, Transform
from tests.pipeline.make import Pipe
job = SparkJob(master="local[1]", conf={"spark.ui.enabled": "false"}, environment=("BLOCKREAD_TEST_*",))
submitter = SparkSubmitter(job, {"s3://lake": {"secret": "hush"}})
function = Transform(function="tests.crash.dying_functions:waits_once")
pipe = Pipe(folder=Path(sys.argv[1]), submitter=submitter, transform=function)
pipe.put({"a.txt": b"one"})
pipe.read(pipe.plan())
"""


def test_a_killed_task_leaves_no_folder(tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its driver removes the private folder before it ends."""
    monkeypatch.setenv("BLOCKREAD_TEST_MARKS", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[2]), os.environ["PYTHONPATH"]]))
    process = subprocess.Popen([sys.executable, "-c", _OPERATOR, str(tmp_path)])
    try:
        while not (tmp_path / "waiting.json").exists():
            assert process.poll() is None
            time.sleep(0.05)
        family = psutil.Process(process.pid).children(recursive=True)
        left = {path.name for path in temporary.rglob("*")}
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    assert any(name.endswith(".zip") for name in left)
    assert "stores.json" not in left
    assert psutil.wait_procs(family, timeout=30)[1] == []
    assert list(temporary.glob("blockread-*")) == []
