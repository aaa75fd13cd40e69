"""A running store as tests use it: how to reach it, as fsspec options and as an Airflow connection."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from airflow_provider_blockread.storage.stores import Stores

_NUMBERS = itertools.count()


@dataclass(frozen=True, kw_only=True)
class Store:
    """A server on loopback that holds files.

    `options` are fsspec's storage options; `connection` are the fields of an Airflow connection that comes to the same.
    `by_role` are those of one that has no rights but to assume a role which has all, where there is such a thing.
    `secrets` must show up nowhere. `make_root` makes a bucket, container or folder of a name and returns its URI.
    """

    name: str
    options: Mapping[str, object]
    connection: Mapping[str, object]
    secrets: tuple[str, ...]
    make_root: Callable[[str], str] = field(repr=False)
    by_role: Mapping[str, object] | None = None

    def new_root(self) -> str:
        """Return the URI of a bucket, container or folder that nothing else uses, made now."""
        return self.make_root(f"root-{next(_NUMBERS)}")

    def stores(self, root: str) -> Stores:
        """Return what opens files below a root."""
        return Stores({root: dict(self.options)})

    @property
    def port(self) -> int:
        """The port of loopback on which it listens for HTTP."""
        return int(re.findall(r"http://127\.0\.0\.1:(\d+)", json.dumps(dict(self.options)))[0])

    def behind(self, root: str, port: int) -> Stores:
        """Return what opens files below a root through a proxy on this port."""
        return Stores({root: json.loads(json.dumps(dict(self.options)).replace(f":{self.port}", f":{port}"))})
