"""The Java that Spark needs on the host of a driver."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from airflow_provider_blockread.errors import OptionsError


def require_java(environment: Mapping[str, str]) -> None:
    """Refuse an environment without `java` where Spark looks for it: in JAVA_HOME, or else on PATH.

    Raises:
        OptionsError: naming what to install.
    """
    home = environment.get("JAVA_HOME")
    if home and shutil.which("java", path=os.path.join(home, "bin")) is None:  # noqa: PTH118 - a search path
        msg = f"JAVA_HOME={home} has no bin/java: Spark needs Java 17 or newer; set it to a JRE, or unset JAVA_HOME"
        raise OptionsError(msg)
    if not home and shutil.which("java", path=environment.get("PATH", os.defpath)) is None:
        msg = (
            "Spark needs Java 17 or newer: install a JRE, or set JAVA_HOME; reads on a Spark Connect server, which"
            " `remote` names, need none here"
        )
        raise OptionsError(msg)
