"""Spark in this process, for the command line."""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from airflow_provider_blockread.cli.quiet import quiet_start
from airflow_provider_blockread.errors import OptionsError, SparkJobError

if TYPE_CHECKING:
    from airflow_provider_blockread.exchange.model import Submission
    from airflow_provider_blockread.spark.job import SparkContext

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
# A JVM that only hands blocks to Python is done before its second compiler would be worth it.
_QUICK_START = "-XX:TieredStopAtLevel=1"
# Py4J's first line only names a call; the Java exception follows it.
_CAUSE = re.compile(r"^: [\w.$]+: (.+)", re.MULTILINE)
_FIRST_LINE = re.compile(r"(.*)")


class InProcessSpark:
    """A `Submitter` that runs jobs on one Spark context of this process, started at the first job."""

    def __init__(self, master: str, conf: Mapping[str, str] | None = None) -> None:
        """Take the master, such as `local[2]` or `spark://host:7077`, and further configuration."""
        self._master, self._conf = master, dict(conf or {})
        self._context: SparkContext | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="blockread-")

    def __enter__(self) -> Self:
        """Return this submitter; leaving stops its context."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the context."""
        if self._context is not None:
            with _if_living():
                self._context.stop()
        self._folder.cleanup()

    @property
    def keeps_secrets(self) -> bool:
        """Whether a secret stays in this process, as it does."""
        return True

    def submit(self, submission: Submission, *, name: str) -> None:
        """Run the job and return when it has ended."""
        from airflow_provider_blockread.spark import job  # noqa: PLC0415 - starts with pyspark

        context = self._started()
        context.setJobGroup(name, name, interruptOnCancel=True)
        job.run(submission, context)

    def cancel(self) -> None:
        """Cancel what is running; where Spark itself has died, nothing is."""
        if self._context is not None:
            with _if_living():
                self._context.cancelAllJobs()

    def _started(self) -> SparkContext:
        if self._context is None:
            with quiet_start():
                self._context = self._start()
        return self._context

    def _start(self) -> SparkContext:
        from airflow_provider_blockread.spark import bundle, job  # noqa: PLC0415 - starts with pyspark

        folder = Path(self._folder.name)
        (folder / "log4j2.properties").write_text(_LOG4J, "utf-8")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        logging.getLogger("py4j").setLevel(logging.WARNING)  # it tells of each connection that it closes
        java = f"-Dlog4j2.configurationFile=file:{folder}/log4j2.properties"
        conf = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower()}
        if self._master.startswith("local"):
            conf |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
            java += f" {_QUICK_START}"
        conf["spark.driver.extraJavaOptions"] = java
        try:
            context = job.start_context(self._master, conf | self._conf)
        except Exception as error:
            text = str(error).strip()
            reason = _CAUSE.search(text) or _FIRST_LINE.match(text)
            said = reason[1].rstrip(".") if reason else type(error).__name__
            msg = f"Spark did not start on {self._master}: {said}; check --master and that Java 17+ is there"
            raise SparkJobError(msg) from error
        context.addPyFile(bundle.write_bundle(self._folder.name))
        return context


@contextmanager
def _if_living() -> Iterator[None]:
    """Ask Spark for what it need not do any more when it has died; why it did is told by the job's own error."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - comes with pyspark

    with suppress(Py4JError, OSError):
        yield


def require_java() -> None:
    """Refuse to start without a JVM, before anything is planned.

    Raises:
        OptionsError: naming what to install.
    """
    import shutil  # noqa: PLC0415

    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        msg = "Spark needs Java 17 or newer: install a JRE, or set JAVA_HOME"
        raise OptionsError(msg)
