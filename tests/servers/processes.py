"""Programs that serve on loopback, and end with the process that started them."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])

_READY_WITHIN_S = 120
_POLL_S = 0.05


@cache
def install() -> None:
    """Install the programs that are missing, where `make test` lets tests do that; one process at a time."""
    if "INSTALL_SERVERS" in os.environ:
        with (ROOT / "tools" / "servers.sh").open("rb") as script:
            fcntl.flock(script, fcntl.LOCK_EX)
            subprocess.run([script.name], check=True, stdin=subprocess.DEVNULL)


@contextmanager
def new_folder(name: str) -> Iterator[Path]:
    """Give a folder with a short path, since some servers put sockets there, and remove it."""
    folder = Path(tempfile.mkdtemp(prefix=f"br-{name}-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    """Return a port that nobody uses now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def answers(port: int) -> Callable[[], bool]:
    """Return what finds out whether something listens on a port of loopback."""

    def check() -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", port)) == 0

    return check


def run(*command: str | Path, environment: Mapping[str, str] | None = None) -> str:
    """Return what a program printed.

    Raises:
        RuntimeError: when it is not installed, or fails.
    """
    try:
        ran = subprocess.run(
            [*map(str, command)],
            env={**os.environ, "PATH": PROGRAMS, **(environment or {})},
            capture_output=True,
            check=False,
            text=True,
            timeout=_READY_WITHIN_S,
        )
    except FileNotFoundError as error:
        raise _not_installed(command[0]) from error
    if ran.returncode:
        msg = f"{command[0]} ended with {ran.returncode}: {ran.stderr[-2000:]}"
        raise RuntimeError(msg)
    return ran.stdout


@contextmanager
def running(
    *command: str | Path, log: Path, ready: Callable[[], bool], environment: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Run a program that is killed on the way out, and by the kernel should this process be killed before that.

    Raises:
        RuntimeError: when it is not installed, ends early, or is not ready in time; the message holds its last words.
    """
    if not Path(command[0]).exists() and not _on_path(str(command[0])):
        raise _not_installed(command[0])
    guarded = ["setpriv", "--pdeathsig", "KILL", *map(str, command)]
    variables = {**os.environ, "PATH": PROGRAMS, **(environment or {})}
    with (
        log.open("wb") as out,
        subprocess.Popen(
            guarded, env=variables, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=log.parent
        ) as process,
    ):
        try:
            wait_until(ready, still=lambda: process.poll() is None, last_words=log)
            yield
        finally:
            process.kill()
            process.wait()


def wait_until(ready: Callable[[], bool], *, still: Callable[[], bool], last_words: Path) -> None:
    """Wait until something is so, as long as it still can be.

    Raises:
        RuntimeError: when it can no longer be, or takes too long.
    """
    deadline = time.monotonic() + _READY_WITHIN_S
    while not ready():
        if not still() or time.monotonic() > deadline:
            msg = f"not ready: {last_words.read_text(errors='replace')[-2000:]}"
            raise RuntimeError(msg)
        time.sleep(_POLL_S)


def _on_path(program: str) -> bool:
    return any((Path(folder) / program).exists() for folder in PROGRAMS.split(os.pathsep))


def _not_installed(program: str | Path) -> RuntimeError:
    return RuntimeError(f"{program} is not installed: run `make servers`")
