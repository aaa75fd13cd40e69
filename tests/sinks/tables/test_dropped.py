"""A table that somebody drops, or replaces by another one, before a window is committed."""

from __future__ import annotations

import shutil
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyiceberg.catalog import Catalog, load_catalog

from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.options import IcebergSink
from tests.postgres import own_postgres
from tests.sinks.kinds import Bench


@pytest.fixture(params=["delta", "iceberg", "postgres"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """A table of each format, with a window in it."""
    made = Bench(request.param, str(tmp_path / "out"))
    made.publish("old", window="w0")
    return made


def _catalog(bench: Bench) -> Catalog:
    assert isinstance(bench.option, IcebergSink)
    return load_catalog(bench.option.catalog, **bench.option.catalog_properties)


def drop(bench: Bench) -> None:
    """Drop the table, and what is in its folder."""
    if bench.kind == "delta":
        shutil.rmtree(bench.place)
    elif bench.kind == "iceberg":
        with _catalog(bench) as catalog:
            catalog.drop_table(bench.option.uri)
        shutil.rmtree(bench.place)
    else:
        with psycopg.connect(own_postgres()) as connection:
            connection.execute(f"DROP TABLE {bench.option.uri}")


def make_another(bench: Bench) -> None:
    """Make a table of the same name with a column of another type."""
    rows = pa.table({"value": pa.array([1])})
    if bench.kind == "delta":
        write_deltalake(bench.place, rows)
    elif bench.kind == "iceberg":
        with _catalog(bench) as catalog:
            catalog.create_table(bench.option.uri, schema=rows.schema)
    else:
        with psycopg.connect(own_postgres()) as connection:
            connection.execute(f"CREATE TABLE {bench.option.uri} (value bigint, _window text)")
            connection.execute(f"CREATE INDEX ON {bench.option.uri} (_window)")


def test_a_dropped_table(bench: Bench) -> None:
    """It is made again for the window, or where its folder went, too, the window is refused until it is read again."""
    steps = bench.steps(bench.stage("new"))
    drop(bench)
    if bench.kind != "postgres":
        with pytest.raises(ProofError, match="does not hold it; clear the run from its plan on"):
            bench.apply(steps)
        steps = bench.steps(bench.stage("new", generation=2))
    bench.apply(steps)

    assert bench.values() == ["new", "new"]


def test_a_dropped_table_that_nothing_is_published_into(bench: Bench) -> None:
    """A rebuild that leaves no rows finds nothing to replace, and makes no table; the next window does."""
    old = bench.publish("mine")
    drop(bench)
    bench.marker = bench.marker_of(generation=2)
    for _ in range(2):
        bench.apply(bench.steps([], old))
    assert bench.sink.is_empty()

    bench.publish("next", window="cd34")
    assert bench.values() == ["next", "next"]


def test_another_table_in_its_place(bench: Bench) -> None:
    """One that does not take the rows is refused, and holds what its owner put there; a fitting one takes them."""
    drop(bench)
    make_another(bench)
    steps = bench.steps(bench.stage("new"))
    with pytest.raises(ProofError, match=r"has column 'value' as .*, not .*string"):
        bench.apply(steps)

    drop(bench)
    bench.apply(bench.steps(bench.stage("new", generation=2)))
    assert bench.values() == ["new", "new"]
