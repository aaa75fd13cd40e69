"""The environment of benchmarks: a scratch folder, Spark sessions, and windows processed by the provider's steps."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.ledger.store import Ledger, default_url
from airflow_provider_blockread.observer import Observer
from airflow_provider_blockread.options import (
    AsRead,
    FileSource,
    FormatOption,
    FunctionOption,
    GenerationOptions,
    Lines,
    ParquetSink,
    Policies,
    Sink,
    SparkJob,
    Splitting,
)
from airflow_provider_blockread.spark import bundle
from airflow_provider_blockread.spark.driver import Driver
from airflow_provider_blockread.spark.engines.rdd import RddEngine
from airflow_provider_blockread.steps import Caller, Environment, PlanRequest, Published, WindowRef, commit, plan, read
from airflow_provider_blockread.storage.stores import Stores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OWNER = "benchmark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """The amounts to measure, and the folder."""

    scratch: Path
    size: int  # bytes of the large files
    files: int  # small files to plan
    rounds: int
    quick: bool = False  # leave out what takes long

    @contextmanager
    def spark(self, cores: int, conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
        """Provide a Spark session of this process whose workers can import this package."""
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master(f"local[{cores}]").appName("benchmarks")
        quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
        local = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        place = {"spark.sql.warehouse.dir": str(self.scratch / "warehouse")}
        for key, value in (quiet | local | place | dict(conf or {})).items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        session.sparkContext.addPyFile(bundle.write_bundle(str(self.scratch)))
        try:
            yield session
        finally:
            session.stop()

    def folder(self, name: str) -> Path:
        """Return an empty scratch folder."""
        folder = self.scratch / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder


@dataclass(slots=True)
class Windows:
    """Windows over one source, processed by the steps that Airflow's operators call, each with a separate ledger.

    After `run`, `seconds` has the duration of each step, and `published` the result.
    """

    folder: Path
    source: Path
    record_format: FormatOption = Lines()
    spark: SparkSession | None = None
    splitting: Splitting = Splitting(max_groups=1)
    policies: Policies = field(default_factory=Policies)
    function: FunctionOption = AsRead()
    sink: Sink | None = None  # instead of Parquet files in the output
    options: GenerationOptions | None = None  # instead of all these
    new_ledger: Callable[[], str] | None = None  # returns the URL of an empty database, instead of SQLite in the folder
    seconds: dict[str, float] = field(default_factory=dict)
    published: Published | None = None
    env: Environment = field(init=False)

    @property
    def output(self) -> Path:
        """The folder of published records."""
        return self.folder / "output"

    def prepare(self) -> None:
        """Remove the output and the ledger of earlier windows."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        ledger = Ledger(self.new_ledger() if self.new_ledger else default_url(str(self.folder)))
        ledger.upgrade()
        self.env = Environment(ledger=ledger, stores=Stores(), observer=Observer())

    def plan(self, key: str = "window") -> WindowRef:
        """Plan the next window."""
        generation = self.options or GenerationOptions(
            sink=self.sink or ParquetSink(str(self.output)),
            record_format=self.record_format,
            function=self.function,
            policies=self.policies,
        )
        request = PlanRequest(
            feed="benchmark",
            key=key,
            source=FileSource(str(self.source)),
            generation=generation,
            owner=_OWNER,
            splitting=self.splitting,
        )
        with self._clocked("plan"):
            return plan(self.env, request)

    def run(self) -> None:
        """Process one window through all steps."""
        self.process(self.plan())

    def process(self, ref: WindowRef) -> None:
        """Read and publish a planned window."""
        with self._clocked("read"):
            for group in range(ref.groups):
                read(self.env, ref, group, caller=Caller(owner=_OWNER), job=SparkJob(), submitter=self)
        with self._clocked("commit"):
            self.published = commit(self.env, ref, owner=_OWNER)

    @property
    def keeps_secrets(self) -> bool:
        """Whether a secret stays in this process."""
        return True

    def submit(self, submission: Submission, *, name: str) -> None:
        """Run a job on the session; these windows are their own `Submitter`."""
        del name
        if self.spark is None:
            msg = "these windows were made without a Spark session"
            raise RuntimeError(msg)
        Driver(submission=submission, engine=RddEngine(self.spark.sparkContext)).run()

    def cancel(self) -> None:
        """Cancel the running job."""
        if self.spark is not None:
            self.spark.sparkContext.cancelAllJobs()

    @contextmanager
    def _clocked(self, step: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds[step] = time.perf_counter() - started


def fingerprint(folder: Path, columns: str = "value") -> tuple[int, int, int]:
    """Return rows, the sum of their lengths as text, and the sum of their hashes, of all Parquet files in a folder."""
    query = (
        f"SELECT count(*), coalesce(sum(strlen(concat({columns}))), 0), coalesce(sum(hash({columns})::HUGEINT), 0)"  # noqa: S608
        f" FROM read_parquet('{folder}/**/*.parquet')"
    )
    with duckdb.connect() as connection:
        connection.execute("SET threads = 2; SET TimeZone = 'UTC'")
        found = connection.execute(query).fetchone()
    return (0, 0, 0) if found is None else (int(found[0]), int(found[1]), int(found[2]))


def require_same(rival: Path, ours: Path, columns: str = "value") -> tuple[int, int, int]:
    """Return the common fingerprint of both outputs, the first of which is named in the error.

    Raises:
        ValueError: when they differ, so that no comparison includes a wrong result.
    """
    theirs, found = fingerprint(rival, columns), fingerprint(ours, columns)
    if theirs != found:
        msg = f"results differ: {rival} has (rows, length, hash) {theirs}, blockread {found}; no times are printed"
        raise ValueError(msg)
    return found
