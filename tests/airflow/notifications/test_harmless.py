"""Names of files in a post: neither links nor mentions, nor markup."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.notifications.blockread import BlockReadNotifier
from airflow_provider_blockread.operators.base import FAILED

pytestmark = pytest.mark.airflow


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("[click me](http://evil.example/x).csv", "［click me］(http:∕∕evil.example/x).csv"),  # noqa: RUF001
        ("<https://evil.example|a.csv>.csv", "‹https:∕∕evil.example¦a.csv›.csv"),  # noqa: RUF001
        ("WWW.evil.example.csv", "WWW․evil.example.csv"),  # noqa: RUF001
        ("@here <!channel> #ops ~~a~~ `b` *c*", "＠here ‹!channel› ＃ops ∼∼a∼∼ 'b' ∗c∗"),  # noqa: RUF001
        ("\x1b[31m\u202e", "\\x1b［31m\\u202e"),  # noqa: RUF001
    ],
)
def test_a_failed_proof_quotes_a_name_as_text(name: str, shown: str) -> None:
    """The error of a proof names files; only the page of the window is a link."""
    task = SimpleNamespace(window={"key": "k", "feed": "f", "window": "ab12"}, ledger_conn_id=None)
    context: Any = {FAILED: ProofError(f"file:///in/{name} has lost a record"), "task": task}
    first, _, page = BlockReadNotifier("chat").text(context).partition("\n")

    assert first.endswith(f" stays. file:∕∕/in/{shown} has lost a record")  # noqa: RUF001
    assert page == "" or page.startswith(("/", "http"))
