"""Pipelines for the tests of this folder, and a standalone cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.cluster import Cluster, spark_submitter, standalone
from tests.pipeline.make import Pipe


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers."""
    with standalone(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def two(here: Pipe) -> Pipe:
    """Two files in two groups."""
    here.put({"a.txt": b"a1\na2\n", "b.txt": b"b1\nb2\n"})
    here.group_bytes = 6
    return here


@pytest.fixture
def on_cluster(tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pipe]:
    """A pipeline whose jobs go to the cluster by Airflow's Spark hook."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    made = Pipe(folder=tmp_path, submitter=spark_submitter(cluster.job(tmp_path)))
    yield made
    made.close()
