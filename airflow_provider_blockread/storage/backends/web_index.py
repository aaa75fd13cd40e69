"""Web servers: what one says of a file, and what the index of a folder links to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, cast
from urllib.parse import urljoin

from fsspec.asyn import sync
from fsspec.spec import AbstractFileSystem

_GONE = {404, 410}
_HTML = {"text/html", "application/xhtml+xml"}
_EMPTY = re.compile(r"index of|directory listing", re.IGNORECASE)


def is_web(system: AbstractFileSystem) -> bool:
    """Tell whether a file system is a web server's."""
    return type(system).__name__ == "HTTPFileSystem"


def web_info(system: AbstractFileSystem, url: str) -> dict[str, object]:
    """Return what the server says of a URL: one that leads to an address with a slash behind it is a folder.

    fsspec takes every failure for an absence; only those that are come out as such.
    """
    try:
        found = cast("dict[str, object]", system.info(url))
    except FileNotFoundError as error:
        cause = error.__cause__
        if cause is None or getattr(cause, "status", None) in _GONE:
            raise
        raise cause from None
    folder = str(found["url"]).partition("?")[0].endswith("/") and is_page(found)
    return {**found, "type": "directory"} if folder else found


def is_page(info: dict[str, object]) -> bool:
    """Tell whether what a server says of a URL is that it is a page, whose links may be a folder's."""
    return info.get("mimetype") in _HTML


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """What a folder's address answers with.

    Attributes:
        kind: the type of the answer.
        names: what its links name directly in the folder, as they stand in an address, a folder's with `/` behind it.
        sound: whether this is the index of a folder, though it may be an empty one.
        more: whether it says that another page goes on with it.
    """

    kind: str
    names: frozenset[str]
    sound: bool
    more: bool = False


def read_index(system: AbstractFileSystem, url: str, *, seconds: float) -> Index:
    """Return what the links of a folder's page name in it. fsspec's own way drops names that begin with `http`."""
    answer = sync(system.loop, _get, system, url, timeout=seconds)
    kind, text, base = answer
    if kind not in _HTML:
        return Index(kind=kind, names=frozenset(), sound=False)
    links = _Links()
    links.feed(text)
    folder = base.raw_path if base.raw_path.endswith("/") else f"{base.raw_path}/"
    found = [_named(system, base, folder, link) for link in links.found]
    names = frozenset(name for name in found if name)
    sound = bool(names) or None in found or _EMPTY.search(text) is not None
    return Index(kind=kind, names=names, sound=sound, more=links.more)


async def _get(system: Any, url: str) -> tuple[str, str, Any]:  # noqa: ANN401 - fsspec tells no types
    session = await system.set_session()
    async with session.get(system.encode_url(url), **system.kwargs) as answer:
        system._raise_not_found_for_status(answer, url)  # noqa: SLF001 - as its own calls do
        return answer.content_type, await answer.text(errors="replace"), answer.url


class _Links(HTMLParser):
    """Where a page's links lead, as they are written."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.more = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the address of a link, and note one to the next page."""
        self.more |= ("rel", "next") in attrs
        if tag == "a":
            self.found.extend(value for name, value in attrs if name == "href" and value)


def _named(system: Any, base: Any, folder: str, link: str) -> str | None:  # noqa: ANN401 - fsspec tells no types
    """Return what a link names in a folder; blank for what lies elsewhere, None for the folder above."""
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
