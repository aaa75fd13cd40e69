"""Every kind of sink as tests make and fill it, and what a reader who knows nothing of this package finds there."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.options import SINKS, ParquetSink, Sink, TextSink
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import Marker, State, Step
from airflow_provider_blockread.sinks.registry import make_sink
from airflow_provider_blockread.storage import Stores

STORES = Stores()


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of sink."""

    option: Callable[..., Sink]
    read: Callable[[str], list[dict[str, Any]]]  # the rows of a file
    holds_columns: bool = True  # False: one column `value`
    early: Mapping[str, Any] = field(default_factory=dict)  # options that let a task write what it has at once

    def rows(self, folder: str) -> list[dict[str, Any]]:
        """Return the rows of all files in a folder but hidden ones."""
        files = [uri for uri, _ in STORES.list_names(folder) if uri.rpartition("/")[2][0] not in "._"]
        return [row for uri in files for row in self.read(uri)]


def _read_parquet(uri: str) -> list[dict[str, Any]]:
    with STORES.open_read(uri) as file:
        return pq.read_table(file).to_pylist()


def _read_text(uri: str) -> list[dict[str, Any]]:
    data = STORES.read_bytes(uri)
    text = gzip.decompress(data) if uri.endswith(".gz") else data
    return [{"value": line} for line in text.decode().split("\n")[:-1]]


#: By the names of `SINKS`, each of which must be here.
KINDS: Mapping[str, Kind] = {
    "parquet": Kind(option=ParquetSink, read=_read_parquet, early={"row_group_bytes": 8}),
    "text": Kind(option=TextSink, read=_read_text, holds_columns=False),
    "text gzip a block": Kind(
        option=partial(TextSink, compression="gzip", per="block"), read=_read_text, holds_columns=False
    ),
}

assert set(SINKS) == {name.partition(" ")[0] for name in KINDS}


#: The number of the block that rows are of.
BLOCK = 5


#: Of any change.
MARKER = Marker(ledger="l", feed="f", window="ab12", number=1)


@dataclass
class Bench:
    """A sink, and how tests fill it."""

    kind: str
    option: Sink
    marker: Marker = MARKER

    def __post_init__(self) -> None:
        """Make the sink."""
        self.sink = make_sink(STORES, self.option)
        self.target = self.sink.prepare(None, f"{self.option.work_area}/stage")

    def stage(self, *values: str, window: str = "ab12", generation: int = 1) -> list[OutputFile]:
        """Return a file of each value, twice, as tasks leave them."""
        files = []
        for attempt, value in enumerate(values):
            name = AttemptName(window=window, generation=generation, group=0, epoch=1, attempt=attempt)
            writer = self.sink.writer(self.target, name, None)
            writer.write(pa.RecordBatch.from_pydict({"value": [value, value]}), BLOCK)
            files += writer.close()
        return files

    def steps(self, new: Sequence[OutputFile], earlier: Sequence[OutputFile] = ()) -> list[Step]:
        """Return the steps that publish staged files in the place of others."""
        return self.sink.steps(*([self.sink.placed(file) for file in files] for files in (new, earlier)))

    def apply(self, steps: Sequence[Step]) -> None:
        """Take steps."""
        self.sink.apply(steps, self.marker, lambda: None)

    def publish(self, *values: str, window: str = "ab12", generation: int = 1) -> list[OutputFile]:
        """Publish files and return them as they were staged."""
        files = self.stage(*values, window=window, generation=generation)
        self.apply(self.steps(files))
        return files

    def values(self) -> list[str]:
        """Return what a reader finds."""
        return sorted(row["value"] for row in KINDS[self.kind].rows(self.option.uri))

    def states(self, steps: Sequence[Step]) -> list[State]:
        """Return what is known of each step."""
        return [self.sink.state(step, self.marker) for step in steps]
