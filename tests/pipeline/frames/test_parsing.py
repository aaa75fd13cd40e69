"""What is refused of a query without Spark, Spark's parser refuses, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_provider_blockread.cli.spark import InProcessSpark
from airflow_provider_blockread.options.parsing.query import problem_of
from tests.examples import examples
from tests.queries import QUERIES

pytestmark = pytest.mark.spark

Parses = Callable[[str], bool]

PARTS = (
    *("SELECT 1", "SELECT", "FROM records", "VALUES", "WITH", "SHOW TABLES", "(", ")", "[", "]", "'", '"', "`", "\\"),
    *(";", "--", "/*", "*/", "/*+", "\n", " ", "r", "x", "*", ",", "1", "$", "''", "a", ".", "+", "AS", "{", "}", ":"),
)


@pytest.fixture(scope="module")
def parses(spark: InProcessSpark) -> Iterator[Parses]:
    """What says whether Spark takes a text for a query."""
    from py4j.protocol import Py4JJavaError

    with spark._started().session(title="test", report=lambda _: None) as session:
        parser = session._jsparkSession.sessionState().sqlParser()

        def parsed(query: str) -> bool:
            try:
                plan = parser.parsePlan(query)
            except Exception as error:
                if isinstance(error, Py4JJavaError):
                    raise
                return False
            return "Command" not in plan.nodeName() and not plan.nodeName().startswith("Show")

        yield parsed


@pytest.mark.parametrize("query", QUERIES)
def test_queries(parses: Parses, query: str) -> None:
    """Spark parses what the tests without it take for queries."""
    assert parses(query)


@examples(500)
@given(parts=st.lists(st.sampled_from(PARTS), max_size=12))
@example(parts=["/*", "/*", "*/", "SELECT 1"])
def test_nothing_that_spark_parses_is_refused(parses: Parses, parts: list[str]) -> None:
    """Whatever the text is made of."""
    query = "".join(parts)
    if problem_of(query):
        assert not parses(query)


@examples(200)
@given(query=st.sampled_from(QUERIES), at=st.integers(0, 200), sign=st.sampled_from(PARTS))
def test_no_query_with_one_more_sign_is_refused_that_spark_parses(
    parses: Parses, query: str, at: int, sign: str
) -> None:
    """As people misspell them."""
    spelled = query[:at] + sign + query[at:]
    if problem_of(spelled):
        assert not parses(spelled)
