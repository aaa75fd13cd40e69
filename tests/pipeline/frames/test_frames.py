"""DataFrame functions and SQL see the records of a window, whatever they do, and the output is what they return."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import FunctionError, OptionsError
from airflow_provider_blockread.options import (
    ArrowFunction,
    AsRead,
    Csv,
    DataFrameFunction,
    Limits,
    Lines,
    Policies,
    Selection,
    Sql,
)
from tests.pipeline.frames.returned import COUNT, RETURNED, row
from tests.pipeline.make import Pipe
from tests.sinks.kinds import KINDS

pytestmark = pytest.mark.spark


@pytest.fixture
def numbers(pipe: Pipe) -> Pipe:
    """Return a pipe with records in three files of several blocks."""
    pipe.put({f"{n}.csv": b"".join(map(row, range(n, COUNT, 3))) for n in range(3)})
    pipe.record_format, pipe.block_size = Csv(schema="id long, word string"), 500
    return pipe


def staged(pipe: Pipe) -> list[str]:
    """Return what is left of staged records."""
    return [str(path) for path in pipe.work.rglob("records/*")]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", RETURNED)
def test_the_output_is_what_the_function_returns(numbers: Pipe, name: str) -> None:
    """The function sees each record of the window once, though it is read in many tasks; nothing stays staged."""
    numbers.function, expected = RETURNED[name]
    numbers.group_bytes = 1000
    done = numbers.run()

    key = next(iter(expected[0])) if expected else ""
    assert sorted(numbers.rows(), key=lambda found: found[key]) == expected
    assert (done.records, done.rows, done.groups) == (COUNT, len(expected), 1)
    assert staged(numbers) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", KINDS)
def test_every_sink(pipe: Pipe, kind: str) -> None:
    """A query is written by the writer of each sink; one that has a file for each block must know the block."""
    pipe.put({"a": b"".join(b"%d\n" % n for n in range(50))})
    columns = ["_block"] if KINDS[kind].option("out").per_block else []
    query = "SELECT * FROM records WHERE value LIKE '%7'"
    pipe.kind, pipe.function, pipe.block_size = kind, Sql(query, columns=columns), 40
    done = pipe.run()

    assert (pipe.values(), done.rows) == (["17", "27", "37", "47", "7"], 5)


def test_places(pipe: Pipe) -> None:
    """A record's file, block and offset are columns where they are asked for, also beside a name with brackets."""
    pipe.out_name = "_out [1] {a} x=1 #%41"
    pipe.put({"a [b]": b"0123\n56\n8"})
    pipe.block_size = 5
    pipe.function = Sql("SELECT _file AS f, _block AS b, _offset AS o, value FROM records",
                        columns=("_file", "_block", "_offset"))  # fmt: skip
    pipe.run()

    places = sorted((found["f"].rpartition("/")[2], found["b"], found["o"], found["value"]) for found in pipe.rows())
    assert places == [("a [b]", 0, 0, "0123"), ("a [b]", 1, 5, "56"), ("a [b]", 1, 8, "8")]


def test_no_records(pipe: Pipe) -> None:
    """A function gets the columns of a window whose records are all bad, too."""
    pipe.put({"a": b"x\ny\n"})
    pipe.record_format, pipe.policies = Csv(schema="id long"), Policies(on_bad_record="quarantine")
    pipe.function = Sql("SELECT count(id) AS n FROM records")
    done = pipe.run()

    assert pipe.rows() == [{"n": 0}]
    assert (done.records, done.bad_records, done.rows) == (2, 2, 1)


def test_scope_group(numbers: Pipe) -> None:
    """With its scope a group, a function sees each group by itself; files that span groups are proven as a whole."""
    numbers.function, numbers.group_bytes = DataFrameFunction("user_frames:counted", scope="group"), 1000
    done = numbers.run()

    found = numbers.rows()
    assert len(found) == done.groups > 3
    assert sum(group["n"] for group in found) == COUNT


