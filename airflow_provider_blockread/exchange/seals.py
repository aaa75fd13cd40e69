"""Seals: a small JSON object with an HMAC-SHA-256 of its content, under a secret that data and foreign files lack.

An object is stored under its name, beside the seal: `{"failure": {...}, "seal": "<64 hex digits>"}`. The HMAC covers
the name, what the object is bound to (such as the hash of a specification), and the object. With an empty secret, a
seal binds but does not prove: anybody who can read what it is bound to can make one.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from typing import Any


def new_secret() -> str:
    """Return a new secret."""
    return secrets.token_hex(32)


def derived(secret: str, name: str) -> str:
    """Return the secret of one thing, derived from a shared one; it does not reveal the others."""
    return hmac.digest(secret.encode(), name.encode(), hashlib.sha256).hex()


def sealed(name: str, fields: Mapping[str, Any], *, secret: str, bound: str) -> bytes:
    """Return a JSON object with its seal.

    Args:
        name: the kind of object, so that a seal of one kind is not valid for another.
        fields: the object, of JSON values.
        secret: a secret shared with the object's readers.
        bound: what the object belongs to.
    """
    return json.dumps({name: fields, "seal": _seal(name, fields, secret, bound)}, indent=1, sort_keys=True).encode()


def unsealed(name: str, data: bytes, *, secret: str, bound: str) -> dict[str, Any] | None:
    """Return the object if it was sealed with this name, secret and `bound`, or None for anything else."""
    found = fields_of(name, data)
    if found is None:
        return None
    fields, seal = found
    try:
        expected = _seal(name, fields, secret, bound)
    except RecursionError:  # nested more deeply than any object of ours
        return None
    return fields if hmac.compare_digest(expected, seal) else None


def fields_of(name: str, data: bytes) -> tuple[dict[str, Any], str] | None:
    """Return an object and its unchecked seal, for data whose hash was checked, or None for anything else."""
    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(parsed, dict) or parsed.keys() != {name, "seal"}:
        return None
    fields, seal = parsed[name], parsed["seal"]
    return (fields, seal) if isinstance(fields, dict) and isinstance(seal, str) and seal.isascii() else None


def _seal(name: str, fields: Mapping[str, Any], secret: str, bound: str) -> str:
    content = json.dumps([name, bound, fields], sort_keys=True)
    return hmac.digest(secret.encode(), content.encode(), hashlib.sha256).hex()
