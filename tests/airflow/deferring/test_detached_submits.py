"""Applications that spark-submit leaves to a cluster: its arguments, what it says, and how the cluster is asked."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from airflow.providers.apache.spark.hooks import spark_submit

from airflow_provider_blockread.errors import SparkJobError
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.hooks.spark import SparkSubmitter
from airflow_provider_blockread.options import SparkJob
from tests.airflow.deferring.yarn import resource_manager

pytestmark = pytest.mark.airflow

SPEC = Submission(spec_uri="file:///spec.json", spec_hash="00ff")
CONF = {"spark.yarn.submit.waitAppCompletion": "true", "spark.executor.memory": "2g"}
SAYS = "INFO YarnClientImpl: Submitted application application_1700000000000_0042"


@pytest.fixture
def submit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the place of spark-submit that keeps its arguments, and a connection to YARN; return the program."""
    program = tmp_path / "spark-submit"
    program.write_text(
        f"#!{sys.executable}\nimport json, sys\n"
        f"open({str(tmp_path / 'arguments')!r}, 'w').write(json.dumps(sys.argv[1:]))\nprint({SAYS!r})\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    connect(monkeypatch)
    return program


def connect(monkeypatch: pytest.MonkeyPatch, **extra: str) -> None:
    """Make the connection to YARN."""
    fields = {"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"} | extra}
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", json.dumps(fields))


def test_spark_submit_returns_at_once(submit: Path) -> None:
    """Whatever the job's own settings say, it does not wait; the cluster does not repeat the attempt."""
    submitter = SparkSubmitter(SparkJob(conn_id="cluster", conf=CONF))
    application = submitter.start(SPEC, name="blockread-w")
    arguments = json.loads(submit.with_name("arguments").read_text())
    settings = {arguments[n + 1] for n, argument in enumerate(arguments) if argument == "--conf"}

    assert application == "application_1700000000000_0042"
    assert settings == {
        "spark.executor.memory=2g",
        "spark.yarn.submit.waitAppCompletion=false",
        "spark.api.mode=classic",
        "spark.kubernetes.submission.waitAppCompletion=false",
        "spark.yarn.maxAppAttempts=1",
    }
    assert arguments[-4:] == ["--spec", "file:///spec.json", "--spec-hash", "00ff"]
    assert arguments[arguments.index("--deploy-mode") + 1] == "cluster"


def test_the_cluster_does_not_repeat_an_attempt(submit: Path) -> None:
    """Neither where spark-submit waits for its end; the numbers of task attempts begin again in another one."""
    job = SparkJob(conn_id="cluster", conf={"spark.yarn.maxAppAttempts": "3"})
    SparkSubmitter(job).submit(SPEC, name="blockread-w")
    arguments = json.loads(submit.with_name("arguments").read_text())

    assert "spark.yarn.maxAppAttempts=1" in arguments
    assert not any("waitAppCompletion" in argument for argument in arguments)


def test_an_application_that_the_cluster_refuses(submit: Path) -> None:
    """The task fails with what spark-submit said."""
    submit.write_text("#!/bin/sh\necho 'queue full'\nexit 1\n")
    with pytest.raises(SparkJobError, match="the Spark application failed") as raised:
        SparkSubmitter(SparkJob(conn_id="cluster")).start(SPEC, name="app")

    assert "queue full" in str(raised.value)


def test_a_cluster_is_asked_where_the_connection_says_how(submit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its words for an end are passed on; while it is down, or unknown, nothing is said."""
    del submit
    job = SparkJob(conn_id="cluster")
    assert SparkSubmitter(job).status("application_1_1") == ""
    SparkSubmitter(job).kill("application_1_1")
    with resource_manager() as yarn:
        connect(monkeypatch, yarn_resourcemanager_webapp_address=yarn.url)
        found = [SparkSubmitter(job).status("application_1_1")]
        yarn.state, yarn.final = "FINISHED", "SUCCEEDED"
        found.append(SparkSubmitter(job).status("application_1_1"))
        yarn.state, yarn.final = "KILLED", "KILLED"
        found.append(SparkSubmitter(job).status("application_1_1"))
        yarn.down = True
        found.append(SparkSubmitter(job).status("application_1_1"))

    assert found == ["", "SUCCEEDED", "FAILED", ""]


class GoneError(Exception):
    """What the client raises for a pod that is not there."""

    status = 404


class Pods:
    """Kubernetes' client, for one pod."""

    def __init__(self) -> None:
        """Begin with a pod that runs."""
        self.phase, self.expected, self.deleted = "Running", ("", ""), list[tuple[str, str]]()

    def read_namespaced_pod(self, name: str, namespace: str, *, _request_timeout: float) -> SimpleNamespace:
        """Return the pod, unless it is gone."""
        assert (name, namespace) == self.expected
        assert 0 < _request_timeout < 20
        if not self.phase:
            raise GoneError
        return SimpleNamespace(status=SimpleNamespace(phase=self.phase))

    def delete_namespaced_pod(self, name: str, namespace: str, **_: object) -> None:
        """Note that the pod is deleted."""
        self.deleted.append((name, namespace))


@pytest.fixture
def pods(monkeypatch: pytest.MonkeyPatch) -> Pods:
    """The pods of the namespace that Kubernetes' client is asked for."""
    found = Pods()
    client = SimpleNamespace(get_kube_client=lambda: found, ApiException=OSError)
    monkeypatch.setattr(spark_submit, "kube_client", client, raising=False)
    monkeypatch.setitem(sys.modules, "kubernetes", SimpleNamespace(client=SimpleNamespace(V1DeleteOptions=dict)))
    return found


@pytest.mark.parametrize(
    ("extra", "conf", "namespace"),
    [({"namespace": "etl"}, {}, "etl"), ({}, {"spark.kubernetes.namespace": "lake"}, "lake"), ({}, {}, "default")],
)
def test_kubernetes_is_asked_for_the_driver(
    submit: Path,
    pods: Pods,
    monkeypatch: pytest.MonkeyPatch,
    extra: dict[str, str],
    conf: dict[str, str],
    namespace: str,
) -> None:
    """The pod has a name that was chosen before, in any namespace; one that has ended says how, and it is deleted."""
    fields = {"conn_type": "spark", "host": "k8s://https://cluster:6443", "extra": {"deploy-mode": "cluster"} | extra}
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", json.dumps(fields))
    job = SparkJob(conn_id="cluster", conf=conf)
    names = [SparkSubmitter(job).start(SPEC, name="blockread-1") for _ in range(2)]
    arguments = json.loads(submit.with_name("arguments").read_text())
    pods.expected = (names[1], namespace)
    found = []
    for phase in ("Pending", "Running", "Succeeded", "Failed", ""):
        pods.phase = phase
        found.append(SparkSubmitter(job).status(names[1]))
    SparkSubmitter(job).kill(names[1])

    assert all(re.fullmatch(r"blockread-1-\w{8}-driver", name) for name in names)
    assert names[0] != names[1]  # a pod that has ended keeps its name
    assert f"spark.kubernetes.driver.pod.name={names[1]}" in arguments
    assert f"spark.kubernetes.namespace={namespace}" in arguments
    assert found == ["", "", "Succeeded", "Failed", "Deleted"]
    assert pods.deleted == [pods.expected]
