"""The very command line and environment of spark-submit for each cluster manager and deploy mode."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.apache.spark.hooks import spark_submit

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.hooks.spark import SparkSubmitter
from airflow_provider_blockread.options import SparkJob

pytestmark = pytest.mark.airflow

SPEC = Submission(
    spec_uri="s3://lake/work/job.json",
    spec_hash="00ff",
    readers=8,
    secret="of-this-try",  # noqa: S106 - of this test
    window_secret="of-the-window",  # noqa: S106
)
STORES = {"s3://lake": {"key": "AKIA", "secret": "of-the-store"}}
OWN = {"spark.authenticate.secret": "of the cluster=\n\\ é\U0001f4a5", "spark.hadoop.fs.s3a.access.key": "of-hadoop"}
SECRETS = ("of-this-try", "of-the-window", "of-the-store", "AKIA", "of the cluster", "of-hadoop", "keytab's content")

PROGRAM = """#!{python}
import json, os, sys
files = {{}}
for path in [os.environ.get("BLOCKREAD_CREDENTIALS_FILE", ""), *sys.argv]:
    if os.path.isfile(path) and not path.endswith((".py", ".zip")) and path != sys.argv[0]:
        files[os.path.basename(path)] = [os.stat(path).st_mode & 0o777, open(path).read()]
