"""Files of an Iceberg table carry the ids of its columns, by which readers find them whatever their names are now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.catalog import load_catalog
from pyiceberg.io.pyarrow import pyarrow_to_schema

from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.exchange.model import FieldIds, OutputFile
from airflow_provider_blockread.sinks.columnar.field_ids import ids_of, with_ids, without_ids
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.tables.iceberg.files import field_ids
from tests.sinks.kinds import Bench, opened_iceberg

_NESTED = pa.schema(
    [
        ("value", pa.string()),
        ("place", pa.struct([("x", pa.int64()), ("tags", pa.list_(pa.string()))])),
        ("parts", pa.map_(pa.string(), pa.struct([("n", pa.int64())]))),
        ("day", pa.date32()),
    ]
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A table that is not made yet, and gets columns."""
    return Bench("iceberg", str(tmp_path / "out"), {"schema": "add_columns"})


def look(bench: Bench) -> None:
    """Let the tasks that come know the table as it is."""
    bench.target = bench.sink.prepare(None, "")


def staged(bench: Bench, rows: pa.Table, window: str, generation: int = 1) -> list[OutputFile]:
    """Return a file of rows, to be published next."""
    bench.marker = bench.marker_of(window, generation)
    name = AttemptName(window=window, generation=generation, group=0, epoch=1, attempt=0)
    writer = bench.sink.writer(bench.target, name, None)
    for batch in rows.to_batches():
        writer.write(batch)
    return writer.close()


def publish(bench: Bench, rows: pa.Table, window: str, generation: int = 1) -> None:
    """Publish rows."""
    bench.apply(bench.steps(staged(bench, rows, window, generation)))


def wrongly_numbered(bench: Bench) -> list[list[int | None]]:
    """Return the ids in files that are not those that the table has for the columns of the same names."""
    table = opened_iceberg(bench.place)
    found = [pq.read_schema(task.file.file_path.removeprefix("file://")) for task in table.scan().plan_files()]
    return [ids_of(rows) for rows in found if ids_of(rows) != ids_of(with_ids(rows, field_ids(table.metadata)))]


def everyone_reads(bench: Bench, rows: Sequence[dict[str, Any]]) -> None:
    """Check what pyiceberg and polars find, in any order."""
    table = opened_iceberg(bench.place)
    for found in (table.scan().to_arrow().to_pylist(), pl.scan_iceberg(table).collect().to_dicts()):
        assert sorted(found, key=str) == sorted(rows, key=str)


@pytest.mark.parametrize(
    "options", [{}, {"partition_by": ["day"]}, {"sort_by": ["day"]}, {"case_sensitive": False}], ids=str
)
def test_files_carry_the_ids_of_the_table(tmp_path: Path, options: dict[str, Any]) -> None:
    """Of one that they make, of one that is there, and of columns that are added with them."""
    bench = Bench("iceberg", str(tmp_path / "out"), {"schema": "add_columns", **options})
    row = {"value": "a", "place": {"x": 1, "tags": ["t"]}, "parts": [("k", {"n": 2})], "day": None}
    rows = pa.Table.from_pylist([row, row], schema=_NESTED)
    publish(bench, rows, "w1")
    look(bench)
    publish(bench, rows.select(["day", "place", "value"]), "w2")
    more = rows.append_column("more", pa.array([{"deep": [1]}] * 2)).append_column("most", pa.array([1, 2]))
    publish(bench, more, "w3")
    look(bench)
    publish(bench, more, "w4")

    assert wrongly_numbered(bench) == []
    assert len(opened_iceberg(bench.place).scan().to_arrow()) == 8
    assert pl.scan_iceberg(opened_iceberg(bench.place)).collect().height == 8


def test_columns_are_found_after_another_writer_has_renamed_them(bench: Bench) -> None:
    """Those of files that carry no ids, as of earlier versions of this package, by the table's name mapping."""
    rows = pa.table({"value": ["a"], "number": [1]})
    bench.target = replace(bench.target, field_ids=None)
    publish(bench, rows, "w1")
    look(bench)
    publish(bench, rows, "w2")
    with opened_iceberg(bench.place).update_schema() as schema:
        schema.rename_column("number", "amount")
    everyone_reads(bench, [{"value": "a", "amount": 1}] * 2)

    look(bench)
    publish(bench, pa.table({"value": ["b"], "amount": [2]}), "w3")
    everyone_reads(bench, [{"value": "a", "amount": 1}, {"value": "a", "amount": 1}, {"value": "b", "amount": 2}])


def test_a_column_that_has_the_name_of_an_earlier_one(bench: Bench) -> None:
    """Rows from before are not read as those of the new column, as they would be by name."""
    publish(bench, pa.table({"value": ["a"], "number": [1]}), "w1")
    for change in ("rename_column", "add_column"):
        with opened_iceberg(bench.place).update_schema() as schema:
            if change == "rename_column":
                schema.rename_column("number", "amount")
            else:
                schema.add_column("number", pyarrow_to_schema(with_ids(_NESTED, FieldIds())).find_type("place.x"))
    look(bench)
    publish(bench, pa.table({"value": ["b"], "number": [2]}), "w2")

    everyone_reads(bench, [{"value": "a", "amount": 1, "number": None}, {"value": "b", "amount": None, "number": 2}])


