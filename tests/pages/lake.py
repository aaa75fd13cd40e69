"""A feed that was read for real, in this process: with bad records, a rebuild, a failure, and names that bite."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from starlette.testclient import TestClient

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.options import Csv, Policies
from airflow_provider_blockread.pages.app import make_app
from airflow_provider_blockread.steps import WindowRef, plan
from tests.pages.visitors import Person, site_of
from tests.pipeline.make import Pipe, ReadHere

#: Markup, control characters, a text that turns around, and an entity.
HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m\n\u202e&lt;.csv"
FEED = "clicks <b>hourly</b>\x07"
RUN = "clicks/scheduled__1"
BAD = b'7,"a ""b"" <i>",bad'


@dataclass
class Lake:
    """The feed, and a browser of a person who may do everything."""

    pipe: Pipe
    client: TestClient

    def window(self, key: str) -> str:
        """Return the address of a window."""
        ref = next(one for one in self.refs if one.key == key)
        return f"/ledgers/main/windows/{ref.window}"

    def file(self, name: str) -> str:
        """Return the address of a file."""
        [found] = [row for row in self.rows if row.version.path.endswith(name)]
        return f"/ledgers/main/files/{found.file}"

    def as_seen_by(self, person: Person) -> TestClient:
        """Return the browser of somebody else."""
        return TestClient(make_app(site_of(self.pipe.env, person)))

    def __post_init__(self) -> None:
        """Remember nothing yet."""
        self.refs: list[WindowRef] = []

    @property
    def rows(self) -> list:
        """The files that the ledger knows."""
        from airflow_provider_blockread.ledger.windows.queries import list_files

        return list(list_files(self.pipe.env.ledger, FEED))

    def plan(self, key: str, clear_number: int = 0) -> WindowRef:
        """Plan a window as a run of Airflow does."""
        self.pipe.owner = f"{RUN}/clicks.plan/-1"
        asked = dataclasses.replace(self.pipe.request(key, clear_number), run=RUN)
        ref = WindowRef.from_json(plan(self.pipe.env, asked).to_json())
        self.refs.append(ref)
        return ref

    def publish(self, key: str) -> None:
        """Plan, read and publish a window."""
        ref = self.plan(key)
        self.pipe.owner = f"{RUN}/clicks.read/0"
        self.pipe.pass_seconds(10)
        self.pipe.read(ref)
        self.pipe.pass_seconds(10)
        self.pipe.commit(ref)


@contextmanager
def filled_lake(folder: Path) -> Iterator[Lake]:
    """Give a feed with a published window of two files, one of them bad, and a failed one."""
    pipe = Pipe(
        folder,
        ReadHere(),
        feed=FEED,
        block_size=40,
        group_bytes=200,
        record_format=Csv(schema="id long, name string, n long", header=True),
        policies=Policies(on_bad_record="quarantine"),
    )
    with TestClient(make_app(site_of(pipe.env, Person()))) as client:
        lake = Lake(pipe, client)
        good = b"".join(b"%d,x,%d\n" % (n, n) for n in range(50))
        pipe.put({"good.csv": b"id,name,n\n" + good, HOSTILE: b"id,name,n\n1,x,2\n" + BAD + b"\n" + good})
        lake.publish("first")
        pipe.with_policies(on_bad_record="fail")
        pipe.put({"broken.csv": b"id,name,n\n1,x,2\n" + BAD + b"\n"})
        pipe.pass_seconds(3600)
        ref = lake.plan("second <script>")
        try:
            pipe.read(ref)
        except RecordError:
            pipe.pass_seconds(10)
        yield lake
    pipe.close()
