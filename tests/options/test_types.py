"""Options of another type than theirs: refused by name where Python would take them for something else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import (
    Csv,
    CustomFormat,
    CustomSink,
    Delimited,
    Escaped,
    FileList,
    FileSource,
    GenerationOptions,
    Limits,
    ParquetSink,
    Policies,
    Selection,
    SparkJob,
    Splitting,
    TextSink,
    Value,
)

TEMPLATE: Any = "{{ params.x }}"


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (Csv, {"header": "false"}, "csv: header must be True or False, not 'false'"),
        (Csv, {"header": None}, "csv: header must be True or False, not None"),
        (Csv, {"delimiter": 9}, "csv: delimiter must be text or bytes, not a value of type int"),
        (Escaped, {"escape": None}, "escaped: escape must be text or bytes, not a value of type NoneType"),
        (Delimited, {"delimiter": None}, "delimited: delimiter must be text or bytes, not a value of type NoneType"),
        (TextSink, {"uri": "/out", "terminator": ["\n"]}, "terminator must be text or bytes, not a value of type list"),
        (Splitting, {"target_minutes": "10"}, "target_minutes must be a number above 0, not '10'"),
        (SparkJob, {"heartbeat_s": None}, "heartbeat_s=None must be between 0 and stale_after_s=120.0"),
        (FileSource, {"uris": "/in", "hidden": "no"}, "hidden must be True or False, not 'no'"),
        (FileSource, {"uris": Path("/in")}, "uris must be text or a list, not a value of type PosixPath"),
        (FileSource, {"uris": "/in", "exclude": None}, "exclude must be text or a list, not a value of type NoneType"),
        (FileSource, {"uris": "/in", "pattern": []}, "pattern must list at least one; leave it out"),
        (
            FileSource,
            {"uris": [Path("/in")]},
            r"uris must list texts, but has a value of type PosixPath; convert it by str",
        ),
        (FileSource, {"uris": "/in", "redirect_hosts": [None]}, "redirect_hosts must list texts, .* of type NoneType"),
        (SparkJob, {"py_files": ["a.py", Path("b.py")]}, "py_files must list texts, but has a value of type PosixPath"),
        (ParquetSink, {"uri": "/out", "partition_by": [["day"]]}, "partition_by must list texts, .* of type list"),
        (FileList, {"uri": Path("/in")}, "uri must be text, not a value of type PosixPath"),
        (Selection, {"limits": {"max_files": 1}}, "limits must be a Limits, not a value of type dict"),
        (Selection, {"limits": None}, "limits must be a Limits, not a value of type NoneType"),
        (
            FileSource,
            {"uris": {"/in"}},
            r"uris must be text or a list, not a value of type set; convert it by sorted\(\)",
        ),
        (FileSource, {"uris": iter(["/in"])}, "uris must be text or a list, not a value of type list_iterator"),
        (SparkJob, {"environment": {"CORP": 1}.keys()}, "environment must be a list, not a value of type dict_keys"),
        (SparkJob, {"environment": "CORP_*"}, "environment must be a list, not a value of type str"),
        (SparkJob, {"py_files": "/x.py"}, "py_files must be a list, not a value of type str"),
        (SparkJob, {"conf": "a=secret"}, "conf must be a mapping, not a value of type str"),
        (ParquetSink, {"uri": "/out", "audit": None}, "audit must be a list, not a value of type NoneType"),
        (ParquetSink, {"uri": "/out", "log": "yes"}, "log must be True or False, not 'yes'"),
        (ParquetSink, {"uri": "/out", "row_group_bytes": "1MiB"}, "row_group_bytes must be a whole number above 0"),
        (ParquetSink, {"uri": "/out", "file_bytes": 0}, "file_bytes must be a whole number above 0, not 0"),
        (GenerationOptions, {"sink": "/out"}, "sink must be a Sink, not a value of type str"),
        (
            GenerationOptions,
            {"sink": ParquetSink("/out"), "record_format": Csv},
            "record_format must be a FormatOption",
        ),
    ],
)
def test_a_value_of_another_type_is_refused(kind: type[Value], options: dict[str, Any], message: str) -> None:
    """A text that says false is true to Python, and a text in the place of a list is a list of characters."""
    with pytest.raises(OptionsError, match=message):
        kind(**options)


def test_a_set_is_taken_once_it_is_sorted() -> None:
    """Each process has another order of a set: Airflow would make a version of the DAG at every parse."""
    roots = {"/in", "/more"}
    with pytest.raises(OptionsError, match=r"of type set; convert it by sorted\(\)"):
        FileSource(roots)  # type: ignore[arg-type]

    assert FileSource(sorted(roots)).roots == ("/in", "/more")


@pytest.mark.parametrize("make", [partial(CustomFormat, path="a:B"), partial(CustomSink, "/out", path="a:B")])
def test_arguments_of_a_class_of_ones_own_are_json(make: Callable[..., Any]) -> None:
    """The ledger holds them; a text in the place of a path, and a list in the place of a set, are taken."""
    for value, kind in (({1}, "set"), ([{"in": Path("/x")}], "PosixPath")):
        with pytest.raises(OptionsError, match=f"option width has a value of type {kind}, .*; give texts"):
            make(options={"width": value})

    taken = {"width": [{"in": "/x"}, None, 1.5, True, b"x", (1,)]}
    assert make(options=taken).options == taken


def test_a_path_in_a_list_is_taken_as_text() -> None:
    """Converted as the message says."""
    roots = [Path("/in"), Path("/more")]
    with pytest.raises(OptionsError, match=r"must list texts, .*; convert it by str\(\)"):
        FileSource(roots)  # type: ignore[arg-type]

    assert FileSource([str(root) for root in roots]).roots == ("/in", "/more")


def test_the_first_options_may_come_by_position() -> None:
    """They are looked at as well."""
    with pytest.raises(OptionsError, match="uris must be text or a list"):
        FileSource(5)  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "value"), [("False", False), ("true", True), ("FALSE", False)])
def test_what_is_true_or_false_may_be_a_template(text: str, *, value: bool) -> None:
    """It is what the template is rendered to."""
    template: Any = "{{ params.header }}"

    assert Csv(header=template).resolve(lambda found: text if "{" in found else found).header is value
    with pytest.raises(OptionsError, match="option header='perhaps' must be true or false"):
        Csv(header=template).resolve(lambda found: "perhaps" if "{" in found else found)


@pytest.mark.parametrize("make", [ParquetSink, FileSource, lambda text: FileSource("/in", pattern=("*.log", text))])
def test_a_template_without_a_value_is_no_name(make: Callable[[str], Value]) -> None:
    """Records would be published in a folder None, wherever the task runs; plain text is what it says."""
    with pytest.raises(OptionsError, match=r"is None after rendering {{ params.x }}; give .* a value"):
        make(TEMPLATE).resolve(lambda text: "None" if "{" in text else text)
    assert make(TEMPLATE).resolve(lambda text: "x" if "{" in text else text) == make("x")
    assert make("None").resolve(str) == make("None")


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (Splitting, "block_size", "1MiB"),
        (Splitting, "block_size", "auto"),
        (Splitting, "group_bytes", "1GiB"),
        (Selection, "max_age", "7d"),
        (Selection, "start_from", "2026-11-20"),
        (partial(FileSource, "/in"), "min_age", "5min"),
        (partial(FileSource, "/in"), "max_size", "1KiB"),
    ],
)
def test_sizes_and_times_may_be_templates(kind: Callable[..., Value], name: str, value: str) -> None:
    """What they are rendered to is checked, and an error names the option."""
    template = kind(**{name: TEMPLATE})

    assert template.resolve(lambda text: value if "{" in text else text) == kind(**{name: value})
    with pytest.raises(OptionsError, match=f": {name}: 'x' is not a "):
        template.resolve(lambda text: "x" if "{" in text else text)


class Result:
    """What Airflow's result of a task has, by which it is known."""

    def iter_references(self) -> None:
        """Yield the tasks."""


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (FileSource, "file_source: uris cannot be a Result, which has its value only when tasks run; write a template"),
        (lambda later: Limits(max_files=later), "limits: max_files cannot be a Result, "),
        (lambda later: Csv(header=later), "csv: header cannot be a Result, "),
        (lambda _: Limits(max_files=TEMPLATE), "limits: max_files cannot be a template; "),
        (lambda _: Policies(on_bad_record=TEMPLATE), "policies: on_bad_record cannot be a template; "),
    ],
)
def test_what_is_known_only_when_tasks_run_is_refused_where_it_is_needed_before(
    make: Callable[[Any], object], what: str
) -> None:
    """The message says what to do instead."""
    with pytest.raises(OptionsError, match=f"{what}.*let a task return all of an operator's option"):
        make(Result())