def test_a_column_that_another_writer_makes_again(bench: Bench) -> None:
    """Their files are refused before readers take its rows for another column's; what the error says helps."""
    rows = pa.table({"value": ["a"], "number": [1]})
    publish(bench, rows, "w1")
    look(bench)
    steps = bench.steps(staged(bench, rows, "w2"))
    for change in ("drop", "make"):
        with opened_iceberg(bench.place).update_schema() as schema:
            if change == "drop":
                schema.delete_column("number")
            else:
                schema.union_by_name(pa.schema([("number", pa.int64())]))
    with pytest.raises(ProofError, match=r"has other column ids than the table.*clear the run from its plan on"):
        bench.apply(steps)
    everyone_reads(bench, [{"value": "a", "number": None}])

    look(bench)
    publish(bench, rows, "w2", generation=2)
    everyone_reads(bench, [{"value": "a", "number": None}, {"value": "a", "number": 1}])


def test_columns_that_two_windows_add_at_once(bench: Bench) -> None:
    """The same ones get the same ids; of two windows with different ones the second is refused, and written again."""
    publish(bench, pa.table({"value": ["a"]}), "w1")
    look(bench)
    first = staged(bench, pa.table({"value": ["b"], "more": [1]}), "w2")
    steps, marker = bench.steps(first), bench.marker
    other = pa.table({"value": ["c"], "most": [2]})
    late = bench.steps(staged(bench, other, "w4"))
    publish(bench, pa.table({"value": ["d"], "more": [3]}), "w3")
    bench.sink.apply(steps, marker, lambda: None)
    bench.marker = bench.marker_of("w4")
    with pytest.raises(ProofError, match="clear the run from its plan on"):
        bench.apply(late)
    look(bench)
    publish(bench, other, "w4", generation=2)

    assert wrongly_numbered(bench) == []
    assert sorted(row["value"] for row in bench.case.rows(bench.place)) == ["a", "b", "c", "d"]


def test_what_others_add_meanwhile_does_no_harm(bench: Bench) -> None:
    """Neither rows nor columns."""
    rows = pa.table({"value": ["a"]})
    publish(bench, rows, "w1")
    look(bench)
    steps = bench.steps(staged(bench, rows, "w2"))
    with opened_iceberg(bench.place).update_schema() as schema:
        schema.union_by_name(pa.schema([("theirs", pa.int64())]))
    opened_iceberg(bench.place).append(pa.table({"value": ["b"], "theirs": [1]}))
    bench.apply(steps)

    everyone_reads(bench, [{"value": text, "theirs": 1 if text == "b" else None} for text in "aab"])


def test_ids_that_rows_bring_with_them_are_of_no_table(bench: Bench) -> None:
    """A function that reads Parquet files of others hands their ids on."""
    kept = {"PARQUET:field_id": "7", "doc": "what it is"}
    rows = pa.table({"value": ["a"], "number": [1]}).cast(
        pa.schema([pa.field("value", pa.string(), metadata=kept), pa.field("number", pa.int64(), metadata=kept)])
    )
    publish(bench, rows, "w1")
    table = opened_iceberg(bench.place)

    assert wrongly_numbered(bench) == []
    assert [field.doc for field in table.schema().fields] == ["what it is"] * 2
    everyone_reads(bench, [{"value": "a", "number": 1}])


_NAMES = st.lists(st.sampled_from(["a", "b", "c.d", "element", "key", "é"]), min_size=1, max_size=4, unique=True)


def _structs(kinds: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[list[pa.Field]]:
    return _NAMES.flatmap(
        lambda names: st.tuples(*[kinds.map(lambda kind, name=name: pa.field(name, kind)) for name in names])
    ).map(list)


_KINDS = st.recursive(
    st.sampled_from([pa.int64(), pa.string()]),
    lambda kinds: st.one_of(
        kinds.map(pa.list_),
        st.tuples(kinds).map(lambda kind: pa.map_(pa.string(), kind[0])),
        _structs(kinds).map(pa.struct),
    ),
    max_leaves=8,
)


@given(fields=_structs(_KINDS), added=_structs(_KINDS))
def test_ids_are_those_that_pyiceberg_gives(fields: list[pa.Field], added: list[pa.Field]) -> None:
    """Of a table that is made, and of columns that it gets; taking them away leaves the schema as it was."""
    schema = pa.schema(fields)
    wider = pa.schema([*fields, *(field.with_name(f"new {field.name}") for field in added)])
    with TemporaryDirectory() as folder, load_catalog("c", type="in-memory", warehouse=f"file://{folder}") as catalog:
        catalog.create_namespace("db")
        table = catalog.create_table("db.t", schema=schema)
        assert ids_of(with_ids(schema, FieldIds())) == ids_of(with_ids(schema, field_ids(table.metadata)))
        guessed = with_ids(wider, field_ids(table.metadata))
        with table.update_schema() as update:
            update.union_by_name(wider)
        assert ids_of(guessed) == ids_of(with_ids(wider, field_ids(table.metadata)))

    assert without_ids(guessed).equals(wider, check_metadata=True)
