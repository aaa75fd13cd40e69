"""What is posted about windows: failed proofs, bad records and missed deadlines, and nothing else."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import structlog
from airflow.sdk import SyncCallback
from airflow.sdk.execution_time.callback_supervisor import execute_callback
from airflow.triggers.callback import CallbackTrigger

from airflow_provider_blockread.notifications.blockread import BlockReadNotifier

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("without_spark")]

DAGS = Path(__file__).resolve().parents[3] / "dags"
_PATH = "T0/B0/very-private"  # of the webhook's address


class Chat:
    """A webhook on loopback that keeps what is posted to it."""

    def __init__(self) -> None:
        """Listen."""
        self.texts: list[str] = []
        self.answer = 200
        chat = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                assert self.path == f"/{_PATH}"
                chat.texts.append(json.loads(body)["text"])
                self.send_response(chat.answer)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server.server_port}/{_PATH}"


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> Iterator[Chat]:
    """A chat, whose connection the tasks have."""
    made = Chat()
    connection = {"conn_type": "generic", "password": made.address}
    monkeypatch.setenv("AIRFLOW_CONN_BLOCKREAD_CHAT", json.dumps(connection))
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example.com/prod")
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def dags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The example's DAGs on a folder of their own."""
    from airflow.dag_processing.dagbag import DagBag

    monkeypatch.setenv("BLOCKREAD_DEMO_DIR", str(tmp_path))
    (tmp_path / "landing" / "orders").mkdir(parents=True)
    bag = DagBag(DAGS / "blockread_notify.py")
    assert not bag.import_errors
    return dict(bag.dags)


def _land(folder: Path, name: str, *lines: str) -> None:
    (folder / "landing" / "orders" / name).write_text("".join(f"{line}\n" for line in lines))


def test_a_chat_hears_of_bad_records_and_failed_proofs(
    runs: Any, dags: dict[str, Any], chat: Chat, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not of windows that are as they should be; the post names the window and its page, and quotes no record."""
    dag = dags["blockread_notifies"]
    _land(tmp_path, "good.jsonl", '{"id": 1, "amount": 2.5}')
    runs.start(dag)
    runs.start(dag)  # with nothing to read
    assert chat.texts == []

    _land(tmp_path, "bad.jsonl", '{"id": 1, "amount": 2.5}', "very private")
    run = runs.start(dag)
    window = runs.xcom(run, "orders.commit")["window"]
    (text,) = chat.texts
    assert text.startswith(f"Window blockread_notifies/orders/{run.run_id} of feed blockread_notifies.orders: 1 of 2 ")
    page = f"https://airflow.example.com/prod/blockread/ledgers/blockread_default/windows/{window}"
    assert text.endswith(f"/{window}.\n{page}")
    assert "records are bad, and it is published without them; they are kept in file:///" in text
    assert "very private" not in text
    assert runs.asset_events(f"file://{tmp_path}/lake/checked")[-1]["page"] == page

    _land(tmp_path, "next.jsonl", '{"id": 2, "amount": 2.5}')
    dag.get_task("orders.commit")._pre_execute_hook = lambda _: [
        path.unlink() for path in tmp_path.rglob("00000-e1/data/*.parquet")
    ]
    chat.answer = 404
    failed = runs.start(dag)
    assert runs.states(failed)["orders.commit"] == "failed"
    assert "failed its proof: nothing of it is published, and what was published before stays. " in chat.texts[1]
    log = capsys.readouterr().out
    assert "nothing was posted to the webhook of connection blockread_chat: it answered 404" in log
    assert _PATH not in log


def test_a_bad_record_that_stops_a_window(runs: Any, dags: dict[str, Any], chat: Chat, tmp_path: Path) -> None:
    """Where the policy is to fail, the read fails, and the post says where the record is shown."""
    from airflow_provider_blockread.options import Policies

    dag = dags["blockread_notifies"]
    dag.get_task("orders.plan").policies = Policies()
    _land(tmp_path, "@channel <b>.jsonl", "very private")
    runs.start(dag)

    (text,) = chat.texts
    assert " has a bad record: nothing of it is published. The log of orders.read shows it.\nhttps://" in text
    assert "very private" not in text


def test_a_missed_deadline(dags: dict[str, Any], chat: Chat) -> None:
    """Airflow's triggerer calls the notifier as the DAG's alert says, with the run that is late."""
    (alert,) = dags["blockread_deadline"].deadline
    run = {"dag_id": "d", "dag_run_id": "scheduled__<x>", "state": "running"}
    trigger = CallbackTrigger(alert.callback.path, alert.callback.kwargs | {"context": {"dag_run": run}})

    async def fire() -> list[Any]:
        return [event.payload async for event in trigger.run()]

    events = asyncio.run(fire())
    assert chat.texts == ["DAG d has missed the deadline of its run scheduled__\u2039x\u203a, which is running."]
    assert [str(event["state"]) for event in events] == ["running", "success"]


def test_a_missed_deadline_that_the_executor_handles(chat: Chat) -> None:
    """A `SyncCallback` calls the notifier in a process of the executor, with the same facts."""
    callback = SyncCallback(BlockReadNotifier, kwargs={"conn_id": "blockread_chat"})
    run = {"dag_id": "d", "dag_run_id": "r", "state": "queued"}
    context = {"dag_run": run, "deadline": {"id": "1", "deadline_time": "2026-01-01"}}

    done = execute_callback(callback.path, callback.kwargs | {"context": context}, Path(), None, structlog.get_logger())
    assert done == (True, None)
    assert chat.texts == ["DAG d has missed the deadline of its run r, which is queued."]


def test_the_example_of_a_deadline_reads(runs: Any, dags: dict[str, Any], chat: Chat, tmp_path: Path) -> None:
    """As any other DAG; without its deadline, which `dag.test()` of Airflow 3.3 cannot hold."""
    _land(tmp_path, "good.jsonl", '{"id": 1, "amount": 2.5}')
    dag = dags["blockread_deadline"]
    dag.deadline = None

    assert str(runs.start(dag).state) == "success"
    assert chat.texts == []


@pytest.mark.parametrize("address", ["", "no url", "http://127.0.0.1:9/private", "https://a..b/private"])
def test_a_webhook_that_is_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], address: str
) -> None:
    """An address that is no URL, or where nobody listens, fails nothing, and is not quoted."""
    monkeypatch.setenv("AIRFLOW_CONN_CHAT", json.dumps({"conn_type": "generic", "password": address}))
    run = {"dag_id": "d", "dag_run_id": "r", "state": "running"}

    asyncio.run(BlockReadNotifier("chat").async_notify({"dag_run": run}))  # type: ignore[typeddict-item]

    log = capsys.readouterr().out
    assert "nothing was posted to the webhook of connection chat: " in log
    assert "private" not in log
