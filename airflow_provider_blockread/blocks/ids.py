"""Identities derived from content: the same on every machine and in every try."""

from __future__ import annotations

import hashlib
import json
import re
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from typing import Any

from airflow_provider_blockread.blocks.model import FileVersion

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


def digest(*parts: str | int | None) -> str:
    """Return 32 hex digits that identify the sequence of parts; ("a", "b") and ("ab",) differ."""
    # A JSON list, joined here: json.dumps takes ten times as long, and planning computes millions of digests.
    joined = ",".join([_as_json(part) for part in parts])
    return hashlib.sha256(f"[{joined}]".encode("ascii")).hexdigest()[:32]


def _as_json(part: str | int | None) -> str:
    if isinstance(part, str):
        return encode_basestring_ascii(part)
    return "null" if part is None else str(part)


def path_digest(path: str) -> str:
    """Return the identity of a canonical path: 8 digits of its folder's SHA-256, slash included, then 24 of its own.

    Files of one folder have adjacent digests, so that a listing touches an index of millions page by page.
    """
    return _of_folder(path[: path.rfind("/") + 1]) + _sha256(path)[:24]


@lru_cache(maxsize=64)
def _of_folder(folder: str) -> str:
    return _sha256(folder)[:8]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def version_digest(version: FileVersion) -> str:
    """Return the identity of a file's content: from its size and etag, or its size and mtime without an etag."""
    if version.etag is None:  # the same as `digest` returns
        text = f'["mtime",{version.size},{version.mtime_ns}]'
        return hashlib.sha256(text.encode("ascii")).hexdigest()[:32]
    return digest(*_content(version))


def same_version(left: FileVersion, right: FileVersion) -> bool:
    """Return whether two observations of one path have the same content."""
    return left.path == right.path and _content(left) == _content(right)


def _content(version: FileVersion) -> tuple[str, int, str | int]:
    if version.etag is not None:
        return "etag", version.size, version.etag
    return "mtime", version.size, version.mtime_ns


def window_id(feed: str, key: str) -> str:
    """Return the id of the window that a feed plans under a key."""
    return digest("window", feed, key)[:16]


def options_digest(options: dict[str, Any]) -> str:
    """Return the identity of JSON options; the order of keys does not matter."""
    return digest("options", json.dumps(options, sort_keys=True))


def slug(name: str) -> str:
    """Return a name that is safe as one path segment, distinct for distinct names."""
    safe = _UNSAFE.sub("-", name).strip("-.")[:60]
    return safe if safe and safe == name else f"{safe}-{digest('slug', name)[:8]}".lstrip("-")
