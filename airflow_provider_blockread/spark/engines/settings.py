"""Defaults for Spark's configuration, for settings that neither the user nor the cluster has made."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from typing import Any

LOOPBACK = "127.0.0.1"
#: The environment variable for the address of Spark's UI; other ports follow the configuration.
LOCAL_IP = "SPARK_LOCAL_IP"
#: Settings of every application: it is Spark's classic API that runs tasks, whatever the user's defaults say.
CLASSIC = {"spark.api.mode": "classic"}

_DEFAULT_LOGGING = "org/apache/spark/log4j2-"  # the folder of Spark's own profiles
_LOCAL = re.compile(r"local(\[.*\])?")
_MAKES_SECRETS = re.compile(r"yarn|k8s://.*")
_STANDALONE = re.compile(r"spark://|local-cluster\[")
_DYNAMIC = "spark.dynamicAllocation"
_EXECUTOR_CORES, _MOST_CORES, _TASK_CPUS = "spark.executor.cores", "spark.cores.max", "spark.task.cpus"
_SIZES = re.compile(r"spark\.(dynamicAllocation\.(enabled|(min|initial|max)Executors)|executor\.instances|cores\.max)")


def is_local(master: str) -> bool:
    """Return whether driver and executors are one process."""
    return _LOCAL.fullmatch(master) is not None


def make_classic(environment: MutableMapping[str, str]) -> None:
    """Change the variables of a driver so that `SparkSession.builder` finds its Spark, and not a Connect server."""
    environment.pop("SPARK_REMOTE", None)
    environment["SPARK_API_MODE"] = CLASSIC["spark.api.mode"]


def guarding(master: str, *, has_secrets: bool) -> dict[str, str]:
    """Return the settings that protect an application's ports.

    A local application listens on loopback. With a local master, YARN and Kubernetes, Spark itself creates the secret
    for `spark.authenticate`; on a standalone cluster, authentication is up to its administrator. `has_secrets` says
    whether credentials are sent to the executors.
    """
    if is_local(master):
        bound = {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
        return bound | {"spark.authenticate": "true"}
    if has_secrets and _MAKES_SECRETS.fullmatch(master):
        return {"spark.authenticate": "true"}
    return {}


def sized(master: str, readers: int | None, given: Mapping[str, str]) -> dict[str, str]:
    """Return the settings with which an application on a cluster gets executors for this number of concurrent tasks.

    If the size of executors is known, Spark's dynamic allocation starts as many as are needed and releases idle ones.
    By default a standalone cluster starts one executor per worker, as large as the worker, so the cores are limited
    instead. Settings of the user or the cluster for the number of executors or cores (in `given`, the configuration so
    far) are not changed. Without `readers`, the number of concurrent tasks, nothing is set.
    """
    if readers is None or is_local(master) or any(_SIZES.fullmatch(key) for key in given):
        return {}
    tasks = readers * int(given.get(_TASK_CPUS, "1"))
    if _STANDALONE.match(master) and _EXECUTOR_CORES not in given:
        return {_MOST_CORES: str(tasks)}
    executors = -(-tasks // int(given.get(_EXECUTOR_CORES, "1")))
    counts = dict.fromkeys((f"{_DYNAMIC}.initialExecutors", f"{_DYNAMIC}.maxExecutors"), str(executors))
    return {f"{_DYNAMIC}.enabled": "true"} | counts


def most_tasks(master: str, given: Mapping[str, str]) -> int | None:
    """Return how many tasks an application on a cluster may run at once at most, or None if no setting limits them."""
    if is_local(master):
        return None
    cores, standalone = given.get(_EXECUTOR_CORES), _STANDALONE.match(master)
    most = given.get(f"{_DYNAMIC}.maxExecutors") if given.get(f"{_DYNAMIC}.enabled") == "true" else None
    limits = [int(given[_MOST_CORES])] if standalone and _MOST_CORES in given else []
    if most is not None and (cores is not None or not standalone):
        limits.append(int(most) * int(cores or "1"))
    return min(limits) // int(given.get(_TASK_CPUS, "1")) if limits else None


def has_own_logging(jvm: Any) -> bool:  # noqa: ANN401 - any class of Java
    """Return whether the user or the cluster has configured Spark's log, which must then be left alone."""
    source = jvm.org.apache.logging.log4j.LogManager.getContext(False).getConfiguration().getConfigurationSource()  # noqa: FBT003
    return _DEFAULT_LOGGING not in (source.getLocation() or _DEFAULT_LOGGING)


def silence(jvm: Any) -> None:  # noqa: ANN401 - any class of Java
    """Turn off the executor's log of failed tasks, which repeats the scheduler's."""
    log4j = jvm.org.apache.logging.log4j
    log4j.core.config.Configurator.setLevel("org.apache.spark.executor.Executor", log4j.Level.OFF)
