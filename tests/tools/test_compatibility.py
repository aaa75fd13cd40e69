"""`make compatibility`: the unit tests in an environment for each Python and each set of dependencies, and a report."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
_PROGRAMS = ("bash", "env", "dirname", "make", "mkdir", "mktemp", "rm", "sh", "touch", "cat")
_UV = """#!/bin/sh
[ "$1" = sync ] && mkdir -p "$UV_PROJECT_ENVIRONMENT"
[ "$1" = venv ] && for last; do :; done && mkdir -p "$last"
echo "uv $*" >>"$UV_LOG"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The scripts, a Makefile whose tests fail with Python 3.12, and programs among which are two Pythons."""
    root, programs = tmp_path / "project", tmp_path / "programs"
    (root / "tools").mkdir(parents=True)
    programs.mkdir()
    for name in ("compatibility.sh", "pythons.sh"):
        shutil.copy(TOOLS / name, root / "tools" / name)
    ready = '\t@test -e "$(VENV)/.ready" && echo "$@: $(TESTS) $(PYTEST_ARGS)"'
    (root / "Makefile").write_text(f'unit:\n{ready} && case "$(VENV)" in *3.12*) exit 1;; esac\ntest:\n{ready}\n')
    for name in _PROGRAMS:
        (programs / name).symlink_to(str(shutil.which(name)))
    for version in ("3.11", "3.12"):
        (programs / f"python{version}").write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && echo "Python {version}.9"; exit 0\n'
        )
    (programs / "uv").write_text(_UV)
    for program in ("python3.11", "python3.12", "uv"):
        (programs / program).chmod(0o755)
    return root


def test_it_says_what_passed_what_failed_and_what_was_not_found(project: Path, tmp_path: Path) -> None:
    """The lowest dependencies are tried on the oldest Python, with Spark, too; the locked ones on each Python."""
    own = {"PATH": str(tmp_path / "programs"), "PYENV_ROOT": str(tmp_path), "HOME": os.environ["HOME"]}
    done = subprocess.run(
        [project / "tools" / "compatibility.sh"],
        env=own | {"UV_LOG": str(tmp_path / "uv.log")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    report = [line.split(", in ")[0] for line in done.stdout.splitlines() if line.startswith(("Python ", "python"))]
    spark = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("test: ")]
    asked = (tmp_path / "uv.log").read_text()

    assert report == [
        "Python 3.11.9, lowest dependencies: passed",
        "Python 3.11.9, locked dependencies: passed",
        "Python 3.12.9, locked dependencies: failed",
        "python3.13, locked dependencies: not found",
        "python3.14, locked dependencies: not found",
    ], done.stdout + done.stderr
    assert done.returncode == 1
    assert [(TOOLS.parent / name).exists() for name in spark[0] if name.startswith("tests/")] == [True] * 4
    assert (len(spark), spark[0][-2:]) == (1, ["-W", "default"])
    assert asked.count("--resolution lowest-direct") == 1
    assert asked.count("sync --quiet --frozen") == 2


def test_an_environment_elsewhere_runs_the_tests(tmp_path: Path) -> None:
    """Both targets that are tried take the Python of the environment that is named, not one on the path."""
    asked = ["make", "--dry-run", f"VENV={tmp_path}", "unit", "test"]
    done = subprocess.run(asked, cwd=TOOLS.parent, capture_output=True, text=True, check=True, timeout=60)

    assert f"{tmp_path}/bin/python -m pytest" in done.stdout
    assert f' PATH="{tmp_path}/bin:$PATH"' in done.stdout
