"""The cost of a group in addition to its work: on a warm Spark Connect server, and by spark-submit."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from multiprocessing import get_context
from pathlib import Path

from airflow_provider_blockread.options import Lines, SparkJob
from airflow_provider_blockread.spark.engines.session import Server
from airflow_provider_blockread.spark.remote import RemoteSpark
from airflow_provider_blockread.steps import Caller, Submitter, read
from benchmarks.harness.lab import Lab, Windows
from benchmarks.harness.measure import Row, Times, limit_row
from tests.spark.engines.server import connect_server

_FIRST, _LATER = 2.5, 0.5  # seconds
_GROUPS = 4


def run(lab: Lab) -> Iterator[Row]:
    """Yield a row for the first group of a client, and one for its later groups; each group has three records."""
    folder = lab.folder("connect")
    source = folder / "in"
    source.mkdir()
    (source / "a.log").write_text("one\ntwo\nthree\n")
    first, later, submitted = Times(), Times(), Times()
    (folder / "server").mkdir()
    with connect_server(folder / "server") as server:
        _in_new_process(folder, source, server.server.url)  # the server's JVM warms up
        for _ in range(lab.rounds):
            found = _in_new_process(folder, source, server.server.url)
            first.seconds.append(found[0])
            later.seconds += found[1:]
            submitted.seconds += _in_new_process(folder, source, "")
    shutil.rmtree(folder)
    rival = f"spark-submit: {submitted.best:.2f} s"
    yield limit_row("Spark Connect: a client's first group, beside its work", first, _FIRST, rival=rival)
    yield limit_row("Spark Connect: a client's later groups, beside their work", later, _LATER, rival=rival)


def _in_new_process(folder: Path, source: Path, url: str) -> list[float]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_read_groups, folder, source, url).result()


def _read_groups(folder: Path, source: Path, url: str) -> list[float]:
    """Return the seconds of reads, each of a window of one group; the first one imports what it needs of Spark."""
    seconds = []
    with _submitter(url) as submitter:
        for _ in range(_GROUPS if url else 1):
            windows = Windows(folder / "ours", source, Lines())
            windows.prepare()
            ref = windows.plan()
            started = time.perf_counter()
            read(windows.env, ref, 0, caller=Caller(owner="benchmark"), job=SparkJob(), submitter=submitter)
            seconds.append(time.perf_counter() - started)
            windows.env.ledger.close()
    return seconds


def _submitter(url: str) -> AbstractContextManager[Submitter]:
    """Return what runs groups: on the server, or by spark-submit where there is no URL."""
    if not url:
        from airflow_provider_blockread.hooks.spark import SparkSubmitter  # noqa: PLC0415 - takes Airflow's time

        return nullcontext(SparkSubmitter(SparkJob(master="local[2]", conf={"spark.ui.enabled": "false"})))
    return RemoteSpark(Server(url), SparkJob())
