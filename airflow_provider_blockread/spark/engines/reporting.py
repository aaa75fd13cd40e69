"""Errors of tasks: sealed text while they pass through Spark, and errors of this package again in the driver."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from airflow_provider_blockread.errors import BlockReadError, SparkJobError
from airflow_provider_blockread.exchange.failures import as_line, from_text

# The line of Spark's long message with the reason: Py4J's first line only names a call, its second one an exception.
# Kubernetes' own begins in the next one.
_REASON = re.compile(r"Job aborted.*(?:(?<=Reason: )\n.+)?|Job \d+ cancelled.*|.*Connection refused.*")
_OF_JAVA = re.compile(r"(?<=^: )\S.*", re.MULTILINE)

# The line after the frames of a Python traceback, and what looks like one where Spark is set to hide tracebacks; names
# of Java classes begin with a package.
_AFTER_FRAMES = re.compile(r'^  File ".*\n(?:  .*\n)*(\S.*)', re.MULTILINE)
_RAISED = re.compile(r"^(?!org\.|java\.|py4j\.)(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)(?:: .*)?$", re.MULTILINE)

# The beginning of what Spark's scheduler says of a task that failed.
_OF_TASK = r"Job aborted due to stage failure: Task [^:]*: [^:]*: "

# Problems of the executors, or of their Python, which `spark.pyspark.python` names, and not of a record. A pattern
# begins with the class of the error, since the text after it may quote a record.
_ADVICE = (
    (
        re.compile(r"ModuleNotFoundError: No module named "),
        "install it on all workers for the Python of spark.pyspark.python, or add a module of yours to py_files; retry",
    ),
    (
        re.compile(r"(?:[\w.]*(?:PySparkRuntimeError|SparkException): )?\[PYTHON_VERSION_MISMATCH\]"),
        "let spark.pyspark.python name the driver's version of Python on every worker; then retry",
    ),
    (
        re.compile(
            rf"(?:{_OF_TASK}|Job aborted due to stage failure: )?(?:java\.io\.IOException: )?"
            r"Cannot run program \"[^\"]+\""
        ),
        "let spark.pyspark.python name a Python that is on every worker; then retry",
    ),
    (
        re.compile(
            rf"{_OF_TASK}(?:org\.apache\.spark\.SparkException: Python worker exited unexpectedly"
            r"|ExecutorLostFailure .* Reason: .*(?:\b137\b|exceeding|OOM))"
        ),
        "if it was killed for memory, raise spark.executor.memoryOverhead or lower spark.executor.cores; then retry",
    ),
    (
        re.compile(r"(?:pyarrow\.lib\.Arrow)?MemoryError\b"),
        "raise spark.executor.pyspark.memory where it is set, or lower spark.executor.cores; then retry",
    ),
    (
        re.compile(r"Job aborted due to stage failure: Total size of serialized results of \d+ tasks "),
        "raise spark.driver.maxResultSize, then retry",
    ),
    (
        re.compile(rf"{_OF_TASK}\S+: Python worker process terminated due to idle timeout "),
        "turn spark.python.worker.killOnIdleTimeout off, since tasks answer at their end; then retry",
    ),
)

_MAX_CHARS = 1000  # of the line with the reason


@contextmanager
def own_errors_as_text(secret: str) -> Iterator[None]:
    """Raise this package's errors as a sealed line, which Spark includes in its own error."""
    try:
        yield
    except BlockReadError as error:
        raise RuntimeError(as_line(error, secret)) from None  # Spark logs the whole chain more than once


def as_own_error(error: Exception, secret: str) -> BlockReadError:
    """Return the error of this package that a task sealed, or a `SparkJobError` with Spark's own reason."""
    return from_text(str(error), secret) or job_failed(error)


def job_failed(error: BaseException) -> SparkJobError:
    """Return a `SparkJobError` with Spark's own reason in one line.

    The text may come from a record or a file name, so it must not influence anything but the words of that line.
    """
    text = str(error)
    reason = _REASON.search(text) or _OF_JAVA.search(text)
    # What a task raised in Python comes first.
    said = raised_by(text) or (reason[0].replace("\n", "") if reason else text.strip().partition("\n")[0])
    short = said[:_MAX_CHARS].strip() + (" ..." if len(said) > _MAX_CHARS else "")
    advice = next((advice for pattern, advice in _ADVICE if pattern.match(short)), "see Spark's log, then retry")
    return SparkJobError(f"the Spark job failed: {short or type(error).__name__}; {advice}")


def raised_by(text: str) -> str:
    """Return the line of Spark's message with the error that a task raised in Python, or an empty string."""
    of_python = text.partition("\n\tat ")[0]
    raised = _AFTER_FRAMES.findall(of_python) or _RAISED.findall(of_python)
    return raised[-1] if raised else ""
