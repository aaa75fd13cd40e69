"""Processes forked from one that has everything imported: each costs hundredths of a second."""

from __future__ import annotations

from multiprocessing import get_context

FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["tests.crash.warm"])
