"""A window's commit to a PostgreSQL table, against a plain COPY of the same rows as csv into a table without more."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count

import psycopg
import pyarrow as pa
import pyarrow.csv as pc

from airflow_provider_blockread.options import PostgresSink
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import Earlier, Marker
from airflow_provider_blockread.sinks.registry import make_sink
from airflow_provider_blockread.storage import Stores
from benchmarks.harness.lab import Lab
from benchmarks.harness.measure import Row, alternate, ratio_row
from tests.postgres import postgres_server

_ROW_BYTES = 1024  # of the option `size`: a row for each, a million at 1 GiB
_PIECE = 2**20
_FILES = 8
_COLUMNS = "id bigint, at timestamp, name text, amount double precision"


def run(lab: Lab) -> Iterator[Row]:
    """Yield a row for windows that follow each other in one table, and one for each of the first in its table."""
    rows = _rows(max(lab.size // _ROW_BYTES, 1000))
    text = io.BytesIO()
    pc.write_csv(rows, text, pc.WriteOptions(include_header=False))
    with postgres_server(waits_for_disk=True) as url:
        for what, again in (("the first of a table", False), ("the next of a table", True)):
            copy = _Copy(url, text.getvalue(), again=again)
            ours = _Commit(lab, url, rows, again=again)
            times = alternate((copy, ours), lab.rounds)
            work = f"commit of {rows.num_rows:,} rows to PostgreSQL, {what}"
            yield ratio_row(work, times, (rows.num_rows, "rows"), at_least=0.7)


def _rows(number: int) -> pa.Table:
    ids = pa.array(range(number), pa.int64())
    return pa.table(
        {
            "id": ids,
            "at": ids.cast(pa.timestamp("ms")).cast(pa.timestamp("us")),
            "name": pa.array([f"customer {n % 1000} of region {n % 7}" for n in range(number)]),
            "amount": pa.array([n / 8 for n in range(number)]),
        }
    )


class _Copy:
    def __init__(self, url: str, text: bytes, *, again: bool) -> None:
        self._url, self._text, self._again = url, text, again

    def prepare(self) -> None:
        with psycopg.connect(self._url) as connection:
            if not self._again:
                connection.execute("DROP TABLE IF EXISTS copied")
            connection.execute(f"CREATE TABLE IF NOT EXISTS copied ({_COLUMNS})")

    def run(self) -> None:
        with psycopg.connect(self._url) as connection, connection.cursor() as cursor:
            with cursor.copy("COPY copied FROM STDIN (FORMAT csv)") as copy:
                for start in range(0, len(self._text), _PIECE):
                    copy.write(self._text[start : start + _PIECE])
            connection.commit()


class _Commit:
    """Reads staged Parquet files, which a task has written before, and copies them in one transaction."""

    def __init__(self, lab: Lab, url: str, rows: pa.Table, *, again: bool) -> None:
        self._again, self._rows, self._numbers = again, rows, count(10**6 * again)  # of others than the table has
        option = PostgresSink("public.published", url=url, work_uri=str(lab.folder("postgres") / "work"))
        self._url, self._option = url, option

    def prepare(self) -> None:
        if not self._again:
            with psycopg.connect(self._url) as connection:
                connection.execute("DROP TABLE IF EXISTS published")
        self._window = f"w{next(self._numbers):011d}"
        self._outputs = []
        sink = make_sink(Stores(), self._option)
        target = sink.prepare(None, f"{self._option.work_area}/staged")
        share = -(-self._rows.num_rows // _FILES)
        for task in range(_FILES):
            name = AttemptName(window=self._window, generation=1, group=0, epoch=1, attempt=task)
            writer = sink.writer(target, name, self._rows.schema)
            for batch in self._rows.slice(task * share, share).to_batches(65_536):
                writer.write(batch)
            self._outputs += [sink.placed(file) for file in writer.close()]

    def run(self) -> None:
        marker = Marker(
            ledger="benchmark",
            feed="f",
            window=self._window,
            number=3,
            at=datetime.now(UTC),
            is_recorded=lambda *_: True,
        )
        sink = make_sink(Stores(), self._option)  # as a commit begins: without a connection
        sink.apply(sink.steps(self._outputs, Earlier()), marker, lambda: None)
