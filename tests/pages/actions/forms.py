"""Forms of actions, as browsers send them."""

from __future__ import annotations

import re

from starlette.testclient import TestClient

from airflow_provider_blockread.pages.app import make_app
from tests.pages.visitors import Person, site_of
from tests.pipeline.make import Pipe

OWN = {"origin": "http://testserver"}


def client_of(pipe: Pipe, name: str = "ann") -> TestClient:
    """Return the browser of a person who may do everything."""
    return TestClient(make_app(site_of(pipe.env, Person(name=name))))


def fields_of(text: str) -> dict[str, str]:
    """Return the hidden fields of the page's form."""
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', text))


def path_of(window: str, action: str) -> str:
    """Return the address of an action."""
    return f"/ledgers/main/windows/{window}/actions/{action}"
