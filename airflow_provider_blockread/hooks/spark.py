"""Spark applications through Airflow's Spark hook: a `Submitter` for the steps."""

from __future__ import annotations

import json
import logging
import os
import shutil
import socket
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowException

from airflow_provider_blockread.errors import OptionsError, SparkJobError, printable
from airflow_provider_blockread.hooks.connections import find_connection
from airflow_provider_blockread.hooks.driver_environment import inherited
from airflow_provider_blockread.hooks.stores import Credentials
from airflow_provider_blockread.options import SparkJob
from airflow_provider_blockread.spark.engines.protocol import STOP_S
from airflow_provider_blockread.spark.engines.settings import LOCAL_IP, LOOPBACK, make_classic
from airflow_provider_blockread.spark.installed import require_java, require_pyspark
from airflow_provider_blockread.spark.private_folder import private_file, private_folder

if TYPE_CHECKING:
    from airflow_provider_blockread.exchange.model import Submission
    from airflow_provider_blockread.hooks.tracked_submit import TrackedSubmitHook

#: Used when the default connection does not exist: Spark inside the task, on all cores.
LOCAL_MASTER = "local[*]"
_APPLICATION = Path(__file__).parents[1] / "spark" / "job.py"
_log = logging.getLogger(__name__)
_INSTALL = "install it with `pip install 'airflow-provider-blockread[spark]'`"