def test_a_file_in_parts(numbers: Pipe) -> None:
    """Windows that read parts of a file each see the records of their part."""
    numbers.put({"1.csv": b"", "2.csv": b""})
    numbers.selection = Selection(limits=Limits(max_blocks=2))
    numbers.function = Sql("SELECT id, _offset AS at FROM records", columns=["_offset"])
    done = [numbers.run(f"w{number}") for number in range(2)]

    assert sum(window.records for window in done) == len(numbers.rows()) == len(range(0, COUNT, 3))
    assert {found["id"] for found in numbers.rows()} == set(range(0, COUNT, 3))


def test_files_that_span_groups_with_quotes(numbers: Pipe) -> None:
    """Groups of quoted csv are entered in the states that a scan has found."""
    numbers.put({f"{n}.csv": b"".join(b'%d,"a\n%d"\n' % (id_, id_) for id_ in range(n, 90, 3)) for n in range(3)})
    numbers.function, numbers.block_size, numbers.group_bytes = Sql("SELECT id FROM records", scope="group"), 50, 100
    done = numbers.run()

    assert done.groups > 3
    assert sorted(found["id"] for found in numbers.rows()) == list(range(90))


def test_scope_window_needs_one_group(numbers: Pipe) -> None:
    """A window that was planned in several groups is not given to a function that must see all of it."""
    numbers.group_bytes, numbers.function = 1000, AsRead()
    ref = numbers.plan()
    assert ref.groups > 1
    numbers.function = DataFrameFunction("user_frames:counted")

    with pytest.raises(OptionsError, match=r"was planned in \d+ groups, but function user_frames:counted needs all"):
        numbers.plan()


def test_task_that_fails_once(pipe: Pipe) -> None:
    """A task that Spark tries again leaves no row of its first attempt."""
    pipe.put({"a": b"".join(map(row, range(COUNT)))})
    pipe.record_format, pipe.function = Csv(schema="id long, word string"), DataFrameFunction("user_frames:fails_once")

    done = pipe.run()
    assert (Path(os.environ["BLOCKREAD_TEST_MARKS"]) / "frame failed").exists()
    assert sorted(found["id"] for found in pipe.rows()) == list(range(COUNT))
    assert done.rows == COUNT


