"""Connections of tests, and the messages that refuse them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_provider_blockread.errors import BlockReadError

KEYS = {"login": "a", "password": "b"}


def connect(monkeypatch: pytest.MonkeyPatch, conn_id: str, conn_type: str, **fields: object) -> None:
    """Define an Airflow connection."""
    monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps({"conn_type": conn_type} | fields))


def refused(call: Any, *arguments: Any) -> str:
    """Return the message of the error that the call raises."""
    with pytest.raises(BlockReadError) as caught:
        call(*arguments)
    return str(caught.value)
