"""A deferred task on a Spark Connect server, whose triggerer may be this process or another one.

As a program it is a triggerer with one trigger, whose arguments it is given as JSON.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from airflow_provider_blockread.ledger.model import Group
from airflow_provider_blockread.ledger.windows.generations import list_groups
from airflow_provider_blockread.options import ArrowFunction, SparkJob
from airflow_provider_blockread.steps import Environment, WindowRef
from airflow_provider_blockread.triggers.remote_work import RemoteWorkTrigger
from tests.airflow.deferring.resuming import OWNER
from tests.airflow.triggering import first
from tests.pipeline.make import Pipe, ReadHere
from tests.system.processes import cmdline

_TESTS = Path(__file__).parents[2]
MODULES = [str(_TESTS / "system" / "dags" / "functions.py"), str(_TESTS / "pipeline" / "user_frames.py")]
JOB = SparkJob(conn_id="connect", py_files=MODULES, heartbeat_s=0.5)


class Deferred:
    """A deferred task that reads the only group of a window, whose function waits until it may continue."""

    def __init__(self, folder: Path) -> None:
        """Plan the window."""
        self.pipe = Pipe(
            folder=folder, submitter=ReadHere(), function=ArrowFunction("functions:hold", columns=["_file"])
        )
        self.pipe.put({"a.txt": b"a1\na2\n"})
        self.ref: WindowRef = self.pipe.plan()
        self.env: Environment = self.pipe.env

    @property
    def arguments(self) -> dict[str, Any]:
        """The trigger's arguments, as Airflow keeps them."""
        work = {"ref": self.ref.to_json(), "group": 0, "owner": OWNER, "clear_number": 0, "code": None}
        made = RemoteWorkTrigger(work=work, spark=JOB.to_json(), ledger_conn_id="led").serialize()[1]
        found: dict[str, Any] = json.loads(json.dumps(made))
        return found

    @property
    def trigger(self) -> RemoteWorkTrigger:
        """The trigger, as any triggerer makes it."""
        return RemoteWorkTrigger(**self.arguments)

    @property
    def group(self) -> Group:
        """The group, as the ledger knows it."""
        return list_groups(self.env.ledger, self.ref.window, self.ref.generation)[0]

    @property
    def reads(self) -> bool:
        """Whether the function was called just now."""
        mark = self.pipe.folder / "asleep"
        return mark.exists() and time.time() - mark.stat().st_mtime < 1

    async def until(self, found: Callable[[], bool]) -> None:
        """Wait for something."""
        deadline = time.monotonic() + 120
        while not found():
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)

    def in_triggerer(self) -> subprocess.Popen[bytes]:
        """Start a triggerer with the trigger, which prints what that fires."""
        return subprocess.Popen([sys.executable, __file__, json.dumps(self.arguments)], stdout=subprocess.PIPE)

    def go_on(self) -> None:
        """Let the function return."""
        (self.pipe.folder / "fixed").touch()

    def publishes(self) -> bool:
        """Return whether the window publishes its records."""
        return self.pipe.commit(self.ref).records == 2


def helpers(root: psutil.Process | None = None) -> list[psutil.Process]:
    """Return the helpers of a process, or of this one."""
    found = (root or psutil.Process()).children(recursive=True)
    return [one for one in found if "steps.watch.serving" in " ".join(cmdline(one))]


def main(arguments: dict[str, Any]) -> None:
    """Be a triggerer with one trigger."""
    print(asyncio.run(first(RemoteWorkTrigger(**arguments))), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
