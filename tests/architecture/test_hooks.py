"""The hooks before a commit run what `make check` runs."""

from __future__ import annotations

import re
import subprocess
import sys

import yaml

from tests.architecture.tree import ROOT


def test_hooks_run_what_make_check_runs() -> None:
    """Each command of the target is a hook's, in the same order; hooks write where the target only checks."""
    target = (ROOT / "Makefile").read_text().partition("\ncheck:")[2].partition("\n\n")[0]
    made = re.findall(r"^\t\$\(VENV\)/bin/(.*)$", target, re.MULTILINE)
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    hooks = [hook["entry"].removeprefix(".venv/bin/") for repo in config["repos"] for hook in repo["hooks"]]
    changed = {
        "ruff format --force-exclude": "ruff format --check .",
        "ruff check --force-exclude --fix": "ruff check .",
    }

    assert [changed.get(hook, hook) for hook in hooks] == made


def test_the_configuration_is_valid() -> None:
    """pre-commit itself accepts it."""
    subprocess.run([sys.executable, "-m", "pre_commit", "validate-config"], check=True, cwd=ROOT)