@pytest.mark.parametrize(
    ("function", "what"),
    [
        ("nothing", "function user_frames:nothing returned NoneType: it must return a DataFrame"),
        ("rows", "function user_frames:rows returned list: it must return a DataFrame"),
        ("pandas", "returned pandas.DataFrame: it must return a DataFrame of Spark, without `toPandas"),
        ("raises", r"function user_frames:raises fails: ValueError: cannot bear it \(user_frames.py, line \d+\);"),
        ("leaves", r"function user_frames:leaves fails: SystemExit: 0 \(user_frames.py, line \d+\);"),
        ("misspells", r"fails: \[UNRESOLVED_COLUMN.*`idd`.*\[`id`, `word`\]\. SQLSTATE: 42703 \(user_frames.py"),
        ("twice", "two columns named 'a'"),
        ("locks", "fails: PicklingError: Could not serialize object: TypeError: cannot pickle '_thread.lock' object"),
        ("raises_in_tasks", "fails: KeyError: 'no idea what word [0-6] means'"),
    ],
)
def test_a_wrong_function_says_so_in_one_line(
    numbers: Pipe, function: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names feed, window and function, and says in one line what is wrong; nothing is published or left."""
    numbers.function = DataFrameFunction(f"user_frames:{function}")

    with pytest.raises(FunctionError, match=rf"^feed feed window \w+ group 0: .*{what}") as raised:
        numbers.run()
    assert "\n" not in str(raised.value)
    assert "\tat " not in str(raised.value)
    assert "Traceback" not in capsys.readouterr().err
    assert (numbers.published(), staged(numbers)) == ([], [])


@pytest.mark.parametrize("option", [DataFrameFunction, ArrowFunction])
def test_a_function_that_cannot_be_imported(numbers: Pipe, option: type[DataFrameFunction | ArrowFunction]) -> None:
    """The error names feed and window, before anything is written."""
    numbers.function = option("user_frames:no_such")

    with pytest.raises(OptionsError, match=r"^feed feed window \w+ group 0: function 'user_frames:no_such' cannot be"):
        numbers.run()
    assert numbers.published() == []


def test_undeclared_schema(numbers: Pipe) -> None:
    """What a function returns must have the declared columns and types."""
    numbers.function = DataFrameFunction("user_frames:identity", schema="id int, word string")

    with pytest.raises(
        FunctionError, match="does not return its declared schema: column 'id' is int64 instead of int32"
    ):
        numbers.run()


@pytest.mark.parametrize(
    ("query", "what"),
    [
        ("SELECT nope FROM records", r"the SQL query fails: \[UNRESOLVED_COLUMN.*`nope`"),
        ("SELECT * FORM records WHERE", r"the SQL query fails: \[PARSE_SYNTAX_ERROR\] Syntax error at or near"),
    ],
)
def test_a_wrong_query_is_refused_before_anything_is_read(numbers: Pipe, query: str, what: str) -> None:
    """Spark's own sentence says what is wrong, without the JVM's stack, and no task has read anything."""
    numbers.put({"0.csv": b"no number,\n"})
    numbers.function = Sql(query)

    with pytest.raises(FunctionError, match=rf"^feed feed window \w+ group 0: {what}") as raised:
        numbers.run()
    assert "\n" not in str(raised.value)
    assert numbers.attempt_files("receipts.parquet") == []


def test_a_query_that_fails_for_a_value(numbers: Pipe) -> None:
    """What Spark raises for a value is said with its own sentence."""
    numbers.function = Sql("SELECT CAST(word AS INT) AS n FROM records")

    with pytest.raises(FunctionError, match=r"the SQL query fails: \[CAST_INVALID_INPUT\] The value 'word \d'"):
        numbers.run()


def test_a_sink_that_cannot_hold_the_rows(numbers: Pipe) -> None:
    """A writer's refusal is passed on from the tasks."""
    numbers.kind, numbers.function = "text", Sql("SELECT id FROM records")

    with pytest.raises(FunctionError, match="a row of the SQL query: a line is one column `value` of text or bytes"):
        numbers.run()


def test_a_record_cannot_forge_an_error(pipe: Pipe) -> None:
    """A record in the message of a task's error chooses its words, and not what kind of error it is."""
    pipe.put({"a": b"x blockread-failure eyJmYWlsdXJlIjoge319\n"})
    pipe.record_format, pipe.function = Lines(), DataFrameFunction("user_frames:quotes")

    with pytest.raises(FunctionError, match="fails: ValueError: x blockread-failure"):
        pipe.run()


def test_a_verification_calls_no_function(numbers: Pipe) -> None:
    """Clearing a published window to verify it reads and proves its records, and leaves output and function alone."""
    numbers.function = DataFrameFunction("user_frames:largest")
    numbers.run()
    before = numbers.published()
    numbers.with_policies(on_rerun="verify", proof="digest")
    numbers.function = DataFrameFunction("user_frames:raises")
    done = numbers.run(clear_number=1)

    assert (done.status, done.records) == ("verified", COUNT)
    assert (numbers.published(), staged(numbers)) == (before, [])


def test_a_rebuild_replaces_the_output(numbers: Pipe) -> None:
    """A changed query builds the window again."""
    numbers.function = Sql("SELECT id FROM records WHERE id < 3")
    numbers.run()
    numbers.function = Sql("SELECT id FROM records WHERE id < 2")
    done = numbers.run(clear_number=1)

    assert sorted(found["id"] for found in numbers.rows()) == [0, 1]
    assert (done.generation, done.rows) == (2, 2)
