"""Spark in this process, for the command line."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from airflow_provider_blockread.cli.terminal.printing import terminal
from airflow_provider_blockread.cli.terminal.quiet import quiet_start
from airflow_provider_blockread.errors import SparkJobError
from airflow_provider_blockread.spark.engines.protocol import SparkLostError
from airflow_provider_blockread.spark.engines.settings import LOCAL_IP, LOOPBACK, guarding, is_local, make_classic
from airflow_provider_blockread.spark.private_folder import private_folder

if TYPE_CHECKING:
    from airflow_provider_blockread.exchange.model import Submission
    from airflow_provider_blockread.spark.engines.rdd import RddEngine

_LOG4J = """rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
logger.executor.name = org.apache.spark.executor.Executor
logger.executor.level = off
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = off
logger.context.name = org.apache.spark.SparkContext
logger.context.level = off
"""
# A JVM that only passes blocks to Python ends before its second compiler would pay off.
_QUICK_START = "-XX:TieredStopAtLevel=1"
_JAVA_OPTIONS = "SPARK_SUBMIT_OPTS"
# Py4J's first line only names a call; the Java exception follows it.
_CAUSE = re.compile(r"^: [\w.$]+: (.+)", re.MULTILINE)
_USER_INFO = re.compile(r"://[^/\s]*@")
_FIRST_LINE = re.compile(r"(.*)")


class InProcessSpark:
    """A `Submitter` that runs jobs on one Spark context of this process, started at the first job.

    Spark is called from a separate thread, so that a signal interrupts a wait, and not a call to the JVM.
    """

    keeps_secrets = True  # they stay in this process

    def __init__(self, master: str, conf: Mapping[str, str] | None = None, py_files: Sequence[str] = ()) -> None:
        """Take the master, such as `local[2]` or `spark://host:7077`, further configuration, and modules for tasks."""
        self._master, self._conf, self._py_files = master, dict(conf or {}), py_files
        self._engine: RddEngine | None = None
        self._readers = 0  # for which the application was started
        self._cancelled = False
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        """Return this submitter; leaving stops its context."""
        self._folder = self._opened.enter_context(private_folder())
        self._opened.callback(self._stop)
        self._thread = self._opened.enter_context(ThreadPoolExecutor(1, thread_name_prefix="blockread-spark"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.cancel()
        self._opened.close()

    def _stop(self) -> None:
        if self._engine is not None:
            self._engine.stop()

    def submit(self, submission: Submission, *, name: str) -> None:
        """Run the job and return when it has ended.

        Raises:
            SparkJobError: when Spark does not start, or ends before the job.
        """
        self._cancelled = False
        self._thread.submit(self._run, submission, name).result()

    def _run(self, submission: Submission, name: str) -> None:
        from airflow_provider_blockread.spark.driver import Driver  # noqa: PLC0415 - takes long to import

        engine = self._started(submission.readers)
        if self._cancelled:
            msg = f"{name}: the job was stopped before it began; run the same command again"
            raise SparkJobError(msg)
        engine.context.setLogLevel("ERROR")
        engine.context.setJobGroup(name, name, interruptOnCancel=True)
        try:
            Driver(submission=submission, engine=engine, observer=terminal()).run()
        except SparkLostError as error:
            msg = (
                f"{name}: Spark has ended during the job ({error}); if the system ended it for want of memory, give it"
                " more, or run fewer tasks at once (--master 'local[1]'), then run the same command again"
            )
            raise SparkJobError(msg) from error

    def cancel(self) -> None:
        """Cancel what is running; if Spark itself has died, nothing is running."""
        self._cancelled = True
        if self._engine is not None:
            self._engine.cancel()

    def _started(self, readers: int | None = None) -> RddEngine:
        if self._engine is not None and not is_local(self._master) and (readers or 0) > self._readers:
            self._stop()  # an application requests its executors when it starts
        if self._engine is None or self._engine.is_stopped:
            self._readers = readers or 0
            with quiet_start():
                self._engine = self._start(readers)
        return self._engine

    def _start(self, readers: int | None) -> RddEngine:
        from airflow_provider_blockread.spark.bundle import write_bundle  # noqa: PLC0415 - takes long to import
        from airflow_provider_blockread.spark.engines.context import start_context  # noqa: PLC0415
        from airflow_provider_blockread.spark.engines.rdd import RddEngine  # noqa: PLC0415

        folder = self._folder
        (folder / "log4j2.properties").write_text(_LOG4J, "utf-8")
        make_classic(os.environ)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        logging.getLogger("py4j").setLevel(logging.WARNING)  # it logs each connection that it closes
        logging.getLogger().addFilter(_is_not_of_py4j)
        java = f"-Dlog4j2.configurationFile=file:{folder}/log4j2.properties"
        defaults = {"spark.ui.enabled": "false"} | guarding(self._master, has_secrets=False)
        if is_local(self._master):
            os.environ.setdefault(LOCAL_IP, LOOPBACK)
            java += f" {_QUICK_START}"
        conf = {"spark.ui.showConsoleProgress": "false"} | self._conf  # which Spark itself turns on
        try:
            with _java_options(java):
                context = start_context(self._master, conf, defaults, readers=readers)
            for file in (write_bundle(str(folder)), *self._py_files):
                context.addPyFile(file)
        except Exception as error:
            text = str(error).strip()
            reason = _CAUSE.search(text) or _FIRST_LINE.match(text)
            said = reason[1].rstrip(".") if reason else type(error).__name__
            master, said = (_USER_INFO.sub("://", text) for text in (self._master, said))
            files = ", --py-file" if self._py_files else ""
            msg = f"Spark did not start on {master}: {said}; check --master{files} and that Java 17+ is there"
            raise SparkJobError(msg) from error
        return RddEngine(context)


@contextmanager
def _java_options(options: str) -> Iterator[None]:
    """Start a JVM with these options; those of the user follow, so that they take precedence."""
    before = os.environ.get(_JAVA_OPTIONS)
    os.environ[_JAVA_OPTIONS] = f"{options} {before or ''}".strip()
    try:
        yield
    finally:
        if before is None:
            del os.environ[_JAVA_OPTIONS]
        else:
            os.environ[_JAVA_OPTIONS] = before


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """Return whether to show a record of the root logger, to which Py4J logs every error that it also raises."""
    return record.module != "java_gateway"
