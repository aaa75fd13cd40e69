"""What a Spark Connect server gets to see of jobs: sessions that end, operations with names, and the package once."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_blockread import __version__
from airflow_provider_blockread.errors import SparkJobError
from airflow_provider_blockread.observer import Observer
from airflow_provider_blockread.options import DataFrameFunction, SparkJob
from airflow_provider_blockread.spark.engines import connect
from airflow_provider_blockread.spark.engines.session import session_id
from airflow_provider_blockread.spark.remote import ConnectSubmitter, end_session
from tests.pipeline.make import Pipe
from tests.spark.engines.engine_tasks import divides, doubled, one_block
from tests.spark.engines.modules import MODULES
from tests.spark.engines.server import ConnectServer

pytestmark = pytest.mark.spark

SENT = {f"airflow_provider_blockread-{__version__}.zip": 1, **{Path(module).name: 1 for module in MODULES}}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The files that clients have sent, by name, as often as they were."""
    from pyspark.sql.connect.client import SparkConnectClient

    found: Counter[str] = Counter()
    send = SparkConnectClient.add_artifacts

    def counted(client: Any, *paths: str, **kinds: bool) -> None:
        found.update(Path(path).name for path in paths)
        send(client, *paths, **kinds)

    monkeypatch.setattr(SparkConnectClient, "add_artifacts", counted)
    return found


def plan(pipe: Pipe) -> Any:
    """Plan a window of two groups, each with a DataFrame function, which runs several operations."""
    pipe.put({"a.txt": b"one\n", "b.txt": b"two\n"})
    pipe.group_bytes, pipe.function = 1, DataFrameFunction("user_frames:identity", scope="group")
    return pipe.plan()


def test_a_session_of_a_group(pipe: Pipe, server: ConnectServer, sent: Counter[str]) -> None:
    """All its operations bear the window, the group and the epoch, and the server has closed it at the end."""
    ref = plan(pipe)
    job = SparkJob(remote=server.remote, py_files=MODULES)
    pipe.submitter = ConnectSubmitter(server.server, job, credentials={}, observer=Observer())
    pipe.read(ref, groups=[0])

    name = f"blockread-{ref.window}-g1-0-e1"
    session = session_id(name, pipe.env.window_secret(ref.window))
    deadline = time.monotonic() + 120
    while not server.happened("SessionClosed", session) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(server.happened("SessionStarted", session)) == len(server.happened("SessionClosed", session)) == 1
    operations = server.happened("OperationStarted", session)
    assert len(operations) > 3
    assert [operation["sparkSessionTags"] for operation in operations] == [[name]] * len(operations)
    assert sent == SENT


def test_a_session_of_several_groups(pipe: Pipe, server: ConnectServer, sent: Counter[str]) -> None:
    """Each group's operations bear its own name, and the package is sent to the session once."""
    ref = plan(pipe)
    pipe.read(ref)

    names = [f"blockread-{ref.window}-g1-{group}-e1" for group in range(2)]
    session = session_id(names[0], pipe.env.window_secret(ref.window))
    tags = Counter(tag for event in server.happened("OperationStarted", session) for tag in event["sparkSessionTags"])
    assert sorted(tags) == names
    assert sent == SENT


def test_a_session_that_ended_between_two_groups(pipe: Pipe, server: ConnectServer) -> None:
    """As one that was idle for longer than the server keeps it: the next group gets another one."""
    ref = plan(pipe)
    pipe.read(ref, groups=[0])
    end_session(server.server, f"blockread-{ref.window}-g1-0-e1", secret=pipe.env.window_secret(ref.window))
    pipe.read(ref, groups=[1])
    pipe.commit(ref)

    assert pipe.values() == ["one", "two"]


@pytest.mark.parametrize("own", ["7", None])
def test_the_partitions_of_the_user(connect_engine: connect.ConnectEngine, own: str | None) -> None:
    """As many as the session's configuration says, after a run and after one that failed."""
    conf = connect_engine.connected.conf
    if own is not None:
        conf.set(connect._PARTITIONS, own)
    connect_engine.run(doubled, range(3), title="doubling", report=lambda _: None, measure=one_block)
    assert conf.get(connect._PARTITIONS, None) == own
    with pytest.raises(SparkJobError):
        connect_engine.run(divides, [1, 0], title="dividing", report=lambda _: None, measure=one_block)
    assert conf.get(connect._PARTITIONS, None) == own
    conf.unset(connect._PARTITIONS)
