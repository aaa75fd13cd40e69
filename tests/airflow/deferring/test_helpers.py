"""What the helpers of a triggerer inherit, since functions of users run in some of them, and what they are given."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from airflow_provider_blockread.errors import BlockReadError, OptionsError, TransientError
from airflow_provider_blockread.options import IcebergSink, SparkJob
from airflow_provider_blockread.steps.model import AsJson
from airflow_provider_blockread.steps.watch import serving
from airflow_provider_blockread.triggers import helpers
from airflow_provider_blockread.triggers.remote_work import RemoteWorkTrigger
from tests.airflow.triggering import first
from tests.ledgers import open_ledger

pytestmark = pytest.mark.airflow

SECRETS = {
    "AIRFLOW__CORE__FERNET_KEY": "of-airflow",
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql://of-airflow",
    "AIRFLOW_CONN_LAKE": "aws://of-airflow",
    "CORP_REGION": "of-others",
}
WANTED = {
    "AWS_PROFILE": "lake",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": "/etc/corp/ca.pem",
    "PGSSLMODE": "prefer",
    "PYICEBERG_CATALOG__DEFAULT__URI": "sqlite://",
    "TZ": "UTC",
}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A triggerer's variables, and helpers that return theirs."""
    monkeypatch.setattr(helpers, "_PROGRAM", "tests.airflow.deferring.echoing")
    for name, value in (SECRETS | WANTED).items():
        monkeypatch.setenv(name, value)


def test_a_helper_inherits_nothing_of_airflow() -> None:
    """It gets what a driver gets, and what reaches ledgers and catalogs."""

    async def asked() -> None:
        await helpers.ask({"do": "list"}, print)

    with pytest.raises(OptionsError) as refused:
        asyncio.run(asked())
    seen = json.loads(str(refused.value))["environment"]

    assert SECRETS.keys().isdisjoint(seen)
    assert not any(name.startswith("AIRFLOW") for name in seen)
    assert seen.items() >= WANTED.items()


def asked(folder: Path, sink: IcebergSink | None = None) -> dict[str, Any]:
    """Return what a helper is given to read a group on Spark Connect."""
    open_ledger(f"sqlite:///{folder}/ledger.db").close()
    job = SparkJob(remote="sc://localhost:1", environment=("CORP_*",))
    made = RemoteWorkTrigger(
        work={"ref": {}, "group": 0}, spark=job.to_json(), sink=None if sink is None else sink.to_json()
    )
    fields = {"conn_type": "blockread", "extra": {"url": f"sqlite:///{folder}/ledger.db"}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW_CONN_BLOCKREAD_DEFAULT", json.dumps(fields))
        event = asyncio.run(first(made))
    return json.loads(event["message"])


@dataclass(frozen=True, kw_only=True)
class Looked(AsJson):
    """Whether nothing is published."""

    empty: bool


def test_a_helper_reaches_the_catalog_of_a_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a connection holds of a catalog comes with the request, and the helper's steps load the catalog with it."""
    place = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db"}
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps({"conn_type": "generic", "extra": place}))
    sink = IcebergSink("db.events", catalog_conn_id="lake", location=f"file://{tmp_path}/lake")
    request = asked(tmp_path, sink)["request"]

    assert request["access"] == {"lake": place}
    monkeypatch.setitem(serving.TASKS, "look", lambda env, _: Looked(empty=env.sink(sink).is_empty()))
    assert serving.answer(request | {"do": "look"}, print) == {"answer": {"empty": True}}


def test_work_that_waits_for_its_turn_makes_its_request_then() -> None:
    """Credentials in a request may expire while other work goes on for hours."""
    made = []

    async def request() -> dict[str, Any]:
        made.append("made")
        return {"do": "nothing"}

    async def waited() -> list[str]:
        turns = helpers._helpers().alone
        for _ in range(helpers.MOST_ALONE):
            await turns.acquire()
        work = asyncio.create_task(helpers.ask_alone(request, print))
        await asyncio.sleep(0.1)
        before = list(made)
        turns.release()
        with pytest.raises(BlockReadError):
            await work
        return before

    assert asyncio.run(waited()) == []
    assert made == ["made"]


