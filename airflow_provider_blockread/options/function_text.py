"""A function by its text: `@blockread` takes it from a DAG's file, and the Spark driver runs it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import ClassVar

from airflow_provider_blockread.options.values import PRIVATE, Value


@dataclass(frozen=True, kw_only=True)
class FunctionCode:
    """The text of a function as it stands in its file: with its indentation, but without decorators."""

    text: str
    file: str
    line: int  # of the file where the text begins, from 1

    @property
    def digest(self) -> str:
        """SHA-256 of the text, as hex."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class FunctionText(Value):
    """A function that has no import path: its name, and the digest of its text, which identifies it.

    The code is private to the process: neither the ledger nor a file of the work area holds it, and each process that
    reads a window supplies it.
    """

    kind: ClassVar[str] = "function_text"
    name: str
    digest: str
    code: FunctionCode | None = field(default=None, compare=False, repr=False, metadata=PRIVATE)

    def __str__(self) -> str:
        return self.name
