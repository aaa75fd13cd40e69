"""Each page over a ledger on PostgreSQL with 100,000 windows and a million files."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import closing

import httpx2
import psutil
from sqlalchemy import text
from starlette.requests import Request
from starlette.testclient import TestClient

from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.observer import Observer
from airflow_provider_blockread.pages.app import make_app
from airflow_provider_blockread.pages.serving import Everything
from airflow_provider_blockread.pages.site import Site
from airflow_provider_blockread.steps.model import Environment
from airflow_provider_blockread.storage.stores import Stores
from benchmarks.harness.lab import Lab
from benchmarks.harness.measure import Row
from benchmarks.pages.filling import BIG, WAITING, WINDOWS, fill
from tests.postgres import postgres_server

_LIMIT_S = 0.3
_FAILED = """
SELECT w.id, w.run FROM windows w JOIN generations g ON g.window_id = w.id
WHERE g.state = 'reading' ORDER BY w.id LIMIT 1
"""


def run(lab: Lab) -> Iterator[Row]:
    """Yield a row for each page; `--files` is a tenth of the files."""
    files = lab.files * 10
    each = max((files - BIG - WAITING) // WINDOWS, 1)
    with postgres_server(waits_for_disk=True) as url, closing(Ledger(url)) as ledger:
        ledger.upgrade()
        fill(ledger, each, lab.scratch)
        env = Environment(ledger=ledger, stores=Stores(), observer=Observer())
        client = TestClient(make_app(Site(ledgers={"main": lambda: env}, visitor=_anyone)))
        size = f"{WINDOWS:,} windows, {files:,} files"
        server = _server(ledger)
        for name, path in _pages(ledger):
            _seconds(client, path)  # fills caches
            used = _cpu_seconds(server)
            took = [_seconds(client, path) for _ in range(lab.rounds)]
            cpu, best, median = (_cpu_seconds(server) - used) / lab.rounds, min(took), statistics.median(took)
            yield Row(
                work=f"{name}; {size}",
                rival="",
                ours=f"{best * 1000:.0f} ms, median {median * 1000:.0f} ms (cpu {cpu * 1000:.0f} ms)",
                target=f"< {_LIMIT_S * 1000:.0f} ms",
                met=best < _LIMIT_S,
            )


async def _anyone(request: Request) -> Everything:  # noqa: ARG001 - as a site asks
    return Everything()


def _seconds(client: TestClient, path: str) -> float:
    began = time.perf_counter()
    answer: httpx2.Response = client.get(path)
    seconds = time.perf_counter() - began
    answer.raise_for_status()
    return seconds


def _server(ledger: Ledger) -> psutil.Process:
    """Return the process of the database server."""
    with ledger.reading() as connection:
        backend = psutil.Process(connection.execute(text("SELECT pg_backend_pid()")).scalar_one())
    return psutil.Process(backend.ppid())


def _cpu_seconds(server: psutil.Process) -> float:
    """Return the processor time of this process and of the server so far."""
    times = [one.cpu_times() for one in (server, *server.children())]
    return time.process_time() + sum(sum(one[:4]) for one in times)  # and those of ended children


def _pages(ledger: Ledger) -> Iterator[tuple[str, str]]:
    with ledger.reading() as connection:
        big = connection.execute(text("SELECT id FROM windows ORDER BY files DESC LIMIT 1")).scalar_one()
        usual = connection.execute(text("SELECT id FROM windows ORDER BY id DESC LIMIT 1 OFFSET 77")).scalar_one()
        file = connection.execute(text("SELECT max(id) / 2 FROM files")).scalar_one()
        path = connection.execute(text("SELECT path FROM files WHERE id = :id"), {"id": int(file)}).scalar_one()
        landed = connection.execute(text("SELECT id FROM files WHERE path LIKE '%/landed.log'")).scalar_one()
        failed = connection.execute(text(_FAILED)).one()
    feed = "/ledgers/main/feeds/1"
    yield "Feeds", "/"
    yield "Feed", feed
    yield "Feed, far back", f"{feed}?before=1000"
    yield "Feed, failed windows", f"{feed}?state=failed"
    yield "Feed, windows with bad records", f"{feed}?bad=1"
    yield "Feed, rebuilt windows", f"{feed}?rebuilt=1"
    yield "Feed, windows by a part of the key", f"{feed}?text=T13"
    yield "Feed, files that wait", f"{feed}?show=waiting"
    yield "Feed, late files", f"{feed}?show=late"
    yield "Feed, files left out", f"{feed}?show=left"
    yield "Feed, exclusions", f"{feed}?show=excluded"
    yield "Window", f"/ledgers/main/windows/{usual}"
    yield f"Window of {BIG:,} files", f"/ledgers/main/windows/{big}"
    yield f"Window of {BIG:,} files, bad ones", f"/ledgers/main/windows/{big}?bad=1"
    yield "Window, live", f"/ledgers/main/windows/{usual}/live"
    yield "File", f"/ledgers/main/files/{int(file)}"
    yield f"File of a window of {BIG:,} files", f"/ledgers/main/files/{landed}"
    yield "File, bytes in its middle", f"/ledgers/main/files/{landed}/records?at=2000000&length=40"
    yield "Health", "/ledgers/main/health"
    yield "Health, with leftovers in the work area", "/ledgers/main/health?leftovers=1"
    yield "Search, a whole path", f"/search?q={path}"
    yield "Search, a part of many paths", "/search?q=events"
    yield "Search, a part of no path", "/search?q=nowhere-to-be-found"
    yield "Search, a file's name", f"/search?q={path.rpartition('/')[2]}"
    yield from _tabs(*failed.run.split("/"))
    for name, given, window in (
        ("rebuild", "", big),
        ("reprocess", "?path=*part-1*&status=done", big),
        ("verify", "", big),
        ("undo", "?files=pending", big),
        ("exclude", f"?path={path}&reason=broken", failed.id),
        ("abandon", "", failed.id),
    ):
        yield f"Action {name}, what it would do", f"/ledgers/main/windows/{window}/actions/{name}{given}"


def _tabs(dag: str, run: str) -> Iterator[tuple[str, str]]:
    of_run = f"dag_id={dag}&run_id={run}"
    yield "Tab of a DAG with 20 feeds", f"/tabs/dag?dag_id={dag}"
    yield "Tab of a run", f"/tabs/run?{of_run}"
    yield "Tab of a run, live", f"/tabs/run/live?{of_run}"
    yield "Tab of a task", f"/tabs/task?{of_run}&task_id=read.read&map_index=0"
    yield "Tab of a task, live", f"/tabs/task/live?{of_run}&task_id=read.read&map_index=0"
