"""A task whose applications run on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.deferred.cluster import Cluster
from tests.pipeline.deferred.task import Task
from tests.pipeline.make import Pipe


@pytest.fixture
def task(tmp_path: Path) -> Iterator[Task]:
    """A task with two files to read."""
    cluster = Cluster()
    pipe = Pipe(folder=tmp_path, submitter=cluster)
    pipe.put({"a.txt": b"a1\na2\n", "b.txt": b"b1\n"})
    yield Task(pipe=pipe, cluster=cluster, ref=pipe.plan())
    pipe.close()
