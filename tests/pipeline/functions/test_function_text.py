"""Functions without an import path: their text reaches tasks in private, and only the planned text is run."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import ExchangeError, FunctionError, OptionsError
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.results import SPEC_NAME
from airflow_provider_blockread.ledger.windows.generations import list_generations
from airflow_provider_blockread.options import ArrowFunction, DataFrameFunction, FunctionCode, FunctionText, from_json
from airflow_provider_blockread.spark.tasks.loading import load_function
from tests.pipeline.functions.texts import DOUBLED, SHORT, text_of, use
from tests.pipeline.make import Pipe, ReadHere


@pytest.fixture
def short(here: Pipe) -> Pipe:
    """A pipeline that keeps lines of at most two characters."""
    here.put({"a": b"a\nbb\nccc\n"})
    use(here, text_of(SHORT))
    return here


@pytest.mark.spark
def test_a_text_is_the_function_of_spark_tasks(pipe: Pipe) -> None:
    """It is called where blocks are read, with its default arguments; annotations need not be imported."""
    pipe.put({"a": b"a\nbb\nccc\n"})
    use(pipe, text_of(SHORT))
    done = pipe.run()

    assert pipe.values() == ["a", "bb"]
    assert (done.records, done.rows) == (3, 2)


def test_ledger_and_work_area_hold_the_digest_alone(short: Pipe) -> None:
    """Readers and writers of that folder find no text, and the job's specification names its digest."""
    short.run()
    (spec,) = short.attempt_files(SPEC_NAME)
    (generation,) = list_generations(short.env.ledger, json.loads(spec.read_text())["window"])
    kept = [path for path in short.folder.rglob("*") if path.is_file() and path.parent != short.source]

    assert len(kept) > 4
    assert not [path for path in kept if b"quagga" in path.read_bytes()]
    assert generation.options["function"]["path"] == {
        "kind": "function_text",
        "name": "short",
        "digest": text_of(SHORT).digest,
    }


def test_another_text_is_another_generation(short: Pipe) -> None:
    """A cleared run reads with the new text; its place in the file is no part of what it is."""
    short.run()
    use(short, text_of(SHORT, line=99))
    moved = short.plan()
    use(short, text_of(SHORT.replace("most=2", "most=1")))
    short.run(clear_number=1)

    assert (moved.status, moved.message) == ("published", f"window {moved.window} is published already")
    assert short.values() == ["a"]
    assert [g.number for g in list_generations(short.env.ledger, moved.window)] == [1, 2]


def test_a_text_that_changed_since_the_plan_is_not_run(short: Pipe) -> None:
    """The read refuses it, and does what was planned once the plan was repeated."""
    ref = short.plan()
    changed = text_of(SHORT.replace("most=2", "most=1"))
    use(short, changed)
    with pytest.raises(OptionsError, match=r"function short has changed since .*clear the run with its plan"):
        short.read(ref)
    assert isinstance(short.submitter, ReadHere)
    short.run()

    assert short.values() == ["a"]


class _Rewrites(ReadHere):
    """Somebody who may write to the work area changes the specification before the application reads it."""

    def __init__(self, code: FunctionCode, *, keeps_digest: bool) -> None:
        super().__init__()
        self.code, self.keeps_digest = code, keeps_digest

    def submit(self, submission: Submission, *, name: str) -> None:
        path = Path(submission.spec_uri.removeprefix("file://"))
        data = json.loads(path.read_text())
        function = data["options"]["function"]["path"]
        function["code"] = asdict(self.code)
        if not self.keeps_digest:
            function["digest"] = self.code.digest
        path.write_text(json.dumps(data))
        super().submit(submission, name=name)


@pytest.mark.parametrize("keeps_digest", [False, True])
def test_a_text_in_the_work_area_is_never_run(short: Pipe, tmp_path: Path, *, keeps_digest: bool) -> None:
    """A forged specification is refused before anything in it is used."""
    forged = f"def short(batch):\n    open({str(tmp_path / 'ran')!r}, 'w').close()\n    return batch\n"
    short.submitter = _Rewrites(FunctionCode(text=forged, file="x.py", line=1), keeps_digest=keeps_digest)
    with pytest.raises(ExchangeError, match=r"job specification .* is corrupt or was replaced"):
        short.run()

    assert not (tmp_path / "ran").exists()


def test_json_brings_no_text() -> None:
    """The code is no field of the option in JSON, wherever that comes from."""
    text = text_of(SHORT)
    data = text.to_json()
    assert from_json(data) == text
    assert data.keys() == {"kind", "name", "digest"}

    with pytest.raises(OptionsError, match="function_text has no option 'code'; it has name, digest"):
        from_json(data | {"code": SHORT})


def test_a_text_is_no_template() -> None:
    """Braces in it are Python's; the option is rendered around it."""
    braces = text_of(SHORT.replace("# a mark", "# {{ ds }} {% a mark"))
    resolved = ArrowFunction(braces, schema="value {{ type }}").resolve(
        lambda text: text.replace("{{ type }}", "string")
    )

    assert isinstance(resolved, ArrowFunction)
    assert (resolved.path, resolved.schema) == (braces, "value string")
    assert isinstance(resolved.path, FunctionText)
    assert resolved.path.code == braces.code


