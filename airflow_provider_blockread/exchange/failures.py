"""Errors as one line of text, to cross borders that only let text through: Spark's, and the work area's."""

from __future__ import annotations

import json
import re

from airflow_provider_blockread.errors import BlockReadError, SourceError, error_class
from airflow_provider_blockread.storage.stores import Stores

FAILURE_NAME = "error.json"
_MARK = re.compile(r"blockread-failure (\{.*\})")


def as_line(error: BlockReadError) -> str:
    """Return the error as one marked line."""
    return f"blockread-failure {_dump(error)}"


def from_text(text: str) -> BlockReadError | None:
    """Return the error whose marked line stands somewhere in a text, or None."""
    found = _MARK.search(text)
    return _load(found[1]) if found else None


def write_failure(stores: Stores, folder: str, error: BlockReadError) -> None:
    """Leave an attempt's error in its folder, so that Airflow's side can raise it as itself."""
    stores.write_bytes_atomic(f"{folder}/{FAILURE_NAME}", _dump(error).encode())


def read_failure(stores: Stores, folder: str) -> BlockReadError | None:
    """Return the error that an attempt left, or None."""
    uri = f"{folder}/{FAILURE_NAME}"
    return _load(stores.read_bytes(uri).decode()) if stores.exists(uri) else None


def _dump(error: BlockReadError) -> str:
    path = error.path if isinstance(error, SourceError) else ""
    return json.dumps({"error": type(error).__name__, "message": str(error), "path": path})


def _load(line: str) -> BlockReadError:
    data = json.loads(line)
    cls = error_class(str(data["error"]))
    return cls(data["message"], data["path"]) if issubclass(cls, SourceError) else cls(data["message"])
