"""Reading files of the work area: each bound to its content by a hash, or small."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from airflow_provider_blockread.errors import ExchangeError, FileMissingError
from airflow_provider_blockread.storage.stores import Stores

MANIFEST = "manifest"
SPECIFICATION = "job specification"
#: The default limit for small files, in bytes.
SMALL = 2**20


def content_hash(data: bytes) -> str:
    """Return the SHA-256 of a file's bytes, as hex."""
    return hashlib.sha256(data).hexdigest()


def remedy(what: str) -> str:
    """Return what to do if a file of this kind has changed: a plan is frozen, everything else can be read again."""
    if what == MANIFEST:
        return (
            "restore the file; or, to write it again with the same splitting as before, clear the run from its plan on,"
            " or repeat it on the command line with --window and the window's key"
        )
    if what == SPECIFICATION:
        return "clear the task, which writes it again, and find out who else writes to the work area"
    return "clear the group's task so that it is read again"


def read_checked(stores: Stores, uri: str, expected_hash: str, what: str) -> bytes:
    """Return a file's bytes after comparing their hash.

    Raises:
        ExchangeError: when the file is missing or has changed; `what` names it.
    """
    data = read_required(stores, uri, what)
    if content_hash(data) != expected_hash:
        msg = (
            f"{what} {uri} is corrupt or was replaced: its SHA-256 is {content_hash(data)}, not {expected_hash};"
            f" {remedy(what)}"
        )
        raise ExchangeError(msg)
    return data


def read_required(stores: Stores, uri: str, what: str) -> bytes:
    """Return a file's bytes.

    Raises:
        ExchangeError: when the file is missing; `what` names it.
    """
    try:
        return stores.read_bytes(uri)
    except FileMissingError as error:
        msg = f"{what} {uri} is missing; {remedy(what)}"
        raise ExchangeError(msg) from error


def read_small(stores: Stores, uri: str, most: int = SMALL) -> bytes:
    """Return the bytes of a small file, or no bytes for a file larger than `most`, which is not read further."""
    data = stores.read_head(uri, most + 1)
    return data if len(data) <= most else b""


def parse_json(data: bytes, uri: str, what: str) -> dict[str, Any]:
    """Return a JSON object.

    Raises:
        ExchangeError: when the bytes are not one.
    """
    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError) as error:
        msg = f"{what} {uri} is not JSON ({error}); {remedy(what)}"
        raise ExchangeError(msg) from error
    if not isinstance(parsed, dict):
        msg = f"{what} {uri} is not a JSON object; {remedy(what)}"
        raise ExchangeError(msg)
    return parsed