@pytest.mark.parametrize("lost", [True, False])
def test_only_the_text_of_the_digest_is_run(tmp_path: Path, *, lost: bool) -> None:
    """The last who could know better looks again: nothing of another text runs."""
    other = FunctionCode(text=f"open({str(tmp_path / 'ran')!r}, 'w')\n", file="x.py", line=1)
    with pytest.raises(
        ExchangeError, match="the text of function short is missing, or is not the one that was planned"
    ):
        load_function(replace(text_of(SHORT), code=None if lost else other))

    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("def short(batch):\n    return batch[\n", r"SyntaxError: '\[' was never closed \(mine\.py, line 13\)"),
        (
            "def short(batch, n=1 / 0):\n    return batch\n",
            r"ZeroDivisionError: division by zero \(mine\.py, line 12\)",
        ),
    ],
)
def test_a_text_that_cannot_be_defined(here: Pipe, body: str, says: str) -> None:
    """Another Python than the DAG's may refuse it: one line says where in the DAG's file; corrected, it runs."""
    here.put({"a": b"1\n"})
    use(here, text_of(body))
    with pytest.raises(FunctionError, match=rf"function short cannot be defined: {says}; correct it"):
        here.run()
    use(here, text_of("def short(batch):\n    return batch\n"))
    here.run(clear_number=1)

    assert here.values() == ["1"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("import nowhere", "ModuleNotFoundError: No module named 'nowhere'"),
        ("assert 'bad' not in batch['value'].to_pylist(), 'it is bad'", "AssertionError: it is bad"),
    ],
)
def test_an_exception_names_the_line_of_the_dag(pipe: Pipe, line: str, says: str) -> None:
    """The file and the line are those of the DAG; the record and its block are named as for any function."""
    pipe.put({"a.txt": b"bad\ngood\n"})
    use(pipe, text_of(f"def short(batch):\n    {line}\n    return batch\n", line=40))
    with pytest.raises(FunctionError) as raised:
        pipe.run()

    assert re.match(
        rf"feed feed window \w+: function short raised {says} \(mine\.py, line 41\) on the record at byte 0 of"
        r" file://.*/a\.txt",
        str(raised.value),
    )
    assert "\n" not in str(raised.value)


def test_what_a_text_defines_can_travel() -> None:
    """Spark pickles functions and classes that it defines by value, as no module has them."""
    from pyspark import cloudpickle

    made = load_function(
        text_of("def outer(batch):\n    def inner(x):\n        return x + 1\n    return inner\n", "outer")
    )

    assert made.__module__ not in sys.modules
    assert cloudpickle.loads(cloudpickle.dumps(made(None)))(1) == 2


class _Elsewhere(ReadHere):
    """A driver on another host, which no private file reaches."""

    @property
    def keeps_secrets(self) -> bool:
        return False


def test_a_driver_that_no_private_file_reaches(here: Pipe) -> None:
    """In deploy mode cluster nothing is submitted; by an import path, or in client mode, the function is called."""
    here.put({"a": b"1\n2\n"})
    here.submitter = _Elsewhere()
    use(here, text_of(SHORT))
    with pytest.raises(OptionsError, match=r"not one in deploy mode cluster, .*use deploy mode client, or name the"):
        here.run()
    assert not here.attempt_files(SPEC_NAME)
    here.function = ArrowFunction("user_functions:keep_even")
    here.run("w", clear_number=1)
    assert here.values() == ["2"]
    here.submitter = ReadHere()
    use(here, text_of(SHORT))
    here.run("w", clear_number=2)

    assert here.values() == ["1", "2"]


@pytest.mark.spark
def test_a_text_on_a_dataframe(pipe: Pipe) -> None:
    """It is called in the driver, and what it defines in the workers; a verification calls and so needs nothing."""
    pipe.put({"a": b"a\nbb\nccc\n"})
    use(pipe, text_of(DOUBLED, "doubled"), DataFrameFunction)
    pipe.run()
    values = pipe.values()
    pipe.env = replace(pipe.env, code=None)
    pipe.with_policies(on_rerun="verify")

    assert values == ["aa", "bbbb", "cccccc"]
    assert pipe.run(clear_number=1).status == "verified"


@pytest.mark.spark
def test_an_exception_on_a_dataframe_names_the_line_of_the_dag(pipe: Pipe) -> None:
    """As one of a module does: the last line of the DAG's file in the traceback."""
    pipe.put({"a": b"a\n"})
    text = text_of("def wrong(frame):\n    return frame.select('values')\n", "wrong", line=30)
    use(pipe, text, DataFrameFunction)
    with pytest.raises(
        FunctionError, match=r"function wrong fails: .*`values` cannot be resolved.* \(mine\.py, line 31\)"
    ):
        pipe.run()
