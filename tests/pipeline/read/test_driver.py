"""A real Spark application through Airflow's hook: what it inherits, where it listens, what it leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from airflow_provider_blockread.errors import RecordError, SparkJobError
from airflow_provider_blockread.options import ArrowFunction, Csv, SparkJob
from tests.airflow.logger import Logger
from tests.pipeline.application_probe import LOOPBACK
from tests.pipeline.cluster import free_port, spark_submitter
from tests.pipeline.make import Pipe

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore", "error:::airflow_provider_blockread"),  # Airflow's dependencies warn
]

Probe = Callable[..., dict[str, Any]]
SECRETS = {
    "AIRFLOW__CORE__FERNET_KEY": "fernet",
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql://airflow@db/airflow",
    "AIRFLOW_CONN_LAKE": "aws://key:hush@",
    "BLOCKREAD_STATE": "postgresql://ledger@db/ledger",
    "SLACK_TOKEN": "hush",
}
WANTED = {
    "AWS_PROFILE": "lake",
    "CORP_SITE": "north",
    "FSSPEC_SFTP_USERNAME": "lander",
    "IDENTITY_ENDPOINT": "http://127.0.0.1:9",
    "MSI_ENDPOINT": "http://127.0.0.1:9",
    "SSH_AUTH_SOCK": "/run/agent",
    "STORAGE_EMULATOR_HOST": "http://127.0.0.1:9",
    "TZ": "UTC",
    "https_proxy": "http://127.0.0.1:9",
}


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of this test's own."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


@pytest.fixture
def probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Probe]:
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
        submitter = spark_submitter(job, {"s3://lake": {"secret": "hush"}})
        pipe = Pipe(folder=tmp_path, submitter=submitter, function=ArrowFunction("application_probe:probe"))
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


def test_an_application_keeps_to_itself(temporary: Path, probe: Probe) -> None:
    """It listens on loopback, has a secret that is in no argument, and inherits what it needs and no more."""
    seen = probe()

    assert len(seen["listening"]) >= 4  # UI, RPC, blocks, Py4J
    assert {address for _, address in seen["listening"]} <= LOOPBACK
    assert seen["settings"]["spark.authenticate"] == "true"
    assert not any("authenticate" in argument or "hush" in argument for argument in seen["arguments"])
    assert "private.json" not in seen["temporary"]
    inherited = seen["environments"]
    assert SECRETS.keys().isdisjoint(inherited)
    assert not any(name.startswith("AIRFLOW") for name in inherited)
    assert not any(text in value for value in inherited.values() for text in ("fernet", "hush", "ledger"))
    assert inherited.items() >= WANTED.items()
    assert list(temporary.iterdir()) == []


@pytest.mark.usefixtures("temporary")
def test_a_users_settings_win(probe: Probe) -> None:
    """What the configuration says of authentication and addresses is left as it is."""
    seen = probe(spark_authenticate="false", spark_driver_bindAddress="0.0.0.0")  # noqa: S104

    assert seen["settings"]["spark.authenticate"] == "false"
    assert seen["settings"]["spark.driver.bindAddress"] == "0.0.0.0"  # noqa: S104


@pytest.mark.usefixtures("temporary")
def test_a_commands_application_keeps_to_itself_unless_a_user_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defaults of `blockread run` yield to `spark-defaults.conf`, whose Java options stay, and that to `--conf`."""
    port, place = free_port(), tmp_path / "conf"
    place.mkdir()
    (tmp_path / "in.txt").write_text("one\n")
    (place / "spark-defaults.conf").write_text(
        "spark.ui.enabled true\nspark.ui.port 1\nspark.authenticate false\nspark.driver.host localhost\n"
        "spark.driver.extraJavaOptions -Dof.the.user=1\nspark.submit.deployMode cluster\n"
    )
    seen = tmp_path / "seen.json"
    for name, value in {"SPARK_CONF_DIR": place, "LOOKING_FILE": seen, "LOOKING_UI": port}.items():
        monkeypatch.setenv(name, str(value))
    command = [str(Path(sys.executable).with_name("blockread")), "run", "in.txt", "--output", "out"]
    command += ["--state", "noop://"]
    command += ["--master", "local[1]", "--function", "application_probe:probe", "--conf", f"spark.ui.port={port}"]
    done = subprocess.run(command, cwd=tmp_path, start_new_session=True, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    found = json.loads(seen.read_text())
    assert {address for _, address in found["listening"]} <= LOOPBACK
    wanted = {"spark.authenticate": "false", "spark.driver.host": "localhost", "spark.ui.port": str(port)}
    assert found["settings"].items() >= {**wanted, "spark.driver.bindAddress": "127.0.0.1"}.items()
    assert "-Dof.the.user=1" in found["arguments"]
    assert " INFO " not in done.stderr


_OPERATOR = """
import sys
from pathlib import Path
from airflow_provider_blockread.hooks.spark import SparkSubmitter
from airflow_provider_blockread.options import ArrowFunction, SparkJob
from tests.pipeline.make import Pipe
job = SparkJob(master="local[1]", conf={"spark.ui.enabled": "false"}, environment=("BLOCKREAD_TEST_*",))
submitter = SparkSubmitter(job, {"s3://lake": {"secret": "hush"}})
function = ArrowFunction("tests.crash.dying_functions:waits_once")
pipe = Pipe(folder=Path(sys.argv[1]), submitter=submitter, function=function)
pipe.put({"a.txt": b"one"})
pipe.read(pipe.plan())
"""


def test_a_killed_task_leaves_no_folder(tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its driver removes the private folder before it ends."""
    monkeypatch.setenv("BLOCKREAD_TEST_MARKS", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[3]), os.environ["PYTHONPATH"]]))
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
    assert "private.json" not in left
    assert psutil.wait_procs(family, timeout=30)[1] == []
    assert list(temporary.glob("blockread-*")) == []


def test_a_stopped_application_leaves_nothing(tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that is stopped leaves no folder of this package or of Spark, and no process."""
    monkeypatch.setenv("BLOCKREAD_TEST_MARKS", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]), prepend=os.pathsep)
    conf = {"spark.local.dir": str(temporary), "spark.ui.enabled": "false"}
    submitter = spark_submitter(SparkJob(master="local[1]", conf=conf, environment=("BLOCKREAD_TEST_*",)))
    pipe = Pipe(folder=tmp_path, submitter=submitter)
    pipe.function = ArrowFunction("tests.crash.dying_functions:waits_once")
    pipe.put({"a.txt": b"one\n"})
    others = set(psutil.Process().children(recursive=True))  # of earlier tests
    family: list[psutil.Process] = []

    def stop() -> None:
        while not (tmp_path / "waiting.json").exists():
            time.sleep(0.05)
        family.extend(set(psutil.Process().children(recursive=True)) - others)
        submitter.cancel()

    thread = threading.Thread(target=stop, daemon=True)
    thread.start()
    with pytest.raises(SparkJobError, match="was stopped"):
        pipe.run()
    thread.join()
    pipe.close()

    assert family
    assert psutil.wait_procs(family, timeout=30)[1] == []
    assert list(temporary.iterdir()) == []


