"""Storage events instead of listings: what is verified, what is ignored, and that a queue loses none."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from botocore.session import Session

from airflow_provider_blockread.errors import OptionsError, TransientError
from airflow_provider_blockread.hooks.queues import Message, open_queue
from airflow_provider_blockread.ledger.windows.queries import list_files
from airflow_provider_blockread.observer import LogObserver
from airflow_provider_blockread.options import FileSource, StorageEvents
from airflow_provider_blockread.steps import Environment
from airflow_provider_blockread.steps.watch.new_files import NewFilesQuery
from airflow_provider_blockread.steps.watch.watching import record_hints
from airflow_provider_blockread.storage.stores import Stores
from airflow_provider_blockread.triggers import watching
from airflow_provider_blockread.triggers.new_files_events import NewFilesEventTrigger
from tests.airflow.queues import aws as aws  # noqa: PLC0414 - a fixture
from tests.ledgers import open_ledger

pytestmark = pytest.mark.airflow


def created(key: str, bucket: str = "landing") -> str:
    """Return the message of an object that landed."""
    found = {"bucket": {"name": bucket}, "object": {"key": key}}
    return json.dumps({"Records": [{"eventName": "ObjectCreated:Put", "s3": found}]})


@pytest.fixture
def bucket(aws: dict[str, Any]) -> Any:
    """A client of S3 with a bucket."""
    client = Session().create_client("s3", **aws)
    client.create_bucket(Bucket="landing", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    return client


@pytest.fixture
def queue(aws: dict[str, Any]) -> tuple[Any, str]:
    """A client of SQS, and the URL of a queue."""
    client = Session().create_client("sqs", **aws)
    return client, client.create_queue(QueueName="events")["QueueUrl"]


def test_hints_are_verified(tmp_path: Path, bucket: Any, aws: dict[str, Any]) -> None:
    """Only what the store shows, within the source and its rules, is recorded; the rest is counted by why."""
    for key in ("in/a.csv", "in/b=1 ü.csv", "in/x.txt", "out/c.csv"):
        bucket.put_object(Bucket="landing", Key=key, Body=b"1\n")
    access = {"key": "me", "secret": "s3cret", "endpoint_url": aws["endpoint_url"]}
    ledger = open_ledger(f"sqlite:///{tmp_path}/ledger.db")
    logged: list[str] = []
    env = Environment(ledger=ledger, stores=Stores({"s3://landing/in": access}), observer=LogObserver(logged.append))
    source = FileSource("s3://landing/in", pattern="**/*.csv")
    forged = ["in/x.txt", "out/c.csv", "in/../out/c.csv", "in/gone.csv", "in/.hidden.csv"]
    bodies = [
        created("in/a.csv"),
        created("in/b%3D1+%C3%BC.csv"),
        *map(created, forged),
        created("in/a.csv", "other"),
        "{}",
    ]

    found = record_hints(env, NewFilesQuery(feed="feed", source=source), bodies)

    paths = [row.version.path for row in list_files(ledger, "feed", limit=10)]
    assert sorted(paths) == ["s3://landing/in/a.csv", "s3://landing/in/b=1 ü.csv"]
    assert found.new == 2
    assert found.ignored == {"outside of the source": 5, "of files that are gone": 1, "not of a new file": 1}
    assert "of 9 storage events ignored: " in logged[-1]
    assert "5 outside of the source" in logged[-1]
    again = record_hints(env, NewFilesQuery(feed="feed", source=source), bodies)
    assert (again.new, again.newest) == (0, found.newest)

    young = record_hints(
        env, NewFilesQuery(feed="other", source=FileSource("s3://landing/in", min_age=3600)), bodies[:2]
    )
    assert (young.new, young.later) == (0, (0, 1))
    bucket.put_object(Bucket="landing", Key="in/a.csv.done", Body=b"")
    marked = FileSource("s3://landing/in", done_marker="{name}.done")
    assert record_hints(env, NewFilesQuery(feed="marked", source=marked), bodies[:2]).ignored == {"unmarked": 1}
    small = FileSource("s3://landing/in", min_size=100)
    assert record_hints(env, NewFilesQuery(feed="small", source=small), bodies[:2]).ignored == {"too_small": 2}
    ledger.close()


def test_the_event_of_a_marker_tells_of_its_files(tmp_path: Path, bucket: Any, aws: dict[str, Any]) -> None:
    """Files that wait for a marker are reported when it lands, by name or by folder, whatever the order of messages."""
    access = {"key": "me", "secret": "s3cret", "endpoint_url": aws["endpoint_url"]}
    ledger = open_ledger(f"sqlite:///{tmp_path}/ledger.db")
    env = Environment(ledger=ledger, stores=Stores({"s3://landing": access}), observer=LogObserver(print))

    def named(feed: str, *keys: str, root: str = "in", **options: Any) -> list[str]:
        source = FileSource(f"s3://landing/{root}", **options)
        found = record_hints(env, NewFilesQuery(feed=feed, source=source), [created(key) for key in keys])
        late.append(found.later)
        paths = [row.version.path for row in list_files(ledger, feed, limit=50)]
        assert found.new <= len(paths)
        return sorted(path.removeprefix("s3://landing/") for path in paths)

    late: list[tuple[int, ...]] = []
    for key in ("a.csv", "a.x.csv", "a+(1).csv", "b.csv", "x.txt", "sub/c.csv", "sub/_SUCCESS", "_tmp/d.csv"):
        bucket.put_object(Bucket="landing", Key=f"in/{key}", Body=b"1\n")
    for name in ("a.csv.done", "a.ok", "a+(1).ok", "sub/_SUCCESS", "_tmp/_SUCCESS"):
        bucket.put_object(Bucket="landing", Key=f"in/{name}", Body=b"")

    assert named("name", "in/a.csv", "in/b.csv", done_marker="{name}.done") == ["in/a.csv"]
    assert named("marker", "in/a.csv.done", "in/b.csv.done", done_marker="{name}.done") == ["in/a.csv"]
    assert named("file", "in/a.csv.done", root="in/a.csv", done_marker="{name}.done") == ["in/a.csv"]
    assert named("else", "in/a.csv.done", root="in/sub", done_marker="{name}.done") == []
    stems = ["in/a+(1).csv", "in/a.csv"]
    assert named("stem", "in/a.ok", "in/a%2B(1).ok", done_marker="{stem}.ok") == stems
    assert named("wanted", "in/a.ok", done_marker="{stem}.ok", pattern="a.c*", exclude="b*") == ["in/a.csv"]
    assert named("folder", "in/sub/_SUCCESS", "in/_tmp/_SUCCESS", done_marker="_SUCCESS") == ["in/sub/c.csv"]
    assert named("pattern", "in/sub/_SUCCESS", done_marker="_SUCCESS", exclude="sub/**") == []
    assert set(late) == {()}
    assert named("young", "in/b.csv.done", "in/a.csv.done", done_marker="{name}.done", min_age=3600) == []
    assert named("younger", "in/b.csv", "in/a.ok", done_marker="{stem}.ok", min_age=3600) == []
    assert late[-2:] == [(1,), (1,)]
    ledger.close()


def test_a_queue_stands_in_for_listings(dag_id: str, bucket: Any, queue: tuple[Any, str]) -> None:
    """Files that messages name are reported at once, and the messages deleted; a listing reports what only it found."""
    client, url = queue
    events = StorageEvents(url, conn_id="store", reconcile=4.0)
    source = FileSource("s3://landing/in", conn_id="store")
    bucket.put_object(Bucket="landing", Key="in/a.csv", Body=b"1\n")

    def land(key: str, *, announced: bool) -> None:
        bucket.put_object(Bucket="landing", Key=key, Body=b"1\n")
        if announced:
            client.send_message(QueueUrl=url, MessageBody=created(key))

    async def watch() -> list[dict[str, Any]]:
        trigger = NewFilesEventTrigger(source=source, feed=dag_id, listing=events)
        made = NewFilesEventTrigger(**json.loads(json.dumps(trigger.serialize()[1])))
        assert made.shared_stream_key() == trigger.shared_stream_key()
        payloads = []
        async with aclosing(made.run()) as fired:
            payloads.append((await anext(fired)).payload)
            await asyncio.to_thread(land, "in/b.csv", announced=True)
            payloads.append((await anext(fired)).payload)
            await asyncio.to_thread(land, "in/c.csv", announced=False)
            payloads.append((await anext(fired)).payload)
        return payloads

    payloads = asyncio.run(watch())
    assert [payload["paths"] for payload in payloads] == [[f"s3://landing/in/{name}.csv"] for name in "abc"]
    assert [payload["only_listed"] for payload in payloads] == [0, 0, 1]
    assert set(payloads[0]) == {"feed", "files", "bytes", "oldest", "paths", "only_listed"}
    counts = client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert (counts["ApproximateNumberOfMessages"], counts["ApproximateNumberOfMessagesNotVisible"]) == ("0", "0")


def test_a_queue_that_fails(queue: tuple[Any, str]) -> None:
    """A queue that is not there may come; a class that is not there, or a password in a URL, will not."""
    found = asyncio.run(open_queue(StorageEvents(f"{queue[1]}-else", conn_id="store").to_json()))
    with pytest.raises(TransientError, match="check that it exists"):
        found.receive()
    with pytest.raises(OptionsError, match="there is no 'nowhere"):
        asyncio.run(open_queue(StorageEvents(queue[1], queue_class="nowhere.Queue").to_json()))
    with pytest.raises(OptionsError, match="without a password"):
        StorageEvents("https://me:secret@sqs/queue")


class FolderQueue:
    """A queue of one's own: messages are files of a folder."""

    def __init__(self, url: str, connection: Any) -> None:
        assert connection is None
        self.folder = Path(url)

    def receive(self) -> list[Message]:
        """Return all messages."""
        return [Message(body=path.read_text(), receipt=str(path)) for path in self.folder.iterdir()]

    def done(self, messages: list[Message]) -> None:
        """Remove files."""
        for message in messages:
            os.unlink(message.receipt)  # noqa: PTH108 - it is a text