class SparkSubmitter:
    """Submits the application that reads a block group, and cancels it on request.

    If the process of a task is killed, its application ends within seconds: the driver watches the process that started
    it. A driver on the cluster (deploy mode `cluster`) runs on until it finds a stop file, and the next try adopts it.

    :param job: where and how the application runs.
    :param credentials: storage options by root URI; they are passed to the driver in a private file.
    """

    def __init__(self, job: SparkJob, credentials: Credentials | None = None) -> None:
        self._job = job
        self._credentials = credentials or {}
        self.cancelled = False
        self._hook: TrackedSubmitHook | None = None

    @cached_property
    def keeps_secrets(self) -> bool:
        """Whether the driver runs on this host, where it can read a private file."""
        return not self._make_hook().is_remote_driver

    def submit(self, submission: Submission, *, name: str) -> None:
        """Run the application for a job specification to its end.

        Raises:
            OptionsError: when Java, Spark, its provider or the connection is missing, or does not match the options.
            SparkJobError: when the application failed or was cancelled; the message contains the tail of its output.
        """
        self._run(submission, name)

    def start(self, submission: Submission, *, name: str) -> str:
        """Submit the application and return its id on the cluster, or its name, once the cluster has accepted it.

        Raises:
            OptionsError: when Spark, its provider or the connection is missing.
            SparkJobError: when the cluster has not accepted it, or it was cancelled before.
        """
        return self._run(submission, name, detached=True).application or name

    def status(self, application: str) -> str:
        """Return how a detached application has ended, or an empty string while it runs or if this is not known.

        It is not known if the provider of Spark or Kubernetes is not installed, for example on a triggerer's host.
        """
        try:
            return self._make_hook(detached=True).end_of(application)
        except Exception as error:  # noqa: BLE001 - any client error; the driver's own files decide
            _log.warning("%s: the cluster does not report its status: %s", application, printable(str(error)))
            return ""

    def kill(self, application: str | None) -> None:
        """Ask the cluster, if it supports this, to stop an application's driver; default: that of the last `submit`."""
        if application is None and self._hook is not None:
            application = self._hook.application
        if application is None:
            return
        try:
            self._make_hook(detached=True).kill(application)
        except Exception as error:  # noqa: BLE001 - any client error; the driver also finds a stop file
            _log.warning("%s: the cluster did not stop it: %s", application, printable(str(error)))

    def require_cluster(self) -> None:
        """Refuse to run an application detached if it would end with this process.

        Raises:
            OptionsError: naming the connection and its mode.
        """
        hook = self._make_hook()
        if not hook.is_remote_driver:
            msg = (
                f"spark: deferrable=True needs a driver on a cluster, but connection {self._job.conn_id!r} has master "
                f"{hook.master!r} in deploy mode client, where the driver runs in the task; set `deploy-mode` to "
                "`cluster` in the extra of a connection to YARN or Kubernetes, use Spark Connect, or leave it out"
            )
            raise OptionsError(msg)

    def _run(self, submission: Submission, name: str, *, detached: bool = False) -> TrackedSubmitHook:
        from airflow_provider_blockread.spark.bundle import write_bundle  # noqa: PLC0415 - not at every DAG parse

        with private_folder() as folder:
            arguments = ["--spec", submission.spec_uri, "--spec-hash", submission.spec_hash]
            if submission.readers is not None:
                arguments += ["--readers", str(submission.readers)]
            py_files = ",".join([write_bundle(str(folder)), *self._job.py_files])
            self._hook = hook = self._make_hook(name, arguments, py_files=py_files, detached=detached)
            hook.hide(folder)
            environment = self._environment(hook, folder, submission)
            try:
                if not self.cancelled:
                    hook.run(str(_APPLICATION), environment)
            except FileNotFoundError as error:
                msg = f"{name}: the program spark-submit is not on PATH; {_INSTALL}"
                raise OptionsError(msg) from error
            except AirflowException:  # Airflow's own error repeats the log
                if not self.cancelled:
                    require_java(environment)
                raise _failure(hook, name, cancelled=self.cancelled) from None
            except BaseException:
                hook.stop(STOP_S)
                raise
        if self.cancelled:
            raise _failure(hook, name, cancelled=True)
        return hook

    def cancel(self) -> None:
        """Stop the application; can be called from any thread or signal handler, before, during or after `submit`."""
        self.cancelled = True
        if self._hook is not None:
            self._hook.stop(STOP_S)

    def _make_hook(
        self, name: str = "spark", arguments: Sequence[str] = (), *, py_files: str = "", detached: bool = False
    ) -> TrackedSubmitHook:
        try:
            from airflow_provider_blockread.hooks.tracked_submit import TrackedSubmitHook  # noqa: PLC0415 - an extra
        except ImportError as error:
            msg = f"{name}: Airflow's Spark provider is missing ({error}); {_INSTALL}"
            raise OptionsError(msg) from error
        found = spark_connection(self._job)
        return TrackedSubmitHook(found, self._job, name=name, arguments=arguments, py_files=py_files, detached=detached)

    def _environment(self, hook: TrackedSubmitHook, folder: Path, submission: Submission) -> dict[str, str]:
        environment = inherited(os.environ, self._job.environment)
        make_classic(environment)
        programs = str(Path(sys.executable).parent)
        if shutil.which(hook.spark_binary or "spark-submit") is None:
            environment["PATH"] = f"{environment.get('PATH', os.defpath)}{os.pathsep}{programs}"
        if hook.is_remote_driver:
            if hook.master.startswith("spark://"):
                msg = (
                    "spark: a standalone cluster supports Python drivers only in deploy mode client;"
                    " leave deploy-mode out of the connection and of conf"
                )
                raise OptionsError(msg)
            if self._credentials:
                msg = (
                    "spark: connections of stores reach a driver on this host only, not one in deploy mode cluster; "
                    "give the cluster an ambient identity and leave conn_id out, or use deploy mode client"
                )
                raise OptionsError(msg)
            return environment
        environment["BLOCKREAD_PARENT"] = f"{socket.gethostname()}:{os.getpid()}"
        environment["BLOCKREAD_FOLDER"] = str(folder)
        if environment.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable) == sys.executable:
            require_pyspark(environment)
        if hook.is_local:
            environment.setdefault("PYSPARK_PYTHON", sys.executable)
            environment.setdefault(LOCAL_IP, LOOPBACK)
        secrets = {"secret": submission.secret, "window_secret": submission.window_secret}
        code = None if submission.code is None else asdict(submission.code)
        private = secrets | {"stores": self._credentials, "code": code}
        environment["BLOCKREAD_CREDENTIALS_FILE"] = private_file(folder / "private.json", json.dumps(private))
        return environment


def spark_connection(job: SparkJob) -> Connection:
    """Return the Spark connection of a job; if the job has a master, it replaces the connection's.

    Raises:
        OptionsError: when the named connection does not exist.
        TransientError: when Airflow could not look the connection up.
    """
    found = find_connection(job.conn_id)
    if found is None:
        if job.master is None and job.conn_id != SparkJob().conn_id:
            msg = f"spark: there is no connection {job.conn_id!r}; create one of type spark, or set master"
            raise OptionsError(msg)
        found = Connection(conn_id=job.conn_id, conn_type="spark", host=LOCAL_MASTER)
    if job.master is None:
        return found
    return Connection(conn_id=job.conn_id, conn_type="spark", host=job.master, extra=found.extra)


def _failure(hook: TrackedSubmitHook, name: str, *, cancelled: bool) -> SparkJobError:
    """Return the error for a failed application: the driver's own error, or else the last lines of its log."""
    if cancelled:
        return SparkJobError(f"{name}: the Spark application was stopped; clear the task to read the group again")
    if hook.error:
        return SparkJobError(f"{name}: the Spark application failed: {hook.error}")
    error = SparkJobError(f"{name}: the Spark application failed; fix the cause and retry. The last lines of its log:")
    error.lines = tuple(hook.tail)
    return error