_SLOW_MODULE = """
import time
def slow(batch):
    time.sleep(20)
    return batch
"""


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What Airflow's hook logs."""
    lines: list[str] = []
    monkeypatch.setattr("airflow_provider_blockread.hooks.tracked_submit.TrackedSubmitHook.log", Logger(lines))
    return lines


def outside_groups(lines: list[str]) -> list[str]:
    """Return the lines that Airflow's UI does not fold."""
    kept, folded = [], False
    for line in lines:
        if line.startswith("::group::"):
            folded = True
        elif line == "::endgroup::":
            folded = False
        elif not folded:
            kept.append(line)
    return kept


def test_a_failed_read_is_told_once(tmp_path: Path, logged: list[str]) -> None:
    """File, line, byte offset and record are in the error; Spark's part of the log is short, and folded."""
    pipe = Pipe(folder=tmp_path, submitter=spark_submitter(SparkJob(master="local[2]")))
    pipe.record_format = Csv(schema="id long, name string")
    pipe.put({"a.csv": b"1,a\n2,b\n", "bad.csv": b"1,a\r\n2,b\r\nx\x1b[31m,c\r\n"})
    with pytest.raises(RecordError) as raised:
        pipe.run()
    pipe.close()

    message = str(raised.value)
    assert f"csv record at byte 10 of {pipe.uri('bad.csv')} block 1 bytes [0, 20), line 3: column 'id'" in message
    assert r"; the record is b'x\x1b[31m,c'; correct the file" in message
    assert raised.value.__suppress_context__
    assert message.isprintable()
    command, *progress = outside_groups(logged)
    assert command.startswith("Spark-Submit cmd")
    assert [line for line in progress if not line.startswith("read ")] == []  # where the machine has much else to do
    assert len(logged) < 80
    assert sum("column 'id'" in line for line in logged) <= 1


def test_progress_is_logged(tmp_path: Path, logged: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """While Spark reads, a line comes every now and then."""
    (tmp_path / "slow_function.py").write_text(_SLOW_MODULE, "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    pipe = Pipe(folder=tmp_path, submitter=spark_submitter(SparkJob(master="local[1]")))
    pipe.function = ArrowFunction("slow_function:slow")
    pipe.put({"a.txt": b"one\n"})
    pipe.run()
    pipe.close()

    assert "read 0 of 1 task, about 0 B of 4 B" in outside_groups(logged)


def test_a_clusters_own_logging_stays(tmp_path: Path, logged: list[str]) -> None:
    """Where Spark's log is configured, nothing of it is turned off."""
    own = tmp_path / "log4j2.properties"
    own.write_text(
        "rootLogger.level = info\nrootLogger.appenderRef.console.ref = console\nappender.console.type = Console\n"
        "appender.console.name = console\nappender.console.target = SYSTEM_ERR\n"
        "appender.console.layout.type = PatternLayout\nappender.console.layout.pattern = OWN %p %c{1}: %m%n\n",
        "utf-8",
    )
    conf = {"spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{own}"}
    pipe = Pipe(folder=tmp_path, submitter=spark_submitter(SparkJob(master="local[1]", conf=conf)))
    pipe.put({"a.txt": b"one\n"})
    pipe.run()
    pipe.close()

    assert any(line.startswith("OWN INFO Executor: Finished task") for line in logged)
