"""A window that is planned again by a task of another name, or with options that it could not be read with."""

from __future__ import annotations

import dataclasses

from airflow_provider_blockread.options import DataFrameFunction
from airflow_provider_blockread.steps import plan
from tests.pipeline.make import Pipe


def test_a_task_that_was_renamed_goes_on_with_the_window_of_its_run(here: Pipe) -> None:
    """Cleared, and tried again: the window was planned under the old name, its generation under the new one."""
    here.put({"a.txt": b"a1\n"})
    request = dataclasses.replace(here.request("w"), run="d/r", owner="d/r/old/-1")
    ref = plan(here.env, request)
    here.read(ref)
    here.commit(ref)
    cleared = dataclasses.replace(request, owner="d/r/new/-1", clear_number=1)

    assert [plan(here.env, cleared).generation for _ in range(2)] == [2, 2]


def test_a_published_window_is_left_alone_whatever_its_function_needs(here: Pipe) -> None:
    """It would need the window in one group, and nothing is read."""
    here.put({"a.txt": b"a1\na2\n", "b.txt": b"b1\nb2\n"})
    here.group_bytes = 6
    here.run()
    here.function = DataFrameFunction("user_frames:same")

    assert here.plan().status == "published"
