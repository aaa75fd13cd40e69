"""Airflow's Spark hook, made stoppable: it uses a resolved connection, and runs in its own process group."""

from __future__ import annotations

import base64
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.hooks import spark_submit
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.sdk import Connection

from airflow_provider_blockread.errors import OptionsError, printable
from airflow_provider_blockread.options import SparkJob
from airflow_provider_blockread.spark.engines.settings import CLASSIC, is_local
from airflow_provider_blockread.spark.parent import ERROR_LINE, OWN_LINE
from airflow_provider_blockread.spark.private_folder import private_file

_DEPLOY_MODE = "spark.submit.deployMode"
_PYTHON, _DRIVER_PYTHON = "spark.pyspark.python", "spark.pyspark.driver.python"
_POLL_S = 0.05
_TAIL_LINES = 20
#: Settings of a detached application: spark-submit returns at once.
_DETACHED = {"spark.yarn.submit.waitAppCompletion": "false", "spark.kubernetes.submission.waitAppCompletion": "false"}
#: A driver on YARN must run only once: its task attempts are numbered within one run. Kubernetes never restarts one.
_ONCE = {"spark.yarn.maxAppAttempts": "1"}
_KEYTAB = "connection.keytab"
_ASK_S = 10.0  # to wait for an answer of Kubernetes
_NOT_FOUND = 404
_ENDS = frozenset({"SUCCEEDED", "FAILED", "Succeeded", "Failed", "Deleted"})  # of YARN and of Kubernetes
_POD = "spark.kubernetes.driver.pod.name"
_RESOURCE_MANAGER = "yarn_resourcemanager_webapp_address"
# Airflow's UI folds the lines between these marks.
_BEGIN, _END = "::group::Spark's own log", "::endgroup::"