@pytest.mark.parametrize(("task", "lane", "other"), [("stop", "stop", "list"), ("hang", "look", "wait")])
def test_a_helper_that_hangs_holds_up_its_lane_for_a_time_only(
    monkeypatch: pytest.MonkeyPatch, task: str, lane: str, other: str
) -> None:
    """It is killed, and the error is one after which the work is tried again; other lanes have times of their own."""

    async def asked() -> list[object]:
        works = [helpers.ask({"do": one}, print) for one in (task, other)]
        return await asyncio.gather(*works, return_exceptions=True)

    monkeypatch.setitem(helpers.LONGEST_S, lane, 0.5)
    hung, answered = asyncio.run(asyncio.wait_for(asked(), 60))

    assert isinstance(hung, TransientError)
    assert "did not answer in 0.5 s" in str(hung)
    assert isinstance(answered, OptionsError)
    assert [child for child in psutil.Process().children() if "echoing" in " ".join(child.cmdline())] == []


def test_listings_that_hang_do_not_hold_up_what_watchers_report() -> None:
    """Hints, and files that were found, are recorded and reported meanwhile."""

    async def reported() -> list[object]:
        hung = [asyncio.create_task(helpers.ask({"do": "hang"}, print)) for _ in range(helpers.MOST)]
        await asyncio.sleep(0)
        short = [helpers.ask({"do": task}, print) for task in ("hint", "since")]
        found = await asyncio.wait_for(asyncio.gather(*short, return_exceptions=True), 60)
        for work in hung:
            work.cancel()
        await asyncio.wait(hung)
        return found

    assert [type(one) for one in asyncio.run(reported())] == [OptionsError, OptionsError]


def test_listings_that_hang_hold_up_others_for_a_minute_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sensors on a dead mount do not stop every other sensor of the triggerer; there is still a limit to all."""
    monkeypatch.setattr(helpers, "LONG_S", 0.1)
    monkeypatch.setattr(helpers, "MOST_ALONE", helpers.MOST + 1)

    async def answered() -> tuple[list[object], set[asyncio.Task[Any]]]:
        hung = [asyncio.create_task(helpers.ask({"do": "hang"}, print)) for _ in range(helpers.MOST)]
        await asyncio.sleep(0)
        found = await asyncio.wait_for(asyncio.gather(helpers.ask({"do": "list"}, print), return_exceptions=True), 60)
        hung.append(asyncio.create_task(helpers.ask({"do": "hang"}, print)))
        await asyncio.sleep(0)
        done, waiting = await asyncio.wait([asyncio.create_task(helpers.ask({"do": "list"}, print))], timeout=1)
        for work in (*hung, *waiting):
            work.cancel()
        await asyncio.wait([*hung, *waiting])
        return found, done

    found, done = asyncio.run(answered())

    assert [type(one) for one in found] == [OptionsError]
    assert done == set()


def test_a_helper_that_cannot_start_or_dies_in_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work is tried again, as after any failure that may pass."""
    with pytest.raises(TransientError, match="ended in its work"):
        asyncio.run(helpers.ask({"do": "break off"}, print))

    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(TransientError, match=r"cannot start a helper process: .*No such file"):
        asyncio.run(helpers.ask({"do": "list"}, print))


@pytest.mark.parametrize("turns", range(8))
def test_work_is_cancelled_while_its_helper_starts(turns: int) -> None:
    """It ends, and leaves no process; asyncio's own start of a process may hang then."""

    async def request() -> dict[str, Any]:
        return {"do": "list"}

    async def cancelled() -> None:
        work = asyncio.create_task(helpers.ask_alone(request, print))
        for _ in range(turns):
            await asyncio.sleep(0)
        work.cancel()
        await asyncio.wait([work], timeout=60)
        assert work.cancelled()

    asyncio.run(cancelled())
    started = [child for child in psutil.Process().children() if "steps.watch.serving" in " ".join(child.cmdline())]
    assert started == []


def test_a_driver_on_spark_connect_inherits_what_its_job_names(tmp_path: Path) -> None:
    """The helper that reads a group gets the variables that the job's options name, and nothing of Airflow either."""
    seen = asked(tmp_path)["environment"]

    assert seen["CORP_REGION"] == "of-others"
    assert not any(name.startswith("AIRFLOW") for name in seen)
