"""Defaults for Spark's configuration, where neither the user nor the cluster has set it."""

from __future__ import annotations

import re
from typing import Any

LOOPBACK = "127.0.0.1"
#: The variable for the address of Spark's UI; other ports follow the configuration.
LOCAL_IP = "SPARK_LOCAL_IP"

_DEFAULT_LOGGING = "org/apache/spark/log4j2-"  # the folder of Spark's own profiles
_LOCAL = re.compile(r"local(\[.*\])?")
_MAKES_SECRETS = re.compile(r"yarn|k8s://.*")


def is_local(master: str) -> bool:
    """Return whether driver and executors are one process."""
    return _LOCAL.fullmatch(master) is not None


def guarding(master: str, *, has_secrets: bool) -> dict[str, str]:
    """Return the settings that protect an application's ports.

    A local application listens on loopback. Spark makes the secret for `spark.authenticate` itself with a local master,
    YARN and Kubernetes; on a standalone cluster its administrator decides about it.

    Args:
        master: Spark's master URL.
        has_secrets: whether credentials travel to the executors.
    """
    if is_local(master):
        bound = {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
        return bound | {"spark.authenticate": "true"}
    if has_secrets and _MAKES_SECRETS.fullmatch(master):
        return {"spark.authenticate": "true"}
    return {}


def has_own_logging(jvm: Any) -> bool:  # noqa: ANN401 - any class of Java
    """Return whether the user or the cluster has configured Spark's log; it then stays as it is.

    Args:
        jvm: a Py4J view of the driver's JVM.
    """
    source = jvm.org.apache.logging.log4j.LogManager.getContext(False).getConfiguration().getConfigurationSource()  # noqa: FBT003
    return _DEFAULT_LOGGING not in (source.getLocation() or _DEFAULT_LOGGING)


def silence(jvm: Any) -> None:  # noqa: ANN401 - any class of Java
    """Turn off the executor's log of failed tasks, which repeats that of the scheduler."""
    log4j = jvm.org.apache.logging.log4j
    log4j.core.config.Configurator.setLevel("org.apache.spark.executor.Executor", log4j.Level.OFF)
