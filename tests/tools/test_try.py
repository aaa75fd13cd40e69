"""`make try`: the two commands from a fresh clone, and which interpreters that was."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "try.sh"
_MAKEFILE = """
demo:
	@test ! -e uncommitted && echo "demo $$(ls | wc -l)" && touch .demo && test -z "$(BROKEN)"
up:
	@$(PYTHON) up.py $(PORT)
"""
_UP = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if "health" in self.path else 404)
        self.end_headers()
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("Ctrl-C stops it.", flush=True)
try:
    server.serve_forever()
except KeyboardInterrupt:
    print("Airflow: stopped")
"""
_PROGRAMS = ("bash", "sh", "env", "dirname", "git", "make", "grep", "sleep", "mktemp", "rm", "cat", "ls", "wc", "touch")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A committed project with the script in it, and a folder of programs where Python is 3.12 alone."""
    root = tmp_path / "project"
    (root / "tools").mkdir(parents=True)
    for name in (SCRIPT.name, "pythons.sh"):
        shutil.copy(SCRIPT.with_name(name), root / "tools" / name)
    (root / "Makefile").write_text(_MAKEFILE)
    (root / "up.py").write_text(_UP)
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    for command in (("init",), ("add", "."), (*who, "commit", "-m", "All")):
        subprocess.run(["git", *command], cwd=root, check=True, capture_output=True)
    (root / "uncommitted").touch()
    (tmp_path / "programs").mkdir()
    for name in _PROGRAMS:
        (tmp_path / "programs" / name).symlink_to(str(shutil.which(name)))
    (tmp_path / "programs" / "python3.12").symlink_to(Path(sys.executable).resolve())
    return root


def tried(project: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the script where nothing else is to be found."""
    programs = {"PATH": str(project.parent / "programs"), "PYENV_ROOT": str(project.parent), "HOME": os.environ["HOME"]}
    return subprocess.run(
        [project / "tools" / "try.sh"], env=programs | more, capture_output=True, text=True, check=False, timeout=120
    )


def test_it_says_which_interpreters_it_ran_and_which_it_did_not_find(project: Path) -> None:
    """Each that is there runs both commands in a clone of what is committed."""
    done = tried(project)
    *_, first, second, third, fourth = done.stdout.splitlines()

    assert done.returncode == 0, done.stdout + done.stderr
    assert first == "python3.11: not found"
    assert second.startswith(f"Python {sys.version.split()[0]}: make demo twice and make up passed, in ")
    assert (third, fourth) == ("python3.13: not found", "python3.14: not found")
    assert done.stdout.count("demo 3\n") == 2


def test_it_fails_where_a_command_does(project: Path) -> None:
    """And says which."""
    done = tried(project, BROKEN="yes")

    assert done.returncode == 1
    assert "python3.12: failed at make demo PYTHON=" in done.stdout
