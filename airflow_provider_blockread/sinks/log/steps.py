"""The publishing steps of the log: columns are logged before all files, and the entry once all files are there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from airflow_provider_blockread.errors import OptionsError, ProofError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.options import LineSink, ParquetSink
from airflow_provider_blockread.sinks.log.columns import Columns
from airflow_provider_blockread.sinks.log.entries import PublishedLog
from airflow_provider_blockread.sinks.protocol import Earlier, Marker, State, Step
from airflow_provider_blockread.storage import Stores, uris

#: The `kind` of these steps.
LOG = "log"


class LogSteps:
    """What a directory does about its log, if it has one.

    Args:
        stores: opens the directory.
        option: says whether it has one, and whether its columns may change.
        schema_of: returns the schema of the rows in a file that is staged or published; text has none.
    """

    def __init__(
        self, stores: Stores, option: ParquetSink | LineSink, schema_of: Callable[[OutputFile], pa.Schema | None]
    ) -> None:
        self._logs, self._schema_of = option.log, schema_of
        self._of_columns = option if isinstance(option, ParquetSink) else None
        self._uri = uris.canonical(option.uri)
        self._log = PublishedLog(stores, self._uri)

    def names(self) -> list[str]:
        """Return the names of the directory's columns if they are matched without case, otherwise nothing."""
        counts = self._of_columns is None or self._of_columns.case_sensitive
        columns = None if counts else self._log.columns()
        return [] if columns is None else columns.schema.names

    def check(self, schema: pa.Schema | None, is_empty: Callable[[], bool]) -> None:
        """Refuse an output in which only some windows would be logged, and rows that it does not accept.

        Raises:
            OptionsError: when the output or the rows are refused.
        """
        is_logged, logs = self._log.exists(), self._logs
        if is_logged and not logs:
            msg = f"{self._uri} has a log of what is published, which would not name this window; set log=True"
            raise OptionsError(msg)
        if logs and not is_logged and not is_empty():
            msg = (
                f"{self._uri} holds files that were published without a log, so that it would not name them; set"
                " log=False, or publish into an empty directory"
            )
            raise OptionsError(msg)
        if schema is not None and logs and self._of_columns is not None:
            problem, _ = self._log.compared(self._columns(schema), evolves=self._evolves)
            if problem:
                raise OptionsError(problem)

    def among(self, steps: Sequence[Step], new: Sequence[OutputFile]) -> list[Step]:
        """Return the steps of a directory, additions before removals, together with those of its log, if it has one."""
        if not (self._logs and steps):
            return list(steps)
        entry = Step(kind=LOG, action="add" if new else "remove", source="", target=self._log.windows, new=new)
        schemas = Step(kind=LOG, action="add", source="", target=self._log.schemas, new=new)
        columns = [schemas] if new and self._of_columns is not None else []
        return [*columns, *steps[: len(new)], entry, *steps[len(new) :]]

    def state(self, step: Step, marker: Marker) -> State:
        """Return whether a step was taken."""
        if step.target == self._log.windows:
            return State.APPLIED if self._log.has_entry(marker) else State.NOT_APPLIED
        try:
            rows = self._columns(self._schema_of(step.new[0]))
        except ProofError:
            return State.UNKNOWN
        problem, evolution = self._log.compared(rows, evolves=self._evolves)
        return State.NOT_APPLIED if problem or evolution else State.APPLIED

    def take(self, step: Step, marker: Marker) -> str:
        """Take a step, and return in words how it has changed the columns."""
        if step.target == self._log.schemas:
            rows = self._columns(self._schema_of(step.new[0]))
            return self._log.add_columns(rows, marker, evolves=self._evolves)
        self._log.add_entry(step.new, marker)
        return ""

    def withdraw(self, outputs: Earlier, marker: Marker) -> None:
        """Log an undo, if there is a log."""
        if self._logs:
            self._log.withdraw(outputs, marker)

    @property
    def _evolves(self) -> bool:
        return self._of_columns is not None and self._of_columns.evolves

    def _columns(self, schema: pa.Schema | None) -> Columns:
        partition_by = () if self._of_columns is None else tuple(self._of_columns.partition_by)
        return Columns(schema=schema or pa.schema([]), partition_by=partition_by)
