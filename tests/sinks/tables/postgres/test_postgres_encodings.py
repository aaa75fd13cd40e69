"""A PostgreSQL table in a database of another encoding than UTF-8, or whose clients prefer another one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.sinks.registry import make_sink
from tests.postgres import own_postgres
from tests.sinks.kinds import Bench


def test_text_is_the_same_for_all_clients(tmp_path: Path, sql: psycopg.Connection[Any]) -> None:
    """Whatever encoding the database has and its roles prefer; what it has no character for is refused."""
    name = f"enc_{tmp_path.name.replace('-', '_')}"
    sql.execute(f"CREATE DATABASE {name} TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C' ENCODING 'LATIN1'")
    url = own_postgres().replace("/postgres?", f"/{name}?")
    bench = Bench("postgres", str(tmp_path / "out"))
    bench.sink = make_sink(bench.stores, replace(bench.option, url=f"{url}&client_encoding=LATIN1"))

    bench.apply(bench.steps(bench.stage("caf\xe9")))
    with psycopg.connect(url, client_encoding="utf-8") as other:
        assert other.execute(f"SELECT DISTINCT value FROM {bench.option.uri}").fetchall() == [("caf\xe9",)]  # noqa: S608
    steps = bench.steps(bench.stage("\u732b", window="cd34"))
    with pytest.raises(ProofError, match='has no equivalent in encoding "LATIN1"'):
        bench.apply(steps)