print("exit code: 0")  # of the driver's container, which Airflow's hook looks for on Kubernetes
json.dump({{"argv": sys.argv[1:], "environment": dict(os.environ), "files": files}}, open({seen!r}, "w"))
"""


@dataclass
class Seen:
    """What spark-submit was given."""

    argv: list[str]
    environment: Mapping[str, str]
    files: Mapping[str, Any]  # mode and content by name: the private file, and files among the arguments


@pytest.fixture
def submit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Seen]:
    """What submits a job over a connection to a stand-in for spark-submit, and returns what it was given."""
    program, seen = tmp_path / "bin" / "spark-submit", tmp_path / "seen.json"
    program.parent.mkdir()
    program.write_text(PROGRAM.format(python=sys.executable, seen=str(seen)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.setattr(spark_submit, "kube_client", object(), raising=False)  # as its provider brings it
    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY", "of-airflow")
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")

    def run(host: str, extra: Mapping[str, str], stores: Mapping[str, Any] | None = None, **job: Any) -> Seen:
        connection = json.dumps({"conn_type": "spark", "host": host, "extra": dict(extra)})
        monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", connection)
        SparkSubmitter(SparkJob(conn_id="cluster", **job), stores).submit(SPEC, name="blockread-w-g1-0-e1")
        return Seen(**json.loads(seen.read_text()))

    return run


def _conf(argv: list[str]) -> dict[str, str]:
    found = (argv[at + 1] for at, argument in enumerate(argv) if argument == "--conf")
    return dict(setting.split("=", 1) for setting in found)


def _others(argv: list[str]) -> list[str]:
    """Return the arguments but for settings, with the names of our own files in the place of their paths."""
    kept = [a for at, a in enumerate(argv) if a != "--conf" and argv[at - 1] != "--conf"]
    return [re.sub(r"(?<![:/\w])/[^,]*/", "", argument) for argument in kept]


_APPLICATION = ["job.py", "--spec", "s3://lake/work/job.json", "--spec-hash", "00ff", "--readers", "8"]
_BUNDLE = ["--py-files", "airflow_provider_blockread-0.1.0.zip,s3://lake/code/rules.zip"]
_NAME = ["--name", "blockread-w-g1-0-e1"]
_YARN = {
    "spark.executor.memory": "4g",
    "spark.executor.cores": "4",
    "spark.driver.memory": "2g",
    "spark.yarn.dist.files": "hdfs:///etc/limits.json",
    "spark.yarn.dist.archives": "hdfs:///python/env.tar.gz#env",
    "spark.pyspark.python": "./env/bin/python",
    "spark.yarn.appMasterEnv.REGION": "eu",
    "spark.executorEnv.REGION": "eu",
}
_K8S = {
    "spark.kubernetes.container.image": "registry.example/blockread:1",
    "spark.kubernetes.file.upload.path": "s3a://lake/upload",
    "spark.kubernetes.authenticate.driver.serviceAccountName": "spark",
    "spark.kubernetes.driverEnv.REGION": "eu",
    "spark.executor.instances": "3",
}


def _own(host: str, *, remote: bool) -> dict[str, str]:
    """Return what the hook sets by itself."""
    once = {"spark.yarn.maxAppAttempts": "1"} if remote and host == "yarn" else {}
    return {"spark.api.mode": "classic"} | once


@pytest.mark.parametrize(
    ("host", "extra", "conf", "expected"),
    [
        ("spark://head:7077", {}, {"spark.cores.max": "8"}, ["--deploy-mode", "client"]),
        ("yarn", {"queue": "night"}, _YARN, ["--queue", "night", "--deploy-mode", "client"]),
        (
            "yarn",
            {"queue": "night", "deploy-mode": "cluster"},
            _YARN,
            ["--queue", "night", "--deploy-mode", "cluster"],
        ),
        ("k8s://https://head:6443", {"namespace": "etl"}, _K8S, ["--deploy-mode", "client"]),
        (
            "k8s://https://head:6443",
            {"namespace": "etl", "deploy-mode": "cluster"},
            _K8S,
            ["--deploy-mode", "cluster"],
        ),
    ],
    ids=["standalone", "yarn client", "yarn cluster", "kubernetes client", "kubernetes cluster"],
)
def test_the_command_line(
    submit: Callable[..., Seen], host: str, extra: dict[str, str], conf: dict[str, str], expected: list[str]
) -> None:
    """All of it, in order: what the connection and the job say, our bundle, and the specification."""
    remote = extra.get("deploy-mode") == "cluster"
    stores = None if remote else STORES
    seen = submit(host, extra, stores, conf=conf, py_files=["s3://lake/code/rules.zip"])
    namespace = {"spark.kubernetes.namespace": extra["namespace"]} if "namespace" in extra else {}

    own = _own(host, remote=remote)
    if host == "yarn" and not remote:
        own |= {"spark.pyspark.driver.python": sys.executable}

    assert _conf(seen.argv) == conf | own | namespace
    assert _others(seen.argv) == ["--master", host, *_BUNDLE, *_NAME, *expected, *_APPLICATION]
    assert seen.environment["HADOOP_CONF_DIR"] == "/etc/hadoop"
    assert not any(name.startswith("AIRFLOW") for name in seen.environment)
    assert ("BLOCKREAD_CREDENTIALS_FILE" in seen.environment) is not remote
    if not remote:
        mode, content = seen.files["private.json"]
        assert (mode, json.loads(content)["stores"]) == (0o600, STORES)


@pytest.mark.parametrize(
    ("host", "mode"),
    [("spark://head:7077", "client"), ("yarn", "client"), ("yarn", "cluster"), ("k8s://https://head:6443", "cluster")],
)
def test_no_secret_is_an_argument(submit: Callable[..., Seen], host: str, mode: str) -> None:
    """Settings whose names say that they are secret go into a file that only the user can read, beside the defaults."""
    stores = STORES if mode == "client" else None
    seen = submit(host, {"deploy-mode": mode}, stores, conf=OWN | {"spark.eventLog.enabled": "false"})

    texts = [*seen.argv, *seen.environment.values()]
    assert [(secret, text) for secret in SECRETS for text in texts if secret in text] == []
    assert _conf(seen.argv) == {"spark.eventLog.enabled": "false"} | _own(host, remote=mode == "cluster")
    assert "--load-spark-defaults" in seen.argv
    mode_bits, text = seen.files["private.properties"]
    assert (mode_bits, _properties(text)) == (0o600, OWN)


def _properties(text: str) -> dict[str, str]:
    """Return what Java reads from a file of properties whose odd characters are all escaped."""
    pairs = (line.split("=", 1) for line in text.splitlines())
    return {_unescaped(key): _unescaped(value) for key, value in pairs}


def _unescaped(text: str) -> str:
    return text.encode("ascii").decode("unicode-escape").encode("utf-16", "surrogatepass").decode("utf-16")


def test_a_keytab_is_written_in_base64(submit: Callable[..., Seen]) -> None:
    """What is not is refused; the output of the program that the message names is taken."""
    with pytest.raises(OptionsError, match="the keytab of connection 'cluster' is not written in base64"):
        submit("yarn", {"principal": "etl@EXAMPLE", "keytab": "/etc/etl.keytab"})
    coded = subprocess.run(["base64"], input=b"\x05\x02", capture_output=True, check=True).stdout.decode()
    assert "--keytab" in submit("yarn", {"principal": "etl@EXAMPLE", "keytab": coded}).argv


def test_who_submits_and_as_whom(submit: Callable[..., Seen], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A principal with a keytab of the connection, in a private file, which goes; or a user who is impersonated."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    keytab = base64.b64encode(b"keytab's content").decode()
    seen = submit("yarn", {"principal": "etl@EXAMPLE", "keytab": keytab})
    at = seen.argv.index("--keytab")
    path = seen.argv[at + 1]
    assert seen.argv[at : at + 4] == ["--keytab", path, "--principal", "etl@EXAMPLE"]
    assert seen.files[Path(path).name] == [0o600, "keytab's content"]
    SparkSubmitter(SparkJob(conn_id="cluster")).status("application_1")  # it submits nothing, and needs no keytab
    assert list(temporary.iterdir()) == []

    argv = submit("yarn", {}, proxy_user="ann").argv
    assert argv[argv.index("--proxy-user") + 1] == "ann"


def test_the_deploy_mode_is_always_said(submit: Callable[..., Seen]) -> None:
    """That of the connection, or else of `conf`; in mode cluster no credentials of a store leave this host."""
    conf = {"spark.submit.deployMode": "cluster"}
    assert "client" in submit("yarn", {"deploy-mode": "client"}, STORES, conf=conf).argv
    with pytest.raises(OptionsError, match="give the cluster an ambient identity"):
        submit("yarn", {}, STORES, conf=conf)
    seen = submit("yarn", {}, conf=conf)
    assert seen.argv[seen.argv.index("--deploy-mode") + 1] == "cluster"
    with pytest.raises(OptionsError, match="only in deploy mode client; leave deploy-mode out"):
        submit("spark://head:7077", {"deploy-mode": "cluster"})


def test_a_driver_is_no_client_of_a_connect_server(
    submit: Callable[..., Seen], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where the environment, or the job, says that Spark's sessions are."""
    monkeypatch.setenv("SPARK_REMOTE", "sc://head:15002/;token=hush")
    monkeypatch.setenv("SPARK_API_MODE", "connect")
    seen = submit("yarn", {}, conf={"spark.api.mode": "connect"})

    assert "SPARK_REMOTE" not in seen.environment
    assert seen.environment["SPARK_API_MODE"] == "classic"
    assert _conf(seen.argv) == {"spark.api.mode": "classic"}


def test_a_kubernetes_master_needs_a_provider(submit: Callable[..., Seen], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, the error names what to install; with it, the job is submitted."""
    with monkeypatch.context() as bare:
        bare.delattr(spark_submit, "kube_client")
        with pytest.raises(OptionsError, match="pip install apache-airflow-providers-cncf-kubernetes"):
            submit("k8s://https://head:6443", {})

    assert submit("k8s://https://head:6443", {}).argv[1] == "k8s://https://head:6443"
