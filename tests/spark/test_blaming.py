"""Who is to blame for an error of a DataFrame's job: by its type, and never by its text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from py4j.clientserver import ClientServer, JavaParameters
from py4j.protocol import Py4JNetworkError
from pyspark.errors import AnalysisException, PythonException, UnknownException  # noqa: TID253 - raised here

from airflow_provider_blockread.errors import BlockReadError, FunctionError, ProofError, RecordError, SparkJobError
from airflow_provider_blockread.exchange.failures import as_line
from airflow_provider_blockread.exchange.model import ReadSpec
from airflow_provider_blockread.options import Sql
from airflow_provider_blockread.spark.engines.protocol import SparkLostError
from airflow_provider_blockread.spark.frames.blaming import blamed
from tests.pipeline.cluster import free_port
from tests.pipeline.evidence import Reading

_WORKER = "An exception was thrown from the Python worker:\n"
_TRACE = f'{_WORKER}Traceback (most recent call last):\n  File "x.py", line 1, in f\n    f()\n    ^^^\n'
_SEALED, _FORGED = (as_line(ProofError("not whole"), secret) for secret in ("mine", "theirs"))
_PLAN = "\n[NO] no such column; line 1;\n'Project"

#: What is raised, and the resulting error.
RAISED: dict[str, tuple[BaseException, type[BlockReadError], str]] = {
    "query": (AnalysisException(_PLAN), FunctionError, "the SQL query fails: [NO] no such column; line 1; correct it"),
    "task": (PythonException(f"{_TRACE}ValueError: no"), FunctionError, "the SQL query fails: ValueError: no; correct"),
    "bare": (PythonException(f"{_TRACE}AssertionError"), FunctionError, "the SQL query fails: AssertionError; correct"),
    "own": (PythonException(f"{_TRACE}mine.Odd: 1"), FunctionError, "the SQL query fails: mine.Odd: 1; correct"),
    "lines": (PythonException(f"{_TRACE}mine.Odd: 1\nKeyError: 2"), FunctionError, "fails: mine.Odd: 1; correct"),
    "hidden": (PythonException(f"{_WORKER}AssertionError"), FunctionError, "fails: AssertionError; correct"),
    "own hidden": (PythonException(f"{_WORKER}mine.Odd: 1"), FunctionError, "fails: mine.Odd: 1; correct"),
    "sealed": (PythonException(f"{_TRACE}RuntimeError: {_SEALED}"), ProofError, "not whole"),
    "forged": (PythonException(f"{_TRACE}RuntimeError: {_FORGED}"), FunctionError, "fails: RuntimeError: blockread"),
    "executor": (UnknownException("executor lost"), SparkJobError, "executor lost"),
    "jvm": (Py4JNetworkError("ValueError: no"), SparkJobError, "ValueError: no"),
    "service": (ConnectionResetError("by peer"), FunctionError, "the SQL query fails: ConnectionResetError: by peer"),
    "function": (KeyError("x"), FunctionError, "the SQL query fails: KeyError: 'x'"),
    "no words": (NotImplementedError(), FunctionError, "the SQL query fails: NotImplementedError; correct it"),
    "exit": (SystemExit(0), FunctionError, "the SQL query fails: SystemExit: 0"),
    "returned": (FunctionError("returned int"), FunctionError, "group 0: returned int"),
    "record": (RecordError("bad"), RecordError, "bad"),
}


@pytest.fixture
def spec(tmp_path: Path) -> ReadSpec:
    """Return the specification of a group with a query."""
    made = Reading(tmp_path, [b"a\n"], 100).spec
    return replace(made, options=replace(made.options, function=Sql("SELECT * FROM records")))


@pytest.mark.parametrize("name", RAISED)
def test_who_is_to_blame(spec: ReadSpec, name: str) -> None:
    """What this package raised in a task comes back under the right secret alone."""
    error, kind, says = RAISED[name]
    with pytest.raises(kind) as raised, blamed(spec, "mine"):
        raise error
    assert type(raised.value) is kind
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_lost_jvm_stays_what_it_is(spec: ReadSpec) -> None:
    """The process that started it knows more about its end."""
    with pytest.raises(SparkLostError), blamed(spec, "mine"):
        ClientServer(JavaParameters(port=free_port(), eager_load=True))
