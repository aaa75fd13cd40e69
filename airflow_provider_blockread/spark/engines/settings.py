"""What Spark's configuration holds where neither the user nor the cluster's defaults have set it."""

from __future__ import annotations

import re
from typing import Any

LOOPBACK = "127.0.0.1"
#: The variable that decides where Spark's UI listens; the other ports follow the configuration.
LOCAL_IP = "SPARK_LOCAL_IP"

_DEFAULT_LOGGING = "org/apache/spark/log4j2-"  # where Spark's own profiles lie
_LOCAL = re.compile(r"local(\[.*\])?")
_MAKES_SECRETS = re.compile(r"yarn|k8s://.*")


def is_local(master: str) -> bool:
    """Tell whether driver and executors are one process."""
    return _LOCAL.fullmatch(master) is not None


def guarding(master: str, *, has_secrets: bool) -> dict[str, str]:
    """Return the settings that keep strangers away from an application's ports.

    A local application listens on loopback. Spark makes the secret for `spark.authenticate` itself under a local
    master, YARN and Kubernetes; on a standalone cluster whoever runs the cluster decides about it.

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
    """Tell whether the user or the cluster has configured Spark's log, which then stays as it is.

    Args:
        jvm: a Py4J view of the driver's JVM.
    """
    source = jvm.org.apache.logging.log4j.LogManager.getContext(False).getConfiguration().getConfigurationSource()  # noqa: FBT003
    return _DEFAULT_LOGGING not in (source.getLocation() or _DEFAULT_LOGGING)


def silence(jvm: Any) -> None:  # noqa: ANN401 - any class of Java
    """Turn off what says of a failed task what the scheduler says too."""
    log4j = jvm.org.apache.logging.log4j
    log4j.core.config.Configurator.setLevel("org.apache.spark.executor.Executor", log4j.Level.OFF)
