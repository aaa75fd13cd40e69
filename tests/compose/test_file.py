"""docker-compose.yml: pinned, without defaults for secrets, closed to the outside, and explained."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from fsspec.implementations.memory import MemoryFileSystem

from tests.architecture.tree import ROOT
from tools.compose import SECRETS, _land, write_secrets

_TEXT = (ROOT / "docker-compose.yml").read_text("utf-8")
_FILE: dict[str, Any] = yaml.safe_load(_TEXT)
_SERVICES: dict[str, Any] = _FILE["services"]


def test_every_secret_is_asked_for_and_made(tmp_path: Path) -> None:
    """None has a default; `make secrets` makes each, once, for this user alone."""
    asked = re.findall(r"\$\{([^}]+)\}", _TEXT)
    path = tmp_path / ".env"
    first, text, second = write_secrets(path), path.read_text(), write_secrets(path)
    made = dict(line.split("=", 1) for line in text.splitlines())

    assert {name.split(":?")[0] for name in asked} == set(made) == {*SECRETS, "AIRFLOW_FERNET_KEY"}
    assert all(name.endswith(":?run make secrets") for name in asked)
    assert len(set(made.values())) == len(made)
    assert min(map(len, made.values())) >= 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (first, second, path.read_text()) == (True, False, text)


def test_the_target_says_what_it_did(tmp_path: Path) -> None:
    """And where."""
    command = [sys.executable, ROOT / "tools" / "compose.py", "secrets", tmp_path / ".env"]
    said = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)]

    assert said == [f"{tmp_path}/.env: written\n", f"{tmp_path}/.env: is there, and stays as it is\n"]


def test_an_interrupted_start_is_finished_by_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are missing in a bucket or on the disk are made; those that are there stay as they are."""
    monkeypatch.syspath_prepend(str(ROOT / "dags"))
    monkeypatch.delitem(sys.modules, "demo_data", raising=False)
    import demo_data

    store, landing = MemoryFileSystem(), tmp_path / "landing"
    for name, value in {"LOG_BYTES": 10, "EVENTS": 5}.items():
        monkeypatch.setattr(demo_data, name, value)
    monkeypatch.setattr("s3fs.S3FileSystem", lambda **_: store)
    fields = {"login": "", "password": "", "extra": {"endpoint_url": ""}}
    monkeypatch.setenv("AIRFLOW_CONN_S3", json.dumps(fields))
    with monkeypatch.context() as patch:
        patch.setattr(demo_data, "report_file", interrupted)
        with pytest.raises(KeyboardInterrupt):
            _land(landing)
    store.pipe_file("/landing/logs/web-000.log", b"mine")
    _land(landing)

    assert len(list(landing.glob("reports/*/*.txt"))) == 3000
    assert len(store.find("/landing")) == 4
    assert store.cat_file("/landing/logs/web-000.log") == b"mine"
    store.rm("/landing", recursive=True)


def interrupted(_: int) -> bytes:
    """Be stopped by Ctrl-C."""
    raise KeyboardInterrupt


def test_images_are_pinned_and_services_healthy() -> None:
    """Each image has a full version, and each service that stays has a check."""
    images = {service["image"] for service in _SERVICES.values()} | set(re.findall(r"FROM (\S+)", _TEXT))

    assert all(re.search(r":\D*\d+(\.\d+)+|:RELEASE\.\d{4}", image) for image in images), images
    assert [n for n, service in _SERVICES.items() if "healthcheck" not in service and service["restart"] != "no"] == []


def test_only_loopback_is_published() -> None:
    """Two ports."""
    ports = [port for service in _SERVICES.values() for port in service.get("ports", [])]

    assert sorted(ports) == ["127.0.0.1:8080:8080", "127.0.0.1:8081:8081"]


def test_spark_reaches_no_database() -> None:
    """Its services share no network with PostgreSQL, and no variable of Airflow's."""
    for name, service in _SERVICES.items():
        if name.startswith("spark"):
            assert not set(service["networks"]) & set(_SERVICES["postgres"]["networks"])
            assert not any(variable.startswith("AIRFLOW") for variable in service["environment"])


def test_every_service_is_explained() -> None:
    """The page has a row for each."""
    page = (ROOT / "docs" / "clusters" / "compose.md").read_text("utf-8")
    rows = {
        name
        for line in page.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`([\w-]+)`", line.split("|")[1])
    }

    assert rows == set(_SERVICES)
