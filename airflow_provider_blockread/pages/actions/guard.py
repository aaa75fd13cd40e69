"""Ensures that only a person who has seen on our own page what an action will do can confirm it.

Airflow's cookie is also sent by forms on other ports of its host, and Airflow has no token against that. Therefore a
request that changes something must come from our own origin, and carry a token that our page made for this person and
for exactly what it showed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Collection, Sequence
from datetime import datetime
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request

from airflow_provider_blockread.pages.display.words import whole

_LASTS_S = 1800


def require_own_origin(request: Request, origins: Collection[str] = ()) -> None:
    """Refuse a request that was sent by another origin's page, or not by a page.

    Args:
        request: a request that changes something.
        origins: other addresses of this server, such as that of a proxy: scheme, host and port.

    Raises:
        HTTPException: 403 when the browser names another origin, or nothing says where the request comes from.
    """
    fetched = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin", "")
    known = {f"{request.url.scheme}://{request.headers.get('host', '')}", *origins}
    if fetched != "same-origin" if fetched is not None else origin not in known:
        raise HTTPException(403, "This was not sent by a page of this server. Open the page here, and repeat it.")


def origin_of(url: str) -> str:
    """Return the scheme, host and port of an address."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


class Tokens:
    """Makes tokens, and checks them.

    Args:
        secret: a secret that all processes of the server share.
        now: the current time.
    """

    def __init__(self, secret: bytes, now: datetime) -> None:
        self._secret, self._now = secret, int(now.timestamp())

    def make(self, facts: Sequence[str]) -> str:
        """Return a token for a person, an action and what it will do; it is valid for half an hour."""
        until = self._now + _LASTS_S
        return f"{until}.{self._seal(until, facts)}"

    def fits(self, token: str, facts: Sequence[str]) -> bool:
        """Return whether a token was made for exactly these facts, and is still valid."""
        time, _, seal = token.partition(".")
        until = whole(time)
        if until is None or not seal.isascii() or until < self._now:
            return False
        return hmac.compare_digest(seal, self._seal(until, facts))

    def _seal(self, until: int, facts: Sequence[str]) -> str:
        text = json.dumps([until, *facts]).encode()
        return hmac.new(self._secret, text, hashlib.sha256).hexdigest()
