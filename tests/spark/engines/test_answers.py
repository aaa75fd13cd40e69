"""Answers that come back from a server on which others may run code."""

from __future__ import annotations

import datetime as dt
import os
import pickle
import shutil
from decimal import Decimal

import pytest

from airflow_provider_blockread.errors import SparkJobError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.observer import Tally
from airflow_provider_blockread.options.values import from_json
from airflow_provider_blockread.spark.engines.answers import answer_from
from airflow_provider_blockread.spark.tasks.partition import TaskReport


class Calls:
    """A value whose pickle calls a function."""

    def __init__(self, function: object, *arguments: object) -> None:
        """Take what is to be called."""
        self.made = function, arguments

    def __reduce__(self) -> tuple[object, ...]:
        """Return the call."""
        return self.made


def test_what_tasks_return() -> None:
    """Reports with their files, and state maps with the seconds that they took."""
    values = {"day": dt.date(2026, 1, 2), "price": Decimal("1.50"), "at": dt.datetime(2026, 1, 2, tzinfo=dt.UTC)}
    file = OutputFile(uri="file:///a", size=1, rows=2, partition=values, statistics={"id": [1, 2]})
    report = TaskReport(
        receipts=b"\x00" * 9,
        outputs=(file,),
        quarantined=(),
        schema="id: int64",
        tally=Tally(blocks=1, records=2, bad_records=0, bytes=8),
    )
    for answer in (report, [(1, [[0, 1], [1, 0]])], (report, 0.25), None):
        assert answer_from(pickle.dumps(answer)) == answer


@pytest.mark.parametrize("function", [os.system, print, shutil.rmtree, from_json])
def test_what_no_task_returns(function: object) -> None:
    """It is refused before anything of it is called."""
    with pytest.raises(
        SparkJobError, match=rf"that no task of this package gives \(.*{getattr(function, '__name__', '')}\)"
    ):
        answer_from(pickle.dumps(Calls(function, "1")))


def test_what_is_no_answer() -> None:
    """Other bytes are refused in the same words."""
    with pytest.raises(SparkJobError, match="an answer that no task of this package gives"):
        answer_from(b"\x80garbage")
