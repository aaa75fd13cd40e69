"""What every sink does, by the suite that is there for sinks of one's own, too."""

from __future__ import annotations

from contextlib import AbstractContextManager

from airflow_provider_blockread.testing import SinkBehaviour, SinkLaws
from tests.sinks.kinds import KINDS, Bench, opened

_STORES = {kind: ["disk"] if made.table else ["memory", "disk"] for kind, made in KINDS.items()}


class _Placed:
    """A sink of a kind in a store."""

    kind: str
    store: str

    def opened(self) -> AbstractContextManager[Bench]:
        """Give a sink whose place is not made yet."""
        return opened(self.kind, self.store)


def _tests(kind: str, store: str, suite: type) -> type:
    return type(f"Test {kind} on {store}", (_Placed, suite), {"kind": kind, "store": store})


# Each kind in each store that can hold it; its laws in the fastest one.
globals().update(
    {f"Test {kind} {store}": _tests(kind, store, SinkBehaviour) for kind in KINDS for store in _STORES[kind]}
)
globals().update(
    {f"Test laws of {kind}": _tests(kind, _STORES[kind][0], SinkLaws) for kind in KINDS if "on postgres" not in kind}
)
