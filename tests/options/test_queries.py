"""Queries that no version of Spark parses are refused without Spark, with the place; all others are left to it."""

from __future__ import annotations

import pytest

from airflow_provider_blockread.options.parsing.query import problem_of
from tests.queries import QUERIES

REFUSED = {
    "": "it is empty",
    " -- SELECT 1\n/* SELECT 2 */": "it is empty",
    "DELETE FROM records": "it begins with DELETE instead of one of SELECT, WITH, ",
    "; SELECT 1": "it begins with ; instead of one of",
    "SELECT 1;\nDROP TABLE records": "a second statement begins (line 2, column 1)",
    "SELECT (1 FROM records": "( (line 1, column 8) is not closed",
    "SELECT a[(1]) FROM records": "] (line 1, column 12) closes nothing",
    "SELECT 1\nFROM records)": ") (line 2, column 13) closes nothing",
    "SELECT 'it's' FROM records": "' (line 1, column 13) has no end",
    "SELECT `a FROM records": "` (line 1, column 8) has no end",
    "SELECT '\\' FROM records": "' (line 1, column 8) has no end",
    "SELECT 1 FROM records /* that is all": "/* (line 1, column 23) has no end",
}


@pytest.mark.parametrize(("query", "problem"), REFUSED.items())
def test_what_no_spark_parses(query: str, problem: str) -> None:
    """The problem is named, and where it is."""
    assert problem_of(query).startswith(problem)


@pytest.mark.parametrize("query", QUERIES)
def test_what_spark_may_parse(query: str) -> None:
    """Nothing is said about it."""
    assert problem_of(query) == ""
