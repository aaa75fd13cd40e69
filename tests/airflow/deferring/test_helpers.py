"""What the helpers of a triggerer inherit: functions and formats of users run in some of them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import SparkJob
from airflow_provider_blockread.triggers import helpers
from airflow_provider_blockread.triggers.remote_work import RemoteWorkTrigger
from tests.airflow.triggering import first

pytestmark = pytest.mark.airflow

SECRETS = {
    "AIRFLOW__CORE__FERNET_KEY": "of-airflow",
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql://of-airflow",
    "AIRFLOW_CONN_LAKE": "aws://of-airflow",
    "CORP_REGION": "of-others",
}
WANTED = {"AWS_PROFILE": "lake", "PGSSLMODE": "prefer", "PYICEBERG_CATALOG__DEFAULT__URI": "sqlite://", "TZ": "UTC"}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A triggerer's variables, and helpers that tell theirs."""
    monkeypatch.setattr(helpers, "_PROGRAM", "tests.airflow.deferring.telling")
    for name, value in (SECRETS | WANTED).items():
        monkeypatch.setenv(name, value)


def test_a_helper_inherits_nothing_of_airflow() -> None:
    """It gets what a driver gets, and what reaches ledgers and catalogs."""

    async def asked() -> None:
        await helpers.ask({"do": "list"}, print)

    with pytest.raises(OptionsError) as told:
        asyncio.run(asked())
    seen = json.loads(str(told.value))

    assert SECRETS.keys().isdisjoint(seen)
    assert not any(name.startswith("AIRFLOW") for name in seen)
    assert seen.items() >= WANTED.items()


def test_a_driver_on_spark_connect_inherits_what_its_job_names(tmp_path: Path) -> None:
    """The helper that reads a group gets the variables that the job's options name, and nothing of Airflow either."""
    job = SparkJob(remote="sc://localhost:1", environment=("CORP_*",))
    made = RemoteWorkTrigger(work={"ref": {}, "group": 0}, spark=job.to_json(), run="run")
    url = f"sqlite:///{tmp_path}/ledger.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW_CONN_BLOCKREAD_DEFAULT", json.dumps({"conn_type": "blockread", "extra": {"url": url}}))
        event = asyncio.run(first(made))
    seen = json.loads(event["message"])

    assert seen["CORP_REGION"] == "of-others"
    assert not any(name.startswith("AIRFLOW") for name in seen)
