"""Web servers: a folder contains what the links of its index name in it, and each wanted file takes a request.

A redirect is followed to another address of the server's own host, or to a host that the source names, but never from
https to http. A request to an origin (scheme, host and port) other than that of the source's root has none of the
connection's headers, no cookies and no credentials.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from fsspec.asyn import sync
from fsspec.spec import AbstractFileSystem
from yarl import URL

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.backends.shared.base import FsspecStore
from airflow_provider_blockread.storage.backends.shared.identity import from_info
from airflow_provider_blockread.storage.backends.shared.pages import Entry, Page, Pages
from airflow_provider_blockread.storage.ranges import require_range

if TYPE_CHECKING:
    from aiohttp import ClientHandlerType, ClientRequest, ClientResponse

_GONE = {404, 410}
_PARTIAL = 206
_ASKED = re.compile(r"bytes=(\d+)-(\d+)")
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PLAIN = frozenset({"accept", "accept-encoding", "connection", "host", "range", "user-agent"})
_HTML = {"text/html", "application/xhtml+xml"}
_PAGES = (".html", ".htm")
_EMPTY = re.compile(r"index of|directory listing", re.IGNORECASE)
_DEEPEST = 64  # folders within folders; links that lead in circles never end


class WebStore(FsspecStore):
    """A web server; a version is its ETag, or else the time in `Last-Modified`."""

    def connect(self, uri: str, named: Mapping[str, object], options: Mapping[str, Any]) -> AbstractFileSystem:
        """Return the file system, whose client follows redirects within bounds."""
        client = options.get("client_kwargs") or {}
        own = {str(name).lower() for some in (options.get("headers"), client.get("headers")) for name in some or ()}
        bounded = _Bounded(origin=uris.origin_of(uri), hosts=self._redirect_hosts, own=tuple(sorted(own)))
        return super().connect(uri, named, {**options, "client_kwargs": {**client, "middlewares": (bounded,)}})

    def pages(self, path: str) -> Pages:
        """Return the listings below a folder."""
        return WebPages(self, path)

    def info(self, path: str) -> dict[str, object]:
        """Return what the server says about a URL, which is a folder if it leads to an address that ends in a slash.

        fsspec reports every failure as an absence; this method does not.
        """
        try:
            found = super().info(path)
        except FileNotFoundError as error:
            cause = error.__cause__
            if cause is None or getattr(cause, "status", None) in _GONE:
                raise
            raise cause from None
        folder = str(found["url"]).partition("?")[0].endswith("/") and is_page(found)
        return {**found, "type": "directory"} if folder else found

    def facts(self, path: str) -> dict[str, object]:
        """Return the size from `info`, since fsspec's own request would report any failure as an absence."""
        return {"size": self.info(path)["size"]}


def is_page(info: Mapping[str, object]) -> bool:
    """Return whether a URL is a page according to the server, so that its links may be those of a folder."""
    return info.get("mimetype") in _HTML


class WebPages(Pages):
    """The listings below a folder of a web server: each folder whole, its files by name, then its folders."""

    def __init__(self, store: WebStore, path: str) -> None:
        self._store = store
        self._url = path.rstrip("/")

    def page(self, folder: str, cursor: str | None, *, flat: bool) -> Page:  # noqa: ARG002 - it is one page, and never flat
        """Return a whole folder.

        Raises:
            SourceError: if the server returns no index of it, or a partial one, or the folder is implausibly deep.
        """
        url = f"{self._url}/{folder}"
        if folder.count("/") > _DEEPEST:
            msg = f"{self._url}: the folders of this server never end; set max_depth, or exclude what leads in circles"
            raise SourceError(msg)
        index = self._index(url)
        if not index.sound:
            msg = (
                f"{url}: the server lists no files of this folder (it answers with {index.kind}); let it give an index,"
                " or name each file as a root"
            )
            raise SourceError(msg)
        if index.more:
            msg = (
                f"{url}: the index of this folder continues in other pages, which are not followed; let the server give"
                " it in one page, or name each file as a root"
            )
            raise SourceError(msg)
        entries = (Entry(folder + name, folder=name.endswith("/")) for name in index.names)
        return Page.of(sorted(entries, key=lambda entry: (entry.folder, entry.name)))

    def root(self, uri: str, tail: str) -> tuple[FileVersion | None, bool]:
        """Return the root's version, if it is a file, and whether it is a folder, according to its slash or links.

        Raises:
            SourceError: if it is a folder that the server does not list.
        """
        info: dict[str, object] = {} if tail else self._store.info(self._url)
        if info.get("type") != "file":
            self.page("", None, flat=False)
            return None, True
        if is_page(info) and not uri.endswith(_PAGES) and self._index(self._url).sound:
            return None, True
        return from_info(uri, info), False

    def version(self, uri: str, name: str) -> FileVersion | None:
        """Return the version of a file.

        Raises:
            SourceError: if it is a folder, whose files are missing from the index.
        """
        version = self._store.version(uri, f"{self._url}/{name}")
        if version is None:
            msg = (
                f"{uri}: a folder that its index names like a file; leave it out by exclude={[name, f'{name}/']}, and"
                f" name {uri}/ as a root if its files are wanted"
            )
            raise SourceError(msg)
        return version

    def addresses(self, name: str) -> bool:
        """Return whether the client requests exactly this name; it drops what follows a `#`."""
        return "#" not in name

    def _index(self, url: str) -> _Index:
        """Return what the links of a folder's page name in it; fsspec would drop names that begin with `http`."""
        system = self._store.system
        kind, text, base = sync(system.loop, _get, system, url, timeout=self.seconds)
        if kind not in _HTML:
            return _Index(kind=kind)
        links = _Links()
        links.feed(text)
        folder = base.raw_path if base.raw_path.endswith("/") else f"{base.raw_path}/"
        found = {_named(system, base, folder, link) for link in links.found}
        names = frozenset(name for name in found if name and ("?" not in name or name.partition("?")[0] not in found))
        sound = bool(names) or None in found or _EMPTY.search(text) is not None
        return _Index(kind=kind, names=names, sound=sound, more=links.more)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Index:
    """The answer from a folder's address.

    Attributes:
        kind: the media type of the answer.
        names: what its links name directly in the folder, in the form of addresses; folders end with `/`. A link with
            a query is left out if another one has the same path and no query, since it leads to the same file.
        sound: whether this is the index of a folder, which may be empty.
        more: whether it says that another page continues it.
    """

    kind: str
    names: frozenset[str] = frozenset()
    sound: bool = False
    more: bool = False


