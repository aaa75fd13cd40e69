"""A sink under test: how it is made and filled, and what a reader without this package finds there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.options import Sink
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import Change, Earlier, Marker, State, Step, Writer
from airflow_provider_blockread.sinks.registry import make_sink
from airflow_provider_blockread.storage import Stores

#: The number of the block that the test rows come from.
BLOCK = 5
#: The schema of the test rows.
SCHEMA = pa.schema([("value", pa.string())])

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)

Rows = list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class SinkCase:
    """A sink under test, and how others read it. Rows have one text column, `value`.

    `option` makes the sink's option from a place: a folder that does not exist yet. `read` returns the rows of a file.
    If readers find a table at the place, `table` returns its rows, and the names of the files that they come from.
    """

    option: Callable[..., Sink]
    read: Callable[[str], Rows]
    table: Callable[[str], tuple[Rows, list[str]]] | None = None
    in_folder: bool = True  # False: readers find nothing in the folder, and files are only staged

    def rows(self, place: str) -> Rows:
        """Return the rows of all visible files in a folder, including partitions, or of the table there."""
        if self.table is not None:
            return self.table(place)[0]
        stores = Stores()
        files = [uri for uri, _ in stores.list_names(place) if uri.rpartition("/")[2][0] not in "._"]
        inner = [uri for uri in stores.list_folders(place) if "=" in uri.rpartition("/")[2]]
        return [row for uri in files for row in self.read(uri)] + [row for uri in inner for row in self.rows(uri)]

    def names(self, place: str) -> list[str]:
        """Return the sorted names of all files in a folder, or of the files that a table there consists of."""
        if self.table is not None:
            return sorted(self.table(place)[1])
        path = Path(place)
        return sorted(found.name for found in path.rglob("*") if found.is_file()) if path.exists() else []


class Bench:
    """A sink at a place, with methods by which tests fill and read it.

    Args:
        case: the sink under test.
        place: where the sink is.
        options: further arguments for `case.option`.
    """

    def __init__(self, case: SinkCase, place: str, options: Mapping[str, Any] | None = None) -> None:
        self.case, self.place = case, place
        self.stores = Stores()
        self.option = case.option(place, **(options or {}))
        self.sink = make_sink(self.stores, self.option)
        self.target = self.sink.prepare(None, f"{self.option.work_area}/stage")
        self.marker = self.marker_of()

    @property
    def is_table(self) -> bool:
        """Whether one commit publishes all files of a window."""
        return self.case.table is not None

    @property
    def is_in_place(self) -> bool:
        """Whether tasks write where readers look, in files that no commit names yet."""
        return self.is_table and self.case.in_folder

    def marker_of(self, window: str = "ab12", generation: int = 1, change: Change = Change.PUBLISH) -> Marker:
        """Return the marker of a change."""
        number = Marker.number_of(generation, change)
        return Marker(ledger="l", feed="f", window=window, number=number, at=_EPOCH, is_recorded=lambda *_: True)

    def writer(
        self, schema: pa.Schema | None = None, *, window: str = "ab12", generation: int = 1, attempt: int = 0
    ) -> Writer:
        """Return the writer of an attempt at the window's only group."""
        name = AttemptName(window=window, generation=generation, group=0, epoch=1, attempt=attempt)
        return self.sink.writer(self.target, name, schema)

    def stage(self, *values: str, window: str = "ab12", generation: int = 1) -> list[OutputFile]:
        """Return one staged file per value, each with two rows, and make this generation the one to apply next."""
        self.marker = self.marker_of(window, generation)
        files = []
        for attempt, value in enumerate(values):
            writer = self.writer(window=window, generation=generation, attempt=attempt)
            writer.write(batch(value, value), BLOCK)
            files += writer.close()
        return files

    def placed(self, files: Sequence[OutputFile], generation: int = 1) -> Earlier:
        """Return staged files as the published files of a generation."""
        return Earlier({generation: [self.sink.placed(file) for file in files]} if files else {})

    def steps(self, new: Sequence[OutputFile], earlier: Sequence[OutputFile] = ()) -> list[Step]:
        """Return the steps that publish staged files in place of others, which generation 1 published."""
        return self.sink.steps([self.sink.placed(file) for file in new], self.placed(earlier))

    def apply(self, steps: Sequence[Step]) -> None:
        """Apply steps with the marker of the newest generation."""
        self.sink.apply(steps, self.marker, lambda: None)

    def undo(self, files: Sequence[OutputFile]) -> int:
        """Undo what the newest generation published, and return the number of files removed."""
        generation = self.marker.number // len(Change)
        return self.sink.undo(
            self.placed(files, generation), self.marker_of(generation=generation, change=Change.WITHDRAW)
        )

    def publish(self, *values: str, window: str = "ab12", generation: int = 1) -> list[OutputFile]:
        """Publish one file per value, and return the files as they were staged."""
        files = self.stage(*values, window=window, generation=generation)
        self.apply(self.steps(files))
        return files

    def values(self) -> list[str]:
        """Return the sorted values that a reader finds."""
        return sorted(row["value"] for row in self.case.rows(self.place))

    def states(self, steps: Sequence[Step]) -> list[State]:
        """Return the state of each step."""
        return [self.sink.state(step, self.marker) for step in steps]


def batch(*values: str) -> pa.RecordBatch:
    """Return test rows with these values."""
    return pa.RecordBatch.from_arrays([pa.array(values, pa.string())], schema=SCHEMA)
