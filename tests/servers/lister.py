"""A server that speaks S3's ListObjectsV2 over made-up keys, counts what it is asked, and fails on request."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, urlsplit

Answer = tuple[int, bytes]
Respond = Callable[["Lister", dict[str, str], bytes], Answer | None]

_CONTENT = (
    "<Contents><Key>{key}</Key><LastModified>2026-01-02T03:04:05.678Z</LastModified>"
    "<ETag>&quot;{tag:032x}&quot;</ETag><Size>1</Size><StorageClass>STANDARD</StorageClass></Contents>"
)


def well(_lister: Lister, _query: dict[str, str], body: bytes) -> Answer:
    """Answer as it should."""
    return 200, body


def error(status: int, code: str) -> Answer:
    """Return an answer that is an error."""
    return status, f"<Error><Code>{code}</Code><Message>on request</Message></Error>".encode()


class Lister(ThreadingHTTPServer):
    """The server; `respond` makes an answer out of the right one, None to hang up in the middle of it."""

    daemon_threads = True

    def __init__(self, keys: Sequence[str], respond: Respond = well) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.keys, self.respond = keys, respond
        self.queries: list[dict[str, str]] = []
        self.heads = 0
        self.sizes: dict[str, int] = {}  # of objects that can be read: bytes of zero
        self.lock = threading.Lock()
        self._made: dict[tuple[tuple[str, str], ...], bytes] = {}

    @property
    def options(self) -> dict[str, object]:
        """Return fsspec's options to come here; botocore leaves trying again to others."""
        return {
            "key": "KEY",
            "secret": "SECRET-OF-TESTS",
            "endpoint_url": f"http://127.0.0.1:{self.server_port}",
            "client_kwargs": {"region_name": "us-east-1"},
            "config_kwargs": {"retries": {"max_attempts": 0}},
        }

    def page(self, query: dict[str, str]) -> bytes:
        """Return the right answer to a question; what was made once is kept."""
        asked = tuple(sorted(query.items()))
        if asked not in self._made:
            self._made[asked] = self._page(query)
        return self._made[asked]

    def _page(self, query: dict[str, str]) -> bytes:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        most, at = int(query.get("max-keys", "1000")), int(query.get("continuation-token", "-1"))
        at = bisect_left(self.keys, prefix) if at < 0 else at
        parts: list[str] = []
        while len(parts) < most and at < len(self.keys) and self.keys[at].startswith(prefix):
            name, slash, _ = self.keys[at][len(prefix) :].partition(delimiter or "\n")
            if slash:
                folder = prefix + name + slash
                parts.append(f"<CommonPrefixes><Prefix>{quote(folder)}</Prefix></CommonPrefixes>")
                at = bisect_right(self.keys, folder + "\U0010ffff")
            else:
                parts.append(_CONTENT.format(key=quote(self.keys[at]), tag=at))
                at += 1
        more = at < len(self.keys) and self.keys[at].startswith(prefix)
        token = f"<NextContinuationToken>{at}</NextContinuationToken>" if more else ""
        head = f"<EncodingType>url</EncodingType><IsTruncated>{str(more).lower()}</IsTruncated>{token}"
        space = "http://s3.amazonaws.com/doc/2006-03-01/"
        return f'<ListBucketResult xmlns="{space}">{head}{"".join(parts)}</ListBucketResult>'.encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Lister

    def do_GET(self) -> None:
        query = {key: values[0] for key, values in parse_qs(urlsplit(self.path).query).items()}
        if self._key() in self.server.sizes:
            self._read()
            return
        with self.server.lock:
            self.server.queries.append(query)
        right = self.server.page(query)
        found = self.server.respond(self.server, query, right)
        status, body = found or (200, right)
        self.send_response(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if found is None:
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
        else:
            self.wfile.write(body)

    def do_HEAD(self) -> None:
        with self.server.lock:
            self.server.heads += 1
        size = self.server.sizes.get(self._key(), 0)
        self.send_response(404 if self._key() and not size else 200)
        self.send_header("Content-Length", str(size))
        self.send_header("ETag", '"0"')
        self.end_headers()

    def _key(self) -> str:
        return urlsplit(self.path).path.strip("/").partition("/")[2]

    def _read(self) -> None:
        first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        last = min(last, self.server.sizes[self._key()] - 1)
        found = self.server.respond(self.server, {}, bytes(last + 1 - first))
        status, body = found or (500, b"")
        self.send_response(206 if status == 200 else status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def lister(keys: Sequence[str], respond: Respond = well) -> Iterator[Lister]:
    """Serve these keys, in order, until the end of the block."""
    server = Lister(sorted(keys), respond)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
