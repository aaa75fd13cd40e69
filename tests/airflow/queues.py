"""A stand-in for Amazon SQS and S3, with its connection."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.request import Request, urlopen

import pytest
from moto.server import ThreadedMotoServer


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Arguments of clients of a server of our own; Airflow knows it as connection `store`."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    url = f"http://127.0.0.1:{server.get_host_and_port()[1]}"
    urlopen(Request(f"{url}/moto-api/reset", method="POST"), timeout=20).close()  # it shares what it holds
    extra = {"endpoint_url": url, "region_name": "eu-central-1"}
    fields = {"conn_type": "aws", "login": "me", "password": "s3cret", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_STORE", json.dumps(fields))
    yield {
        "endpoint_url": url,
        "region_name": "eu-central-1",
        "aws_access_key_id": "me",
        "aws_secret_access_key": "s3cret",
    }
    server.stop()
