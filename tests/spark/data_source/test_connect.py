"""The data source in a session of Spark Connect, whose server has pyspark and pyarrow, but not this package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from airflow_provider_blockread.spark import register
from tests.servers.store import Store
from tests.spark.data_source.counting import count_for_one_load
from tests.spark.engines.server import ConnectServer, connect_server

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, bare_python: str) -> Iterator[ConnectServer]:
    """Yield a server."""
    with connect_server(tmp_path_factory.mktemp("connect"), python=bare_python) as running:
        yield running


@pytest.fixture(scope="module")
def remote(server: ConnectServer) -> Iterator[SparkSession]:
    """Yield a session of the server."""
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(server.server.url).create()
    yield session
    session.stop()


def test_a_session_without_the_package(server: ConnectServer, remote: SparkSession, moto: Store) -> None:
    """Registering sends the package; csv is split, scanned and read; storage options are in no log, event or page."""
    root = moto.new_root()
    with moto.stores(root).open_write(f"{root}/in/a [1].csv") as file:
        file.write(b'id,msg\n1,"a\nb"\n2,c\n')
    register(remote, storage_options={root: moto.options})
    read = remote.read.format("blockread").options(format="csv", header=True, block_size="4", columns="*,_block")
    found = read.load(f"{root}/in")

    assert sorted(map(tuple, found.collect())) == [(1, "a\nb", 1), (2, "c", 3)]
    assert not [secret for secret in moto.secrets if secret in server.log or secret in server.events]


def test_one_listing_and_one_scan(remote: SparkSession, tmp_path: Path) -> None:
    """All queries of one `load` share them."""
    counts, listed, scanned = count_for_one_load(remote, tmp_path)

    assert counts == [9, 6, 0, 9]
    assert len(listed) == 1
    assert sorted(scanned) == ["0-12", "12-24", "24-36", "36-48"]


def test_an_error_is_one_line(remote: SparkSession, tmp_path: Path) -> None:
    """The message is the first line of what Spark says."""
    from pyspark.errors import PySparkException

    (tmp_path / "a.log").write_bytes(b"1\n\xff\n")
    register(remote)
    read = remote.read.format("blockread")
    with pytest.raises(PySparkException) as refused:
        read.option("patern", "*").load(str(tmp_path)).collect()
    assert "OptionsError: blockread has no option 'patern' for format 'lines'; did you mean 'pattern'?\n" in str(
        refused.value
    )

    with pytest.raises(PySparkException) as failed:
        remote.read.format("blockread").load(str(tmp_path)).collect()
    assert "RecordError: lines record at byte 2 of file://" in str(failed.value)
    assert "Traceback" not in str(failed.value)


def test_a_view_keeps_the_list_of_files(remote: SparkSession, tmp_path: Path) -> None:
    """Without the plans that the server keeps, each query lists the files, but not one of a view."""
    (tmp_path / "a").write_bytes(b"1\n2\n")
    register(remote)
    found = remote.read.format("blockread").load(str(tmp_path))
    found.createOrReplaceTempView("landed")
    (tmp_path / "b").write_bytes(b"3\n")
    remote.conf.set("spark.connect.session.planCache.enabled", "false")
    try:
        assert (found.count(), remote.table("landed").count()) == (3, 2)
    finally:
        remote.conf.unset("spark.connect.session.planCache.enabled")
        remote.catalog.dropTempView("landed")