def test_a_queue_of_ones_own(tmp_path: Path) -> None:
    """Any class that takes a URL and a connection will do."""
    (tmp_path / "1").write_text("{}")
    option = StorageEvents(str(tmp_path), queue_class=f"{FolderQueue.__module__}.FolderQueue")
    found = asyncio.run(open_queue(option.to_json()))
    found.done(found.receive())

    assert found.receive() == []


class LockedQueue(FolderQueue):
    """A queue that opens to one user only."""

    def __init__(self, url: str, connection: Any) -> None:
        super().__init__(url, None)
        self.opens = connection.login == "new"

    def receive(self) -> list[Message]:
        """Return all messages."""
        if not self.opens:
            msg = "access denied"
            raise TransientError(msg)
        return super().receive()


def test_a_queue_is_opened_again_with_the_connection_of_now(
    dag_id: str, bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Credentials that were replaced need no restart of the triggerer."""
    monkeypatch.setattr(watching, "_FIRST_PAUSE_S", 0.01)
    connection = {"conn_type": "generic", "login": "old"}
    monkeypatch.setenv("AIRFLOW_CONN_LOCKED", json.dumps(connection))
    kind = f"{LockedQueue.__module__}.LockedQueue"
    events = StorageEvents(str(tmp_path), conn_id="locked", queue_class=kind, reconcile=3600.0)
    bucket.put_object(Bucket="landing", Key="in/a.csv", Body=b"1\n")

    async def watch() -> list[str]:
        source = FileSource("s3://landing/in", conn_id="store")
        trigger = NewFilesEventTrigger(source=source, feed=dag_id, listing=events)
        async with asyncio.timeout(60), aclosing(trigger.run()) as fired:
            paths = (await anext(fired)).payload["paths"]
            bucket.put_object(Bucket="landing", Key="in/b.csv", Body=b"1\n")
            (tmp_path / "1").write_text(created("in/b.csv"))
            waiting = asyncio.ensure_future(anext(fired))
            await asyncio.sleep(1.0)
            monkeypatch.setenv("AIRFLOW_CONN_LOCKED", json.dumps(connection | {"login": "new"}))
            return [*paths, *(await waiting).payload["paths"]]

    assert asyncio.run(watch()) == ["s3://landing/in/a.csv", "s3://landing/in/b.csv"]
