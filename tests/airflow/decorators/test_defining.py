"""What `@blockread` takes from a function: its text, its kind, and nothing that would not reach Spark."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from airflow_provider_blockread.decorators import blockread
from airflow_provider_blockread.decorators.defining import define
from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import ArrowFunction, DataFrameFunction, FunctionText, ParquetSink
from airflow_provider_blockread.spark.tasks.loading import load_function

pytestmark = pytest.mark.airflow

LIMIT = 3


def test_the_text_is_that_of_the_file() -> None:
    """Without decorators, indented as it is there, comments and all; its line is that of `def`."""

    @blockread(
        source=None,
        sink=None,
    )
    def first(batch: pa.RecordBatch, least: int = 2) -> pa.RecordBatch:
        query = """
not indented
"""  # a comment
        return [batch, least, query]

    text = first.keywords["function"].path
    lines = Path(__file__).read_text().splitlines()

    assert text.code.file == __file__
    assert lines[text.code.line - 1] == text.code.text.splitlines()[0]
    assert text.code.text.splitlines() == lines[text.code.line - 1 : text.code.line + 4]
    assert load_function(text)("b") == first.function("b") == ["b", 2, "\nnot indented\n"]


def test_a_function_may_use_what_it_defines_and_what_python_has() -> None:
    """Its own name, builtins, names of inner scopes, and parameters with defaults."""

    def own(batch: pa.RecordBatch, depth: int = 1, *, names: Any = frozenset()) -> Any:
        import math

        class Inner:
            base = 2
            twice = base * 2

        def inner(x: int) -> int:
            return x + depth + Inner.twice

        if depth:
            return own(batch, depth - 1)
        return [inner(math.floor(x)) for x in range(len(batch))], __name__, names

    assert load_function(define(own).text)("ab")[0] == own("ab")[0] == [4, 5]  # type: ignore[arg-type]


def test_the_same_text_has_the_same_digest(tmp_path: Path) -> None:
    """A DAG's file is parsed again on each worker, perhaps at another place and with other code before it."""
    made = []
    for number, head in enumerate(("", "# more\n" * 9)):
        path = tmp_path / str(number) / "dag.py"
        path.parent.mkdir()
        path.write_text(f"{head}def keep(batch):\n    return batch")
        names: dict[str, Any] = {}
        exec(compile(path.read_text(), str(path), "exec"), names)  # noqa: S102 - as Airflow does
        made.append(define(names["keep"]).text)

    assert made[0] == made[1]
    assert [text.code and text.code.line for text in made] == [1, 10]


def _of_a_module(batch: Any) -> Any:
    return batch, LIMIT


def _of_a_default(batch: Any, limit: int = LIMIT) -> Any:
    return batch, limit


def _of_an_import(batch: Any) -> Any:
    return [pa.array(batch) for _ in (1,)]


def _assigned(batch: Any) -> Any:
    global LIMIT  # noqa: PLW0603
    LIMIT = batch


def _of_a_closure() -> Callable[..., Any]:
    limit = 4

    def closing(batch: Any) -> Any:
        return batch, limit

    return closing


class _Class:
    def method(self, batch: Any = None) -> Any:
        return batch


def _nothing() -> None:
    """Take nothing."""


def _much(batch: Any, more: Any) -> Any:
    return batch, more


async def _awaits(batch: Any) -> Any:
    await asyncio.sleep(0)
    return batch


def _yields(batch: Any) -> Any:
    yield batch


@functools.wraps(_yields)
def _wraps(batch: Any) -> Any:
    return batch


@functools.lru_cache
def _cached(batch: Any) -> Any:
    return batch


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (_of_a_module, r"_of_a_module \(test_defining.py, line \d+\) uses LIMIT from outside, and only its own text"),
        (_of_a_default, "uses LIMIT from outside"),
        (_of_an_import, "uses pa from outside"),
        (_assigned, "uses LIMIT from outside"),
        (_of_a_closure(), "closing .* uses limit from outside"),
        (lambda batch: batch, "<lambda> .* is a lambda; define it with `def`"),
        (_Class.method, "method .* is a method; define it outside of a class"),
        (_Class().method, "is not a function"),
        (_Class, "is not a function"),
        (print, "print is not a function"),
        (_nothing, r"cannot be called with the records alone \(too many positional arguments\)"),
        (_much, "missing a required argument: 'more'"),
        (_awaits, "is a generator or a coroutine"),
        (_yields, "is a generator or a coroutine"),
        (_wraps, "has another decorator"),
        (_cached, "is not a function"),
    ],
)
def test_what_spark_would_not_get_is_refused(function: Any, says: str) -> None:
    """When the DAG is parsed, with the name that is missing and the place of the function."""
    with pytest.raises(OptionsError, match=says):
        blockread(kind="arrow")(function)