class TrackedSubmitHook(SparkSubmitHook):
    """A `SparkSubmitHook` whose application can be stopped from any thread, at any moment.

    :param connection: the Spark connection to use.
    :param detached: let spark-submit return as soon as a cluster has accepted the application.
    """

    def __init__(
        self,
        connection: Connection,
        job: SparkJob,
        *,
        name: str,
        arguments: Sequence[str],
        py_files: str,
        detached: bool = False,
    ) -> None:
        on_kubernetes = (connection.host or "").startswith("k8s://")
        # Without the package, Airflow's hook fails with a NameError in any call.
        if on_kubernetes and not hasattr(spark_submit, "kube_client"):
            msg = (
                f"{name}: for the master {connection.host} Airflow's Spark hook needs its Kubernetes provider; install"
                " it with `pip install apache-airflow-providers-cncf-kubernetes`"
            )
            raise OptionsError(msg)
        self._pinned = connection
        self._stopped = threading.Event()
        self.error = ""  # the driver's own error, if it printed one
        self.tail: deque[str] = deque(maxlen=_TAIL_LINES)  # the end of the output, without routine lines
        mode = connection.extra_dejson.get("deploy-mode") or job.conf.get(_DEPLOY_MODE) or "client"
        settings = {**job.conf, **CLASSIC, **(_DETACHED if detached else {})}
        if mode == "cluster" and not on_kubernetes:
            settings |= _ONCE
        if mode == "client" and _PYTHON in settings:  # this Python may exist only on the cluster's workers
            settings.setdefault(_DRIVER_PYTHON, os.environ.get("PYSPARK_DRIVER_PYTHON", sys.executable))
        if on_kubernetes and detached:  # Airflow's hook finds a pod's name in the log only in a namespace `spark`
            settings.setdefault(_POD, f"{name}-{uuid.uuid4().hex[:8]}-driver")
        self._private = job.secrets
        self._keytab_bytes: bytes | None = None
        super().__init__(
            conn_id=connection.conn_id,
            conf={key: value for key, value in settings.items() if key not in self._private},
            name=name,
            py_files=py_files,
            application_args=list(arguments),
            proxy_user=job.proxy_user,
            # Always set: a default in the cluster's configuration could start the driver where the private file is not.
            deploy_mode=mode,
            track_driver_via_k8s_api=detached,  # without effect on YARN
            yarn_track_via_rm_api=detached and bool(connection.extra_dejson.get(_RESOURCE_MANAGER)),
        )
        if on_kubernetes and detached:
            self._connection["namespace"] = self._connection["namespace"] or "default"

    def hide(self, folder: Path) -> None:
        """Write secret settings, which must not be arguments, and the keytab to private files for spark-submit.

        :param folder: a folder that only the user can access.
        """
        if self._keytab_bytes is not None:
            self._connection["keytab"] = private_file(folder / _KEYTAB, self._keytab_bytes)
        if self._private:
            lines = (f"{_escaped(key)}={_escaped(value)}\n" for key, value in self._private.items())
            self._properties_file = private_file(folder / "private.properties", "".join(lines))

    def get_connection(self, conn_id: str) -> Connection:  # type: ignore[override] # noqa: ARG002 - one is pinned
        """Return the pinned connection."""
        return self._pinned

    @property
    def master(self) -> str:
        """The URL of Spark's master."""
        return str(self._connection["master"])

    @property
    def is_local(self) -> bool:
        """Whether executors share the driver's process, and therefore its Python."""
        return is_local(self.master)

    @property
    def is_remote_driver(self) -> bool:
        """Whether the driver may run on another host."""
        return str(self._connection["deploy_mode"]) == "cluster"

    def _build_spark_common_args(self) -> list[str]:
        arguments = super()._build_spark_common_args()
        # Otherwise a properties file would replace the cluster's spark-defaults.conf.
        return [*arguments, "--load-spark-defaults"] if self._properties_file else arguments

    def _create_keytab_path_from_base64_keytab(self, base64_keytab: str, principal: str | None) -> str:  # noqa: ARG002
        # Airflow's hook writes a world-readable file, and never removes it. Only spark-submit needs the file, so `hide`
        # writes it.
        try:
            self._keytab_bytes = base64.b64decode(base64_keytab)
        except ValueError as error:
            msg = (
                f"spark: the keytab of connection {self._pinned.conn_id!r} is not written in base64; put the output of"
                " `base64 FILE` into its extra"
            )
            raise OptionsError(msg) from error
        return _KEYTAB

    @property
    def application(self) -> str | None:
        """The application's id on YARN, once spark-submit has printed it, or its driver's pod on Kubernetes."""
        return self._yarn_application_id or self._conf.get(_POD) or self._kubernetes_driver_pod

    def end_of(self, application: str) -> str:
        """Return how a detached application has ended, in its cluster's words; empty while it runs or is unknown."""
        status = ""
        if self._yarn_track_via_rm_api:
            status = self.query_yarn_application_status(application)
        elif self._is_kubernetes:
            status = self._pod_phase(application)
        return status if status in _ENDS else ""

    def _pod_phase(self, name: str) -> str:
        pods = spark_submit.kube_client.get_kube_client()  # type: ignore[attr-defined]
        namespace = self._connection["namespace"]
        try:
            return str(pods.read_namespaced_pod(name, namespace, _request_timeout=_ASK_S).status.phase)
        except Exception as error:
            if getattr(error, "status", None) == _NOT_FOUND:
                return "Deleted"
            raise

    def kill(self, application: str) -> None:
        """Stop a detached application through its cluster, if this is configured."""
        if self._is_kubernetes:
            self._kubernetes_driver_pod = application
        else:
            self._yarn_application_id = application
        self.on_kill()

    def run(self, application: str, environment: dict[str, str]) -> None:
        """Run the application to its end, in its own process group, so that one signal reaches all of its processes.

        Raises:
            AirflowException: when it fails, with the tail of its output.
        """
        try:
            # A task's stdin is its socket to Airflow's supervisor: the task counts as alive while any process holds it.
            self.submit(application, env=environment, start_new_session=True, stdin=subprocess.DEVNULL)
        finally:
            if self._submit_sp is not None and self._submit_sp.stdout is not None:
                self._submit_sp.stdout.close()  # Airflow's hook leaves it open

    def stop(self, grace_s: float) -> None:
        """Stop the whole process group, but not a driver on a cluster, which `kill` stops.

        :param grace_s: seconds between SIGTERM and SIGKILL.
        """
        self._stopped.set()
        process = self._submit_sp
        if process is None:
            return
        _signal_group(process.pid, signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        while _is_running(process.pid) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        _signal_group(process.pid, signal.SIGKILL)

    def _process_spark_submit_log(self, itr: Iterator[Any]) -> None:
        # Runs when the process has just been started: an earlier `stop` found no process.
        if self._stopped.is_set():
            self.stop(grace_s=0)
        super()._process_spark_submit_log(self._kept(itr))

    def _kept(self, output: Iterator[Any]) -> Iterator[str]:
        """Yield the lines to log: the driver's own lines unchanged, those of Spark in folded groups."""
        folded = False
        for line in output:
            text = printable(str(line).strip())
            if text.startswith(ERROR_LINE):
                self.error = text.removeprefix(ERROR_LINE)  # logged with the task's failure
                continue
            own = text.startswith(OWN_LINE)
            if folded == own:
                yield _END if own else _BEGIN
                folded = not own
            if not own and text and " INFO " not in text and not text.startswith("at "):
                self.tail.append(text)
            yield text.removeprefix(OWN_LINE)
        if folded:
            yield _END


def _escaped(text: str) -> str:
    """Return any text escaped for a Java properties file."""
    units = text.encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
    return "".join(chr(code) if chr(code).isascii() and chr(code).isalnum() else f"\\u{code:04x}" for code in codes)


def _is_running(pid: int) -> bool:
    """Return whether our child still runs, without reaping it: `subprocess` reaps it, perhaps in this thread."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
