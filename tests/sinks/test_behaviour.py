"""What every sink does, by the suite that is there for sinks of one's own, too."""

from __future__ import annotations

import io
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.storage.backends.disk import LocalDisk
from airflow_provider_blockread.testing import SinkBehaviour, SinkLaws
from tests.sinks.kinds import KINDS, Bench, opened

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

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


class _Lost(io.RawIOBase):
    """A file of a store that is gone before the file is closed."""

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        return len(memoryview(data))

    def close(self) -> None:
        if not self.closed:
            super().close()
            raise ConnectionResetError


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("parquet", {"row_group_bytes": 1, "file_bytes": 1000}),
        ("text", {"per": "block"}),
        ("archive", {"file_bytes": 1000}),
    ],
    ids=["parquet", "text", "archive"],
)
def test_an_attempt_is_aborted_though_its_store_is_gone(
    kind: str, options: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of the store does not replace the one that ends the attempt, and finished files are removed."""
    bench = Bench(kind, str(tmp_path / "out"), options)
    name = AttemptName(window="ab12", generation=1, group=0, epoch=1, attempt=0)
    writer = bench.sink.writer(bench.target, name, None)
    writer.write(pa.RecordBatch.from_pydict({"value": ["x" * 1000]}), 0)
    monkeypatch.setattr(LocalDisk, "open_write", lambda *_: _Lost())
    writer.write(pa.RecordBatch.from_pydict({"value": ["y"]}), 1)
    assert list(bench.stores.list_names(bench.target.folder))
    writer.abort()

    assert list(bench.stores.list_names(bench.target.folder)) == []
