"""A directory that keeps a log of what is published, if its option requests it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

import pyarrow as pa

from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.options import LineSink, ParquetSink
from airflow_provider_blockread.sinks.directory import Directory
from airflow_provider_blockread.sinks.log.steps import LOG, LogSteps
from airflow_provider_blockread.sinks.protocol import Applied, Earlier, Marker, State, Step
from airflow_provider_blockread.storage import Stores


class LoggedDirectory(Directory):
    """Publishes files, and logs them if the option says so.

    Args:
        stores: opens output and work area.
        option: tells where the folder is, and whether it has a log.
        kind: `output`, or `quarantine`.
    """

    def __init__(self, stores: Stores, option: ParquetSink | LineSink, kind: str = "output") -> None:
        super().__init__(stores, option, kind)
        self._log = LogSteps(stores, option, self._schema_of)

    def steps(self, new: Sequence[OutputFile], earlier: Earlier) -> list[Step]:
        """Return the moves and removals, with the steps of the log."""
        return self._log.among(super().steps(new, earlier), new)

    def state(self, step: Step, marker: Marker) -> State:
        """Return the state of a step, by looking where its file is, or into the log."""
        return self._log.state(step, marker) if step.kind == LOG else super().state(step, marker)

    def apply(self, steps: Sequence[Step], marker: Marker, still_mine: Callable[[], None]) -> Applied | None:
        """Take the steps one after another, and return how the columns of the directory have changed, if they have."""
        changes = ""
        for is_log, some in groupby(steps, key=lambda step: step.kind == LOG):
            if is_log:
                still_mine()
                changes += "".join(self._log.take(step, marker) for step in some)  # at most one of them changes columns
            else:
                super().apply(list(some), marker, still_mine)
        if not steps:
            super().apply((), marker, still_mine)
        return Applied(schema_changes=changes) if changes else None

    def undo(self, outputs: Earlier, marker: Marker) -> int:
        """Remove the files from the log, then one after another; return how many there were."""
        self._log.withdraw(outputs, marker)
        return super().undo(outputs, marker)

    def _check(self, schema: pa.Schema | None) -> None:
        """Refuse rows that the log does not accept."""
        self._log.check(schema, self.is_empty)

    def _schema_of(self, output: OutputFile) -> pa.Schema | None:  # noqa: ARG002 - files of text do not say it
        """Return the schema of the rows in a file, or None if files do not contain it."""
        return None
