"""Windows into a sink of one's own, a directory with a log, and tables: published, rebuilt and undone."""

from __future__ import annotations

import dataclasses

import pytest

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.windows.generations import list_generations
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.sinks.log.reading import read_published
from airflow_provider_blockread.steps.upkeep.withdrawing import undo
from tests.pipeline.make import Pipe, ReadHere

_LOGGED = pytest.mark.parametrize("sink", ["parquet with a log"])


@pytest.fixture
def sink() -> str:
    """The documentation's example."""
    return "custom"


def test_a_window_is_published_rebuilt_and_undone(here: Pipe) -> None:
    """With arguments of the class."""
    here.put({"a.txt": b"a1\na2\n", "b.txt": b"b1\n"})
    here.sink_options = {"options": {"codec": "lz4"}}
    done = here.run()

    assert (done.rows, done.outputs) == (3, 1)
    assert here.values() == ["a1", "a2", "b1"]
    before = here.published()
    here.run(clear_number=1)
    assert here.values() == ["a1", "a2", "b1"]
    assert set(here.published()).isdisjoint(before)
    undo(here.env, get_window(here.env.ledger, done.window), who="ann")
    assert here.published() == []


def test_rows_say_where_they_come_from(here: Pipe) -> None:
    """The class gets the audit columns that the option asks for, behind the others."""
    here.put({"a.txt": b"a1\na2\n"})
    here.sink_options = {"audit": ["_offset", "_window_key"]}
    here.run("w")

    assert sorted(here.rows(), key=str) == [
        {"value": "a1", "_offset": 0, "_window_key": "w"},
        {"value": "a2", "_offset": 3, "_window_key": "w"},
    ]


def test_what_is_no_sink_is_refused_by_the_plan(here: Pipe) -> None:
    """Nothing was listed or frozen; with the path corrected the same window is planned."""
    here.put({"a.txt": b"a1\n"})
    here.sink_options = {"path": "pathlib:Path"}
    with pytest.raises(OptionsError, match="lacks prepare, writer"):
        here.plan()
    assert not here.work.exists()
    here.sink_options = {}

    assert here.run().rows == 1


@pytest.mark.slow
@_LOGGED
def test_a_window_is_rebuilt_with_more_columns_and_undone(here: Pipe) -> None:
    """What was added is in the summary, the task's log and the ledger; without the option nothing is read."""
    here.put({"a.csv": b"id,n\n1,2\n"})
    here.record_format = Csv(header=True, columns="by_name", schema="id int")
    first = here.run()
    assert first.schema_changes == ""
    here.record_format = dataclasses.replace(here.record_format, schema="id long, n int")
    with pytest.raises(OptionsError, match="has column 'id' as int32, not int64; cast it"):
        here.run(clear_number=1)
    here.sink_options = {"schema": "add_columns"}
    done = here.run(clear_number=2)

    changes = "column n int32 added, column id widened to int64"
    assert (done.schema_changes, done.table_version) == (changes, "")
    assert any(message.endswith(f"has changed: {changes}") for message in here.messages)
    assert list_generations(here.env.ledger, done.window)[-1].schema_changes == changes
    assert here.rows() == [{"id": 1, "n": 2}]
    undo(here.env, get_window(here.env.ledger, done.window), who="ann")
    assert read_published(str(here.out)).to_table().to_pylist() == []


@_LOGGED
def test_a_window_without_rows(here: Pipe) -> None:
    """It has no entry, and an entry without files once a rebuild has left nothing of it."""
    here.put({"a.csv": b"id\n"})
    here.record_format = Csv(header=True, schema="id int")
    here.run()
    assert here.rows() == []
    here.put({"b.csv": b"id\n1\n"})
    done = here.run("next")
    assert here.rows() == [{"id": 1}]
    undo(here.env, get_window(here.env.ledger, done.window), who="ann")

    assert here.rows() == []


@pytest.mark.slow
@pytest.mark.parametrize("sink", ["parquet with a log", "delta", "iceberg", "postgres"])
def test_a_window_whose_columns_are_in_another_case(here: Pipe) -> None:
    """Refused before anything is read; with the option the clear publishes them under the names that are there."""
    here.record_format = Csv(header=True, columns="by_name", schema="id int, Name string")
    here.put({"a.csv": b"id,Name\n1,a\n"})
    here.run("first")
    here.record_format = Csv(header=True, columns="by_name", schema="NAME string, ID int")
    here.put({"b.csv": b"NAME,ID\nb,2\n"})
    here.sink_options = {} if here.kind == "postgres" else {"schema": "add_columns"}
    with pytest.raises(OptionsError, match=r"has no column 'NAME'|has column 'Name', not 'NAME'"):
        here.run("second")
    here.sink_options = {"case_sensitive": False}
    here.run("second", clear_number=1)

    assert sorted(here.rows(), key=str) == [{"id": 1, "Name": "a"}, {"id": 2, "Name": "b"}]


@pytest.mark.slow
@pytest.mark.parametrize("sink", ["text", "csv", "json_lines"])
def test_a_group_has_a_file(here: Pipe) -> None:
    """One task reads a group, in the order of its files; a window of two groups has two files."""
    here.put({f"{number}.txt": b"".join(b"%d%d\n" % (number, row) for row in range(5)) for number in range(8)})
    here.submitter, here.group_bytes = ReadHere(cores=4), 60
    by_task = here.run()
    here.sink_options = {"per": "group"}
    by_group = here.run(clear_number=1)

    assert by_task.outputs > by_group.outputs == 2
    assert here.values() == sorted(f"{number}{row}" for number in range(8) for row in range(5))
    texts = [(here.out / name).read_text() for name in here.published()]
    assert all(text == "".join(sorted(text.splitlines(keepends=True))) for text in texts if '"' not in text)

    here.with_policies(on_rerun="verify")
    assert here.run(clear_number=2).records == 40
    assert here.values() == sorted(f"{number}{row}" for number in range(8) for row in range(5))
