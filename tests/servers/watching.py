"""What can be seen of secrets while a Spark application runs: processes, their environments, and Spark's own pages."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil

from airflow_provider_blockread.periodic import repeating

_EVERY_S = 0.5
_SETTLED_S = 3.0
_PAGES = ("environment/", "jobs/", "stages/", "executors/", "api/v1/applications")


@dataclass
class Sightings:
    """What was seen: the places that show a secret, and what was looked at."""

    secrets: Sequence[str]
    found: set[str] = field(default_factory=set)
    processes: set[int] = field(default_factory=set)
    executors: set[int] = field(default_factory=set)
    pages: set[str] = field(default_factory=set)

    def look(self, place: str, text: str) -> None:
        """Note a place whose text holds a secret."""
        if any(secret in text for secret in self.secrets):
            self.found.add(place)


@contextmanager
def watched(secrets: Sequence[str], ui_port: int, ours: int) -> Iterator[Sightings]:
    """Look, several times a second, at Spark's processes and at the pages of the application.

    Args:
        secrets: what must not be seen.
        ui_port: where the application shows its pages.
        ours: the process that runs the test, which knows the secrets.
    """
    seen = Sightings(secrets)

    def watch() -> bool:
        _look_at_processes(seen, ours)
        _look_at_pages(seen, ui_port)
        return True

    with repeating(watch, every_s=_EVERY_S, name="watch"):
        yield seen


def _look_at_processes(seen: Sightings, ours: int) -> None:
    for pid in set(psutil.pids()) - seen.processes - {ours}:
        try:
            process = psutil.Process(pid)
            command, place = process.cmdline(), f"process {pid}"
            seen.look(f"command line of {place}: {command[:3]}", " ".join(command))
            if any("spark" in word for word in command):
                seen.look(f"environment of {place}: {command[:3]}", str(process.environ()))
        except psutil.Error:  # it has gone
            continue
        # A process that was only forked shows its parent's words until it runs its own program.
        if time.time() - process.create_time() > _SETTLED_S:
            seen.processes.add(pid)
        if any("CoarseGrainedExecutorBackend" in word or "pyspark.daemon" in word for word in command):
            seen.executors.add(pid)


def _look_at_pages(seen: Sightings, port: int) -> None:
    for page in _PAGES:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=5) as answer:
                seen.look(f"Spark's page {page}", answer.read().decode())
        except OSError:  # not there yet, or no longer
            return
        seen.pages.add(page)
