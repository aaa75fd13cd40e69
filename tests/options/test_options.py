"""Options: what they refuse, and their way to JSON, through templates and from a command line."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import (
    FORMATS,
    ArrowFunction,
    AsRead,
    CustomFormat,
    DataFrameFunction,
    Delimited,
    EventFiles,
    FileList,
    FileSource,
    Fixed,
    FunctionCode,
    FunctionText,
    GenerationOptions,
    JsonLines,
    Limits,
    Lines,
    ParquetSink,
    Policies,
    Selection,
    SparkJob,
    Splitting,
    Sql,
    Value,
    WholeFile,
    build,
    from_json,
)

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10).filter(str.strip)
maybe = st.none() | names
counts = st.integers(1, 2**40)
encodings = st.sampled_from(["utf-8", "binary"])
scalars = st.none() | st.booleans() | st.integers() | names | st.binary()
several = names | st.lists(names, min_size=1, max_size=3).map(tuple)
policies = st.builds(
    Policies,
    on_missing=st.sampled_from(["fail", "exclude"]),
    on_bad_record=st.sampled_from(["fail", "quarantine", "drop"]),
    on_rerun=st.sampled_from(["rebuild", "verify", "skip"]),
    proof=st.sampled_from(["sums", "digest"]),
    max_record_bytes=st.integers(1, 2**30),
    max_decoded_bytes=counts,
    max_expansion=counts,
)
formats = st.one_of(
    st.builds(Lines, newline=st.sampled_from(["universal", "lf"]), encoding=encodings),
    st.builds(Delimited, delimiter=names | st.binary(min_size=1), encoding=encodings),
    st.builds(JsonLines, schema=maybe),
    st.builds(Fixed, length=counts, short_last=st.sampled_from(["fail", "keep"]), encoding=encodings),
    st.builds(WholeFile, encoding=encodings),
    st.builds(
        CustomFormat,
        path=st.just("package.module:Class"),
        options=st.dictionaries(names, scalars | st.lists(scalars).map(tuple) | st.dictionaries(names, scalars)),
    ),
)
sinks = st.builds(ParquetSink, names.map("out/".__add__), compression=st.sampled_from(["snappy", "zstd", "none"]),
                  row_group_bytes=counts, conn_id=maybe)  # fmt: skip
places = st.just(("_file", "_offset"))
codes = st.builds(FunctionCode, text=names, file=names, line=counts)
texts = st.builds(FunctionText, name=names, digest=names, code=st.none() | codes)
scopes = st.sampled_from(["window", "group"])
functions = st.one_of(
    st.builds(AsRead, columns=places),
    st.builds(ArrowFunction, st.just("m:f") | texts, schema=maybe, columns=places),
    st.builds(DataFrameFunction, st.just("m:f") | texts, schema=maybe, columns=places, scope=scopes),
    st.builds(Sql, st.just("SELECT * FROM records"), columns=places, scope=scopes),
)
values = st.one_of(
    formats,
    sinks,
    functions,
    policies,
    st.builds(
        FileSource,
        several,
        pattern=several,
        exclude=several,
        min_age=st.floats(0, 1e6),
        max_depth=st.none() | counts,
        max_size=st.none() | counts,
        done_marker=st.sampled_from([None, "_SUCCESS", "{name}.done"]),
        conn_id=maybe | st.dictionaries(names, names),
    ),
    st.builds(FileList, names, format=st.sampled_from(["auto", "text"]), conn_id=maybe),
    st.builds(EventFiles, key=names, asset=maybe),
    st.builds(Limits, max_files=st.none() | counts, max_bytes=st.none() | counts),
    st.builds(Selection, select=st.sampled_from(["arrival", "interval"]), limits=st.builds(Limits, max_blocks=counts)),
    st.builds(
        Splitting,
        block_size=st.sampled_from(["64MiB", "auto"]) | counts,
        max_readers=st.none() | counts,
        target_minutes=st.none() | st.floats(0.1, 1e4),
    ),
    st.builds(
        SparkJob,
        master=st.sampled_from([None, "local[2]", "spark://a:1", "yarn", "k8s://https://a:1", "{{ var.value.spark }}"]),
        proxy_user=maybe,
        conf=st.dictionaries(names, names),
        py_files=st.lists(names).map(tuple),
    ),
    st.builds(GenerationOptions, sink=sinks, record_format=formats, function=functions, policies=policies),
)


@given(value=values)
def test_options_go_to_json_and_back(value: Value) -> None:
    """Through JSON text every option comes back as it was, its kind and nested values included."""
    assert from_json(json.loads(json.dumps(value.to_json()))) == value


@given(value=values)
def test_options_pass_from_task_to_task(value: Value) -> None:
    """As Airflow writes and reads XComs; but of what it shows of a task, such as fields, they are no part."""
    assert Value.deserialize(json.loads(json.dumps(value.serialize())), 0) == value
    assert not callable(inspect.getattr_static(value, "serialize"))


@given(value=values)
def test_resolving_without_templates_changes_nothing(value: Value) -> None:
    """What the templates do not touch stays equal; the value itself is never changed."""
    before = value.to_json()

    assert value.resolve(str) == value
    assert value.to_json() == before


def test_resolve_reaches_every_string() -> None:
    """Templates are rendered in sequences, mappings and nested options, and nowhere else."""

    def render(text: str) -> str:
        return text.replace("{{ ds }}", "2024-05-06")

    source = FileSource(["in/{{ ds }}/"], pattern="{{ ds }}*")
    job = SparkJob(conf={"spark.app.name": "read {{ ds }}"})
    generation = GenerationOptions(sink=ParquetSink("out/{{ ds }}"), record_format=Delimited(delimiter=b"{{ ds }}"))
    resolved = generation.resolve(render)

    assert source.resolve(render) == FileSource(("in/2024-05-06/",), pattern="2024-05-06*")
    assert job.resolve(render).conf == {"spark.app.name": "read 2024-05-06"}
    assert resolved.sink.uri == "out/2024-05-06"
    assert resolved.record_format == Delimited(delimiter=b"{{ ds }}")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"kind": "linse"}, "unknown kind of option 'linse'; known are .*lines"),
        ({}, "unknown kind of option None"),
        ({"kind": "lines", "newlines": "lf"}, "lines has no option 'newlines'; it has compression, newline, encoding"),
        ({"kind": "parquet"}, "parquet: .*uri"),
    ],
)
def test_json_that_is_no_option_is_refused(data: dict[str, Any], message: str) -> None:
    """The message names what is unknown or missing, and what is known."""
    with pytest.raises(OptionsError, match=message):
        from_json(data)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (Lines, {"newline": "cr"}, "newline must be one of universal, lf, not 'cr'"),
        (Lines, {"encoding": "shift_jis"}, "encoding 'shift_jis' is not supported: use utf-8, binary"),
        (Delimited, {"delimiter": b""}, "at least one byte"),
        (Delimited, {"delimiter": "\u2020\u0160", "encoding": "cp1251"}, "cannot be written in cp1251"),
        (Fixed, {"length": 0}, "length must be a whole number of bytes above 0"),
        (Fixed, {"length": True}, "length must be"),
        (Fixed, {"length": 1, "short_last": "pad"}, "short_last must be"),
        (CustomFormat, {"path": "module"}, "'package.module:Class'"),
        (FileSource, {"uris": ()}, "at least one root"),
        (FileSource, {"uris": ["a", " "]}, "no blank one"),
        (FileSource, {"uris": "a", "max_depth": 0}, "max_depth must be a whole number above 0, not 0"),
        (FileSource, {"uris": "a", "min_age": "5 eons"}, "'5 eons' is not a duration"),
        (FileSource, {"uris": "a", "max_depth": 2, "recursive": False}, "recursive=False is a depth of 1"),
        (
            FileSource,
            {"uris": "a", "min_size": "2KiB", "max_size": "1KiB"},
            "min_size 2KiB is larger than max_size 1KiB",
        ),
        (FileSource, {"uris": "a", "max_size": "wide"}, "'wide' is not a size"),
        (FileSource, {"uris": "a", "done_marker": "{name}"}, "is not a marker; write a file name"),
        (FileSource, {"uris": "a", "done_marker": "done/{name}"}, "is not a marker"),
        (FileSource, {"uris": "a", "done_marker": "{nam}.done"}, "is not a marker"),
        (FileSource, {"uris": "a", "done_marker": "{name}{stem}.done"}, "is not a marker"),
        (Limits, {"max_files": 0}, "max_files must be a whole number above 0, not 0"),
        (Limits, {"max_bytes": "1GiB"}, "max_bytes must be a whole number above 0, not '1GiB'"),
        (Selection, {"select": "newest"}, "select must be one of arrival, interval"),
        (Splitting, {"block_size": "64 parsecs"}, "not a size"),
        (Splitting, {"max_groups": 0}, "max_groups must be a whole number above 0"),
        (Splitting, {"min_readers": 0}, "min_readers must be a whole number above 0"),
        (ParquetSink, {"uri": " "}, "must name a directory"),
        (ParquetSink, {"uri": "out", "compression": "rar"}, "compression must be one of snappy"),
        (ParquetSink, {"uri": "out", "work_uri": "out/work"}, "is inside the output"),
        (ArrowFunction, {"path": "f"}, "'package.module:function'"),
        (AsRead, {"columns": ["_line"]}, "columns must be one of _file, _block, _offset"),
        (Policies, {"on_bad_record": "ignore"}, "on_bad_record must be one of fail, quarantine, drop"),
        (Policies, {"max_record_bytes": 0}, "max_record_bytes must be a whole number above 0"),
        (Policies, {"max_record_bytes": 2**31}, "=2147483648 must be below 2 GiB; give at most 2145386496"),
        (Policies, {"max_expansion": 0}, "max_expansion must be a whole number above 0"),
        *(
            (Policies, {"on_bad_record": "drop", "max_bad_records": most}, "neither a number nor a share of all")
            for most in (-1, 0.5, True, "", "1 in 100", "100.1%", "1e2")
        ),
    ],
)
def test_options_that_cannot_work_are_refused(kind: type[Value], options: dict[str, Any], message: str) -> None:
    """The message names the option and what it may be."""
    with pytest.raises(OptionsError, match=message):
        build(kind, options)


@pytest.mark.parametrize(
    ("most", "records", "allowed"),
    [(None, 7, 7), (3, 1000, 3), ("30", 1000, 30), (0, 1000, 0), ("0.7%", 1000, 7), (" 33.3 %", 10, 3), ("100%", 7, 7)],
)
def test_so_many_bad_records_are_allowed(most: int | str | None, records: int, allowed: int) -> None:
    """A share counts exactly: 7 of 1,000 are 0.7%."""
    policies = Policies(on_bad_record="drop", max_bad_records=most)

    assert [bad for bad in range(records + 1) if policies.allows_bad(bad, records)] == list(range(allowed + 1))


@pytest.mark.parametrize("name", FORMATS)
def test_formats_are_registered_under_their_kind(name: str) -> None:
    """The name that users write is the name in JSON."""
    assert FORMATS[name].kind == name


def test_the_work_area_lies_beside_the_output() -> None:
    """No glob below the output can pick up what is not published."""
    assert ParquetSink("s3://lake/logs/").work_area == "s3://lake/logs.blockread"
    assert ParquetSink("out", work_uri="elsewhere").work_area == "elsewhere"
