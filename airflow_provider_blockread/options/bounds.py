"""How far the links and redirects of a source may lead, for those who read its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from airflow_provider_blockread.options.values import Value


@dataclass(frozen=True, kw_only=True)
class Bounds(Value):
    """What follows from a source's `follow_links` and `redirect_hosts`; a plan hands it to the tasks that read.

    `link_roots` are the local roots, in canonical form, that links must not lead out of; None lets them lead anywhere.
    `redirect_hosts` are hosts that a web server may redirect to besides itself.
    """

    kind: ClassVar[str] = "bounds"
    link_roots: Sequence[str] | None = None
    redirect_hosts: Sequence[str] = ()
