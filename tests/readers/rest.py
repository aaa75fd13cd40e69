"""Publish, replace and undo windows of an Iceberg table in a REST catalog: python -m tests.readers.rest SERVER.

The server is the command `lakana-server`, which `tools/readers.sh` installs. It makes no table in a staged transaction,
and takes only files whose columns have Iceberg's field ids, so the table is there before the first window.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import Request, urlopen

import polars as pl
import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table

from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.options import IcebergSink
from airflow_provider_blockread.sinks.protocol import Change, State
from airflow_provider_blockread.testing import Bench, SinkCase

_NAME = "bronze.events"
_TRIES = 300  # at the server, which takes some seconds to start
_SCHEMA = pa.schema([("value", pa.string())])


def main(server: str) -> int:
    """Start the server, and run the behaviour in a process that has its token; return that one's exit code."""
    with TemporaryDirectory() as folder, _served(server, Path(folder)) as (uri, token):
        known = {**os.environ, "PYICEBERG_CATALOG__LAKE__TOKEN": token, "POLARS_ICEBERG_PLANNER": "pyiceberg"}
        return subprocess.run(
            [sys.executable, "-m", "tests.readers.rest", uri, folder], env=known, check=False
        ).returncode


@contextmanager
def _served(server: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Give the address of a catalog on this machine with an empty store, and a token for it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    key, secret = secrets.token_hex(8), secrets.token_hex(32)
    settings = {
        "LAKANA_DATABASE__URL": f"sqlite:///{folder}/catalog.db",
        "LAKANA_BOOTSTRAP_PAT_KEY_ID": key,
        "LAKANA_BOOTSTRAP_PAT_SECRET": secret,
        "LAKANA_PORT": str(port),
        "LAKANA_LOG__LEVEL": "WARNING",
    }
    uri, token = f"http://127.0.0.1:{port}", f"lakana_pat_{key}_{secret}"
    subprocess.run([server, "migrate"], env=os.environ | settings, check=True)
    process = subprocess.Popen([server], env=os.environ | settings)
    try:
        _wait(uri)
        store = {"name": "lake", "storage": {"scheme": "file", "root": f"file://{folder}/lake"}}
        (folder / "lake").mkdir()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        urlopen(Request(f"{uri}/api/v1/environments", json.dumps(store).encode(), headers)).close()
        yield uri, token
    finally:
        process.terminate()
        process.wait()


def _wait(uri: str) -> None:
    for _ in range(_TRIES):
        try:
            urlopen(f"{uri}/v1/config").close()
        except URLError:
            time.sleep(0.1)
        else:
            return
    msg = f"the catalog at {uri} has not started"
    raise TimeoutError(msg)


class _Rest(Bench):
    """A table that the catalog has."""

    def __init__(self, uri: str, folder: str) -> None:
        self._properties = {"type": "rest", "uri": uri, "prefix": "lake"}
        load_catalog("lake", **self._properties).create_table(_NAME, schema=_SCHEMA)
        super().__init__(SinkCase(option=self._option, read=lambda _: [], table=self._read), folder)

    def _option(self, place: str) -> IcebergSink:
        return IcebergSink(_NAME, catalog="lake", catalog_properties=self._properties, work_uri=f"{place}/work")

    def table(self) -> Table:
        """Return the table, as another program loads it."""
        return load_catalog("lake", **self._properties).load_table(_NAME)

    def _read(self, _: str) -> tuple[list[dict[str, object]], list[str]]:
        table = self.table()
        names = [task.file.file_path.rpartition("/")[2] for task in table.scan().plan_files()]
        return pl.scan_iceberg(table).collect().to_dicts() if names else [], names


def behave(uri: str, folder: str) -> int:
    """Publish, look for the marker after a crash, replace, and undo; return 0 when every reader saw whole windows."""
    bench = _Rest(uri, folder)
    old = bench.publish("a", "b")
    _require(bench.values(), ["a", "a", "b", "b"])
    steps = bench.steps(old)
    _require(bench.states(steps), [State.APPLIED])  # a publisher died behind its commit: the next one finds it
    bench.apply(steps)
    bench.publish("c", window="cd34")
    bench.table().append(pa.table({"value": ["foreign"]}, schema=_SCHEMA))
    _require(bench.values(), ["a", "a", "b", "b", "c", "c", "foreign"])
    new = bench.stage("d", generation=2)
    steps = bench.steps(new, old)
    bench.apply(steps)
    bench.apply(steps)
    _require(bench.values(), ["c", "c", "d", "d", "foreign"])
    bench.undo(new)
    _require(bench.values(), ["c", "c", "foreign"])
    bench.marker = bench.marker_of("ab12", 2, Change.PUBLISH)
    try:
        bench.apply(steps)  # a zombie, after the undo
    except ProofError:
        _require(bench.values(), ["c", "c", "foreign"])
    else:
        _require("published again", "refused")
    print("an Iceberg table in a REST catalog: published, found after a crash, replaced and undone")
    return 0


def _require(found: object, wanted: object) -> None:
    if found != wanted:
        msg = f"there is {found}, not {wanted}"
        raise ValueError(msg)


if __name__ == "__main__":
    sys.exit(behave(*sys.argv[1:]) if sys.argv[1].startswith("http") else main(*sys.argv[1:]))
