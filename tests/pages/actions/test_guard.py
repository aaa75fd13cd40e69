"""Nothing is changed for a request that another page sent, or that confirms something else than was shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from starlette.requests import Request

from airflow_provider_blockread.pages.actions.guard import Tokens, origin_of, require_own_origin

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOST = "airflow.example.org:8080"


def _request(scheme: str = "http", **headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in ({"host": HOST} | headers).items()]
    return Request({"type": "http", "scheme": scheme, "method": "POST", "path": "/", "headers": raw})


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": f"http://{HOST}"},
        {"origin": f"http://{HOST}", "sec_fetch_site": "same-origin"},
        {"origin": f"https://{HOST}", "sec_fetch_site": "same-origin"},  # a proxy speaks TLS with the browser
        {"origin": "https://data.example.org"},  # the address that is configured
    ],
)
def test_our_own_pages_may(headers: dict[str, str]) -> None:
    """A browser says that the page is of the same origin, or the address is that of this server."""
    require_own_origin(_request(**headers), {origin_of("https://data.example.org/airflow")})


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "null"},
        {"origin": "http://airflow.example.org:9999"},
        {"origin": f"https://{HOST}"},
        {"origin": "https://evil.example"},
        {"origin": f"http://{HOST}", "sec_fetch_site": "same-site"},
        {"origin": f"http://{HOST}", "sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "none"},
    ],
)
def test_other_pages_may_not(headers: dict[str, str]) -> None:
    """Another port of the host is another origin, although its forms carry the cookie; so is no origin at all."""
    with pytest.raises(HTTPException) as refused:
        require_own_origin(_request(**headers), {"https://data.example.org"})

    assert refused.value.status_code == 403


@given(st.lists(st.text()), st.lists(st.text()), st.text())
def test_a_token_fits_only_what_it_was_made_for(facts: list[str], others: list[str], forged: str) -> None:
    """It fits these facts, and no others, no other secret and no text that somebody makes up."""
    tokens = Tokens(b"secret", NOW)
    token = tokens.make(facts)

    assert tokens.fits(token, facts)
    assert tokens.fits(token, others) == (facts == others)
    assert not Tokens(b"other", NOW).fits(token, facts)
    assert not tokens.fits(forged, facts)
    assert not tokens.fits(f"9{token}", facts)


def test_a_token_ends() -> None:
    """After half an hour the page must be opened again."""
    token = Tokens(b"secret", NOW).make(["a"])

    assert Tokens(b"secret", NOW + timedelta(minutes=29)).fits(token, ["a"])
    assert not Tokens(b"secret", NOW + timedelta(minutes=31)).fits(token, ["a"])
