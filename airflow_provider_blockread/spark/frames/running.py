"""Applies the function to the records that a group's tasks have staged, and writes its DataFrame to the sink."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pyarrow as pa

from airflow_provider_blockread.exchange.model import GroupResult, ReadSpec
from airflow_provider_blockread.exchange.results import columns_text
from airflow_provider_blockread.exchange.seals import new_secret
from airflow_provider_blockread.observer import Progress
from airflow_provider_blockread.options import FrameFunction
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.spark.engines.protocol import Engine
from airflow_provider_blockread.spark.frames.blaming import blamed
from airflow_provider_blockread.spark.frames.calling import applied, check_function, output_schema
from airflow_provider_blockread.spark.frames.records import empty_frame, records_frame
from airflow_provider_blockread.spark.frames.types import as_frame
from airflow_provider_blockread.spark.frames.writing import write_frame, written_schema
from airflow_provider_blockread.spark.tasks.user_function import with_places
from airflow_provider_blockread.storage.stores import Stores


@dataclass(frozen=True, kw_only=True)
class FrameStage:
    """What a group does with its records once they are staged and proven."""

    spec: ReadSpec
    function: FrameFunction
    engine: Engine
    make_stores: Callable[[], Stores]
    report: Callable[[Progress], None]
    secret: str = field(default_factory=new_secret)  # seals what tasks report

    def check(self) -> None:
        """Refuse, before anything is read, what is known to fail.

        Raises:
            OptionsError: when the function cannot be imported, or a DataFrame has no type for a column.
            FunctionError: when Spark cannot resolve the query.
        """
        title = f"{self.spec}: checked"
        with self.engine.session(title=title, report=self.report) as session, blamed(self.spec, self.secret):
            check_function(self.function, empty_frame(session, self._schema()))

    def run(self, staged: GroupResult) -> GroupResult:
        """Return the group's result: what was read, and the files that were written.

        Raises:
            FunctionError: when the function or query fails, or the sink cannot hold what it returns.
            ProofError: when Spark does not find exactly the staged records.
            SparkJobError: when Spark fails for another reason.
        """
        title = f"{self.spec}: {self.function}"
        with self.engine.session(title=title, report=self.report) as session, blamed(self.spec, self.secret):
            records = records_frame(session, self._schema(), staged.outputs, self.make_stores, self.secret)
            with applied(self.function, records) as frame:
                schema = output_schema(self.function, frame)
                written = written_schema(schema, self.spec.options)
                outputs = write_frame(frame, schema, self.spec, self.make_stores, self.secret)
        rows = sum(output.rows for output in outputs)
        return replace(staged, outputs=outputs, rows=rows, schema=columns_text(written))

    def _schema(self) -> pa.Schema:
        decoded = make_format(self.spec.options.record_format).decoder().schema
        return as_frame(with_places(self.function, decoded))