async def _get(system: Any, url: str) -> tuple[str, str, Any]:  # noqa: ANN401 - fsspec has no types
    session = await system.set_session()
    async with session.get(system.encode_url(url), **system.kwargs) as answer:
        system._raise_not_found_for_status(answer, url)  # noqa: SLF001 - as its own calls do
        return answer.content_type, await answer.text(errors="replace"), answer.url


class _Links(HTMLParser):
    """Collects where a page's links lead, as they are written."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.more = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the address of a link, and remember whether it leads to the next page."""
        self.more |= ("rel", "next") in attrs
        if tag == "a":
            self.found.extend(value for name, value in attrs if name == "href" and value)


def _named(system: Any, base: Any, folder: str, link: str) -> str | None:  # noqa: ANN401 - fsspec has no types
    """Return what a link names in a folder: an empty string if it leads elsewhere, None for the folder above."""
    try:
        url = system.encode_url(urljoin(str(base.with_path(folder, encoded=True)), link))
    except ValueError:
        return ""
    if url.scheme not in {"http", "https"} or (url.host, url.explicit_port) != (base.host, base.explicit_port):
        return ""
    if folder != "/" and url.raw_path == folder[:-1].rpartition("/")[0] + "/":
        return None
    if not url.raw_path.startswith(folder):
        return ""
    first, slash, _ = str(url.raw_path[len(folder) :]).partition("/")
    query = f"?{url.raw_query_string}" if url.raw_query_string and first and not slash else ""
    return first + slash + query


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bounded:
    """A middleware of the client, called for each request; its `repr` is part of fsspec's key for the file system.

    Attributes:
        origin: the address of the server, without a path.
        hosts: further hosts to which it may redirect.
        own: names of the connection's own headers, in lower case.
    """

    origin: str
    hosts: tuple[str, ...]
    own: tuple[str, ...]

    async def __call__(self, request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
        """Send one request, the first or one after a redirect, and check its answer's target and range."""
        origin = URL(self.origin).origin()
        if request.url.origin() != origin:
            self._check(origin, request.url)
            for name in {name.lower() for name in request.headers} - (_PLAIN - set(self.own)):
                request.headers.popall(name)
        if "Range" in request.headers:
            request.headers["Accept-Encoding"] = "identity"  # an answer that is compressed on its way has no ranges
        answer = await handler(request)
        location = answer.headers.get("Location") if answer.status in _REDIRECTS else None
        asked = _ASKED.fullmatch(request.headers.get("Range", "")) if answer.status == _PARTIAL else None
        try:
            if location is not None:
                self._check(answer.url, answer.url.join(URL(location)))
            if asked is not None:
                first, last = map(int, asked.groups())
                require_range(_shown(answer.url), answer.headers.get("Content-Range"), first, last + 1)
        except (SourceError, ValueError):
            answer.close()
            raise
        return answer

    def _check(self, at: URL, target: URL) -> None:
        """Refuse a step from one address to another.

        Raises:
            SourceError: when it leads to another host, or from https to http.
        """
        if target.scheme not in {"http", "https"}:
            return  # the client itself raises an error
        shown, host = _shown(at), target.host or ""
        if at.scheme == "https" and target.scheme == "http":
            msg = f"{shown}: the server redirects from https to http ({host}), which is never followed; correct the URL"
            raise SourceError(msg)
        named = {URL.build(scheme="http", host=h.strip("[]")).host for h in self.hosts}  # of an IPv6 address
        if host != URL(self.origin).host and host not in named:
            msg = (
                f"{shown}: the server redirects to another host, {host}, which is not followed; if the files of this"
                f" source may come from there, set FileSource(redirect_hosts=[{host!r}]) (--redirect-host {host}), then"
                " clear the run from its plan on"
            )
            raise SourceError(msg)


def _shown(url: URL) -> str:
    """Return a URL for messages, without what may be secret."""
    return str(url.with_query(None).with_user(None))
