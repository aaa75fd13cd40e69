"""Redirects of web servers: followed within bounds, and without anything that a connection's options send along.

A server is followed to another address of its own host, or to a host that the source names, and never from https to
http. What goes to another origin (scheme, host and port) than that of the source's root has none of the connection's
headers, no cookies and no credentials. The data nodes of WebHDFS, to which its name node redirects by protocol, may
have any address; they get no credentials of the name node's either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow_provider_blockread.errors import SourceError

if TYPE_CHECKING:
    from aiohttp import ClientHandlerType, ClientRequest, ClientResponse
    from yarl import URL

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PLAIN = frozenset({"accept", "accept-encoding", "connection", "host", "range", "user-agent"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """A middleware of the client, which it asks before each request; fsspec knows its file systems by the text of this.

    Attributes:
        origin: the address of the server, without a path.
        hosts: further hosts that it may redirect to.
        own: names of the connection's own headers, in lower case.
    """

    origin: str
    hosts: tuple[str, ...]
    own: tuple[str, ...]

    async def __call__(self, request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
        """Send one request, the first or one that a redirect asks for, and look where the answer leads."""
        from yarl import URL  # noqa: PLC0415 - no store but this one needs it

        origin = URL(self.origin).origin()
        if request.url.origin() != origin:
            self._check(origin, request.url)
            for name in {name.lower() for name in request.headers} - (_PLAIN - set(self.own)):
                request.headers.popall(name)
        answer = await handler(request)
        location = answer.headers.get("Location") if answer.status in _REDIRECTS else None
        if location is not None:
            try:
                self._check(answer.url, answer.url.join(URL(location)))
            except (SourceError, ValueError):
                answer.close()
                raise
        return answer

    def _check(self, at: URL, target: URL) -> None:
        """Refuse a step from one address to another.

        Raises:
            SourceError: when it leads to another host, or from https to http.
        """
        from yarl import URL  # noqa: PLC0415 - as above

        if target.scheme not in {"http", "https"}:
            return  # the client makes an error of it
        shown, host = at.with_query(None).with_user(None), target.host or ""
        if at.scheme == "https" and target.scheme == "http":
            msg = f"{shown}: the server redirects from https to http ({host}), which is never followed; correct the URL"
            raise SourceError(msg)
        named = {URL.build(scheme="http", host=h.strip("[]")).host for h in self.hosts}  # an IPv6 address may have both
        if host != URL(self.origin).host and host not in named:
            msg = (
                f"{shown}: the server redirects to another host, {host}, which is not followed; if the files of this"
                f" source may come from there, set FileSource(redirect_hosts=[{host!r}]) (--redirect-host {host}), then"
                " clear the run from its plan on"
            )
            raise SourceError(msg)


def bounded(options: Mapping[str, Any], origin: str, hosts: Iterable[str]) -> dict[str, Any]:
    """Return the options of a web server's file system, with a client that follows redirects within bounds."""
    client = options.get("client_kwargs") or {}
    own = {str(name).lower() for some in (options.get("headers"), client.get("headers")) for name in some or ()}
    middleware = Bounded(origin=origin, hosts=tuple(hosts), own=tuple(sorted(own)))
    return {**options, "client_kwargs": {**client, "middlewares": (middleware,)}}


class OwnOrigin:
    """Credentials of a session of `requests`, given to the server that they are meant for and to no other."""

    def __init__(self, auth: Any, url: str) -> None:  # noqa: ANN401 - any of the kinds that `requests` knows
        self._auth, self._origin = auth, _origin(url)

    def __call__(self, request: Any) -> Any:  # noqa: ANN401 - of `requests`, which is no dependency
        """Return the request, with the credentials where it goes to their server."""
        return self._auth(request) if _origin(request.url) == self._origin else request


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def keep_credentials(system: Any) -> None:  # noqa: ANN401 - of an extra
    """Let a file system of WebHDFS give its credentials to the name node alone."""
    if system.session.auth is not None and not isinstance(system.session.auth, OwnOrigin):
        system.session.auth = OwnOrigin(system.session.auth, system.url)
