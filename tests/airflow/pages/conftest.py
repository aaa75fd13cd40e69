"""Airflow's own web server in this process, with the plugin, over a ledger of three feeds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.store import Ledger
from tests.airflow.pages.asking import FEEDS
from tests.ledger.make import freeze_window, pending, plan, version


@pytest.fixture(scope="session")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """A ledger with those feeds: a window a DAG, or one that no DAG has planned."""
    made = Ledger(f"sqlite:///{tmp_path_factory.mktemp('pages') / 'ledger.db'}")
    made.upgrade()
    for feed, dags in FEEDS.items():
        for number, dag in enumerate(dags or ("",)):
            record_files(made, feed, [version(f"{feed}-{number}")], complete=False)
            planned = plan(
                f"{feed} {number}", files=1, feed=feed, owner=f"{dag}/manual__1/load.plan/-1" if dag else "cli/me"
            )
            freeze_window(made, replace(planned, run=f"{dag}/manual__1" if dag else None), pending(made, feed))
    yield made
    made.close()


@pytest.fixture(scope="module")
def auth_manager() -> str:
    """The auth manager of Airflow's API server."""
    return "tests.airflow.pages.managers.PerDagManager"


@pytest.fixture(scope="module")  # what it says to the process is not true for other tests
def airflow_app(database: None, ledger: Ledger, auth_manager: str) -> Iterator[Any]:  # noqa: ARG001 - migrated before
    """Airflow's API server, whose ledger is this one."""
    from airflow.api_fastapi.app import create_app, purge_cached_app

    settings = {
        "AIRFLOW_CONN_BLOCKREAD_DEFAULT": json.dumps(
            {"conn_type": "blockread", "extra": {"url": f"sqlite:///{ledger._file}"}}
        ),
        "AIRFLOW__CORE__AUTH_MANAGER": auth_manager,
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "ann:admin",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(Path(str(ledger._file)).with_name("passwords.json")),
        "_AIRFLOW_PROCESS_CONTEXT": "server",
    }
    with pytest.MonkeyPatch.context() as patched:
        for name, value in settings.items():
            patched.setenv(name, value)
        purge_cached_app()
        yield create_app(apps="core")
        purge_cached_app()


@pytest.fixture(scope="module")
def browser(airflow_app: Any) -> Callable[..., TestClient]:
    """What gives a browser in which a user is signed in, by name and role; or nobody."""
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    def of(name: str = "", role: str = "") -> TestClient:
        client = TestClient(airflow_app, follow_redirects=False)
        if name:
            token = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username=name, role=role))
            client.cookies.set("_token", token)
        return client

    return of