def test_a_second_decorator_is_refused() -> None:
    """It would not be applied where the function is called."""

    def other(function: Any) -> Any:
        return function

    with pytest.raises(OptionsError, match="has another decorator, which would not reach Spark"):

        @blockread(kind="arrow")
        @other
        def first(batch: Any) -> Any:
            return batch


def test_a_function_without_a_file_is_refused() -> None:
    """As one that was typed in, or made by `exec`."""
    names: dict[str, Any] = {}
    exec("def typed(batch):\n    return batch\n", names)  # noqa: S102
    with pytest.raises(OptionsError, match=r"typed .* has no readable source text .*; define it in a file"):
        blockread(kind="arrow")(names["typed"])


def _as_text(batch: "pa.RecordBatch"):  # type: ignore[no-untyped-def]  # noqa: ANN202, UP037
    return batch


def _returns(batch) -> pa.RecordBatch | None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    return batch


def _bare(batch):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    return batch


def _frame(frame: DataFrame, most: int = 3) -> DataFrame:  # type: ignore[name-defined]  # noqa: F821
    return frame.limit(most)


def _connected(frame: "pyspark.sql.connect.dataframe.DataFrame") -> Any:  # type: ignore[name-defined]  # noqa: F821, UP037
    return frame


def _mixed(batch: pa.RecordBatch) -> DataFrame:  # type: ignore[name-defined]  # noqa: F821
    return batch


def _pandas(frame: pd.DataFrame) -> pandas.DataFrame:  # type: ignore[name-defined]  # noqa: F821
    return frame


@pytest.mark.parametrize(
    ("function", "kind", "option_class"),
    [
        (_as_text, None, ArrowFunction),
        (_returns, None, ArrowFunction),
        (_bare, "arrow", ArrowFunction),
        (_frame, None, DataFrameFunction),
        (_connected, None, DataFrameFunction),
        (_bare, "dataframe", DataFrameFunction),
        (_mixed, "dataframe", DataFrameFunction),
        (_pandas, "dataframe", DataFrameFunction),
    ],
)
def test_annotations_or_an_argument_say_what_a_function_takes(
    function: Any, kind: str | None, option_class: type[ArrowFunction | DataFrameFunction]
) -> None:
    """Names in the text of the annotations are enough; what they name need not be imported."""
    option = blockread(kind=kind, columns=["_file"], schema="value string")(function).keywords["function"]

    assert type(option) is option_class
    assert isinstance(option.path, FunctionText)
    assert (option.columns, option.schema) == (["_file"], "value string")
    assert str(option) == f"function {function.__name__}"


@pytest.mark.parametrize(
    ("function", "kind", "says"),
    [
        (_bare, None, "_bare has annotations that do not say"),
        (_mixed, None, "_mixed has annotations that do not say"),
        (_pandas, None, "_pandas has annotations that do not say"),
        (_bare, "rows", "kind must be one of arrow, dataframe, not 'rows'"),
    ],
)
def test_a_function_of_no_kind_is_refused(function: Any, kind: str | None, says: str) -> None:
    """The message shows how to annotate it."""
    with pytest.raises(OptionsError, match=says):
        blockread(kind=kind)(function)


@pytest.mark.parametrize("name", ["expand", "expand_kwargs", "partial", "override"])
def test_a_group_is_no_task(name: str) -> None:
    """What decorated tasks have is refused, with what to do instead."""
    made = blockread(sink=ParquetSink("out"))(_as_text)
    with pytest.raises(AttributeError, match=rf"_as_text\.{name}: .*; call it once .* _as_text\(group_id='other'"):
        getattr(made, name)(group_id="x")
    with pytest.raises(AttributeError, match="BlockReadFunction has no attribute 'other'"):
        made.other  # noqa: B018


def test_arguments_have_names() -> None:
    """A decorator without parentheses gets the function in their place."""
    with pytest.raises(OptionsError, match=r"takes its arguments by name: @blockread\(source=..., sink=...\)"):
        blockread(_as_text)


def test_what_refusals_ask_for() -> None:
    """A plain function with names of its own, an annotation or a kind, and arguments by name is taken."""

    def right(batch: "pa.RecordBatch", limit: int = 3) -> Any:  # noqa: UP037
        import pyarrow.compute as pc

        return batch.filter(pc.less(batch["value"], limit))

    for kind in (None, "arrow"):
        assert blockread(kind=kind, sink=ParquetSink("out"))(right).keywords["group_id"] == "right"
