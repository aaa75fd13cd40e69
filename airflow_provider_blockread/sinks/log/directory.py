"""A directory that keeps a log of what is published, if its option requests it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

import pyarrow as pa

from airflow_provider_blockread.errors import OptionsError, ProofError
from airflow_provider_blockread.exchange.model import OutputFile, Target
from airflow_provider_blockread.options import LineSink, ParquetSink
from airflow_provider_blockread.sinks.directory import Directory
from airflow_provider_blockread.sinks.log.columns import Columns
from airflow_provider_blockread.sinks.log.entries import PublishedLog
from airflow_provider_blockread.sinks.protocol import Applied, Earlier, Marker, State, Step
from airflow_provider_blockread.storage import Stores

_LOG = "log"  # the `kind` of steps that write the log


class LoggedDirectory(Directory):
    """Publishes files, and logs them if the option says so: columns before all moves, the files after the moves."""

    def __init__(self, stores: Stores, option: ParquetSink | LineSink, kind: str = "output") -> None:
        super().__init__(stores, option, kind)
        self._logs = option.log
        self._columnar = option if isinstance(option, ParquetSink) else None
        self._log = PublishedLog(stores, self.uri, evolves=self._columnar is not None and self._columnar.evolves)

    def prepare(self, schema: pa.Schema | None, staging: str) -> Target:
        """Return the work area, where tasks write.

        Raises:
            OptionsError: when the folder is that of a table, when only some windows in it would be logged, or when the
                log does not accept such rows.
        """
        target = super().prepare(schema, staging)
        is_logged = self._log.exists()
        if is_logged and not self._logs:
            msg = f"{self.uri} has a log of what is published, which would not name this window; set log=True"
            raise OptionsError(msg)
        if self._logs and not is_logged and not self.is_empty():
            msg = (
                f"{self.uri} holds files that were published without a log, so that it would not name them; set"
                " log=False, or publish into an empty directory"
            )
            raise OptionsError(msg)
        if schema is not None and self._logs and self._columnar is not None:
            problem, _ = self._log.compared(self._columns(schema))
            if problem:
                raise OptionsError(problem)
        return target

    def steps(self, new: Sequence[OutputFile], earlier: Earlier) -> list[Step]:
        """Return the moves and removals, with the steps of the log."""
        steps = super().steps(new, earlier)
        if not (self._logs and steps):
            return steps
        entry = Step(kind=_LOG, action="add" if new else "remove", source="", target=self._log.windows, new=new)
        schemas = Step(kind=_LOG, action="add", source="", target=self._log.schemas, new=new)
        columns = [schemas] if new and self._columnar is not None else []
        return [*columns, *steps[: len(new)], entry, *steps[len(new) :]]

    def state(self, step: Step, marker: Marker) -> State:
        """Return the state of a step, by looking where its file is, or into the log."""
        if step.kind != _LOG:
            return super().state(step, marker)
        if step.target == self._log.windows:
            return State.APPLIED if self._log.has_entry(marker) else State.NOT_APPLIED
        try:
            rows = self._columns(self._schema_of(step.new[0]))
        except ProofError:
            return State.UNKNOWN
        problem, evolution = self._log.compared(rows)
        return State.NOT_APPLIED if problem or evolution else State.APPLIED

    def apply(self, steps: Sequence[Step], marker: Marker, still_mine: Callable[[], None]) -> Applied | None:
        """Take the steps one after another, and return how the columns of the directory have changed, if they have."""
        changes = ""
        for is_log, some in groupby(steps, key=lambda step: step.kind == _LOG):
            if is_log:
                still_mine()
                changes += "".join(self._write_log(step, marker) for step in some)  # at most one changes columns
            else:
                super().apply(list(some), marker, still_mine)
        if not steps:
            super().apply((), marker, still_mine)
        return Applied(schema_changes=changes) if changes else None

    def undo(self, outputs: Earlier, marker: Marker) -> int:
        """Remove the files from the log, then one after another; return how many there were."""
        if self._logs:
            self._log.withdraw(outputs, marker)
        return super().undo(outputs, marker)

    def _write_log(self, step: Step, marker: Marker) -> str:
        """Take a step of the log, and return in words how it has changed the columns."""
        if step.target == self._log.schemas:
            return self._log.add_columns(self._columns(self._schema_of(step.new[0])), marker)
        self._log.add_entry(step.new, marker)
        return ""

    def _columns(self, schema: pa.Schema) -> Columns:
        return Columns(schema=schema, partition_by=() if self._columnar is None else tuple(self._columnar.partition_by))

    def _schema_of(self, output: OutputFile) -> pa.Schema:  # noqa: ARG002 - files of text do not say it
        """Return the schema of the rows in a file that is staged or published; text has no columns to log."""
        return pa.schema([])
