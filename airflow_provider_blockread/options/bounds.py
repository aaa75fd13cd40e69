"""Bounds on where the links and redirects of a source may lead, for the tasks that read its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from airflow_provider_blockread.options.values import Value


@dataclass(frozen=True, kw_only=True)
class Bounds(Value):
    """The bounds that follow from a source's `follow_links` and `redirect_hosts`; a plan passes them to reading tasks.

    Links must lead to a place inside `link_roots` (local roots in canonical form); if it is None, they may lead
    anywhere. A web server may redirect to itself and to `redirect_hosts`.
    """

    kind: ClassVar[str] = "bounds"
    link_roots: Sequence[str] | None = None
    redirect_hosts: Sequence[str] = ()
