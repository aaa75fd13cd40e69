"""What a table demands of its rows, which its files alone would break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from pyiceberg.catalog import load_catalog

from airflow_provider_blockread.errors import OptionsError, ProofError, TransientError
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.protocol import State
from airflow_provider_blockread.testing.bench import SCHEMA
from tests.sinks.kinds import Bench, iceberg

NEEDED = pa.schema([*(pa.field(f"c{number}", pa.int64()) for number in range(40)), pa.field("id", pa.int64(), False)])  # noqa: FBT003 - Arrow's
IDS = pa.schema([pa.field("id", pa.int64())])


def made(kind: str, place: str, schema: pa.Schema) -> Bench:
    """Return a table that is there, made by another program."""
    if kind == "delta":
        DeltaTable.create(place, schema)
    else:
        option = iceberg(place)
        catalog = load_catalog(option.catalog, **option.catalog_properties)
        catalog.create_namespace("db")
        catalog.create_table(option.uri, schema=schema)
        catalog.close()
    return Bench(kind, place)


def publish(bench: Bench, rows: dict[str, Any], schema: pa.Schema) -> None:
    """Publish rows as a window's only file."""
    name = AttemptName(window="ab12", generation=1, group=0, epoch=1, attempt=0)
    writer = bench.sink.writer(bench.sink.prepare(schema, f"{bench.option.work_area}/stage"), name, schema)
    writer.write(pa.RecordBatch.from_pydict(rows, schema=schema))
    bench.apply(bench.steps(writer.close()))


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
@pytest.mark.parametrize("schema", [NEEDED, pa.schema([NEEDED.field("id")])], ids=["of many columns", "alone"])
def test_nulls_where_none_may_be(tmp_path: Path, kind: str, schema: pa.Schema) -> None:
    """They are refused before the commit, whatever the number of the column."""
    bench = made(kind, str(tmp_path / "out"), schema)
    loose = pa.schema([field.with_nullable(True) for field in schema])  # noqa: FBT003 - Arrow's
    rows = {name: [1, 2, 3] for name in schema.names}
    with pytest.raises(ProofError, match=r"part-.* holds 2 nulls in column 'id', which may not be null"):
        publish(bench, rows | {"id": [1, None, None]}, loose)
    assert bench.sink.is_empty()

    publish(bench, rows, loose)
    assert not bench.sink.is_empty()


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
@pytest.mark.parametrize(
    ("column", "value"),
    [
        (pa.list_(pa.int64()), [None]),
        (pa.struct([("a", pa.int64())]), {"a": None}),
        (pa.map_(pa.string(), pa.int64()), [("a", None)]),
    ],
    ids=str,
)
def test_nulls_in_a_nested_column(tmp_path: Path, kind: str, column: pa.DataType, value: object) -> None:
    """They are told from the nulls inside of values, which may be there."""
    bench = made(kind, str(tmp_path / "out"), pa.schema([pa.field("x", column, False)]))  # noqa: FBT003 - Arrow's
    loose = pa.schema([("x", column)])
    with pytest.raises(ProofError, match=r"part-.* holds 2 nulls in column 'x', which may not be null"):
        publish(bench, {"x": [None, value, None]}, loose)
    assert bench.sink.is_empty()

    publish(bench, {"x": [value]}, loose)
    assert not bench.sink.is_empty()


def described(folder: Path, protocol: dict[str, Any], field: dict[str, Any], properties: dict[str, str]) -> Bench:
    """Return a Delta table whose log says this of itself."""
    fields = [{"name": "id", "type": "long", "nullable": True, "metadata": {}}, field] if field else []
    fields = fields or [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]
    about = {
        "id": "x",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": properties,
        "createdTime": 0,
    }
    log = folder / "out" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text(f"{json.dumps({'protocol': protocol})}\n{json.dumps({'metaData': about})}\n")
    return Bench("delta", str(folder / "out"))


@pytest.mark.parametrize(
    ("metadata", "version", "problem"),
    [
        ({"delta.invariants": '{"expression": {"expression": "x > 10"}}'}, 2, "has an invariant of column 'x'"),
        ({"delta.generationExpression": "id * 2"}, 4, "has the generated column 'x'"),
        ({"delta.identity.start": 1, "delta.identity.step": 1}, 6, "has the identity column 'x'"),
    ],
)
def test_a_column_whose_values_the_table_makes(
    tmp_path: Path, metadata: dict[str, Any], version: int, problem: str
) -> None:
    """Files would not follow its rule, and readers trust it."""
    ruled = {"name": "x", "type": "long", "nullable": True, "metadata": metadata}
    with pytest.raises(OptionsError, match=f"{problem}, which files do not follow; choose another table"):
        described(tmp_path, {"minReaderVersion": 1, "minWriterVersion": version}, ruled, {})


def test_a_variant_is_of_another_type_than_what_it_is_in_arrow(tmp_path: Path) -> None:
    """Columns of binary values are no variants."""
    features = {"readerFeatures": ["variantType"], "writerFeatures": ["variantType"]}
    variant = {"name": "x", "type": "variant", "nullable": True, "metadata": {}}
    bench = described(tmp_path, {"minReaderVersion": 3, "minWriterVersion": 7, **features}, variant, {})
    parts = pa.struct([pa.field(name, pa.binary(), False) for name in ("metadata", "value")])  # noqa: FBT003 - Arrow's
    with pytest.raises(OptionsError, match="has column 'x' as VariantType"):
        bench.sink.prepare(pa.schema([("x", parts)]), "")


@pytest.mark.parametrize(
    ("features", "problem"),
    [
        ({"writerFeatures": ["rowTracking", "domainMetadata"]}, r"cannot commit to this table \(.*[Rr]owTracking"),
        ({"writerFeatures": ["clustering", "domainMetadata"]}, r"cannot commit to this table \(.*[Cc]luster"),
        ({"minWriterVersion": 8}, r"cannot commit to this table"),
        ({"minReaderVersion": 4, "minWriterVersion": 8}, r"cannot read this table \(.*reader version 4"),
        ({"readerFeatures": ["fancy"], "writerFeatures": ["fancy"]}, r"cannot read this table \(.*'fancy'"),
        ({"readerFeatures": ["catalogManaged"], "writerFeatures": ["catalogManaged"]}, "cannot read this table"),
    ],
)
def test_a_feature_that_the_library_does_not_have(tmp_path: Path, features: dict[str, Any], problem: str) -> None:
    """The error says so before anything is read, whether the columns are known or not."""
    versions = {"minReaderVersion": 3 if "readerFeatures" in features else 1, "minWriterVersion": 7}
    with pytest.raises(OptionsError, match=f"deltalake {problem}.*choose another table"):
        described(tmp_path, versions | features, {}, {})


def test_a_table_that_gets_such_a_feature_before_the_commit(tmp_path: Path) -> None:
    """The error does not say that others commit all the time."""
    bench = made("delta", str(tmp_path / "out"), SCHEMA)
    steps = bench.steps(bench.stage("a"))
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["rowTracking", "domainMetadata"]}
    log = tmp_path / "out" / "_delta_log" / f"{DeltaTable(bench.place).version() + 1:020}.json"
    log.write_text(json.dumps({"protocol": protocol}) + "\n")
    with pytest.raises(ProofError, match=r"deltalake cannot commit to this table \(.*[Rr]owTracking"):
        bench.apply(steps)


def test_a_lock_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is as good as any: the task may be tried again."""
    bench = made("delta", str(tmp_path / "out"), IDS)

    def unlocked(*_: object, **__: object) -> None:
        msg = "Transaction failed: dynamodb client failed to write log entry"
        raise CommitFailedError(msg)

    monkeypatch.setattr(DeltaTable, "create_write_transaction", unlocked)
    with pytest.raises(TransientError, match=r"failed to write log entry\); retry when it can be"):
        publish(bench, {"id": [1]}, IDS)


def test_a_version_of_iceberg_that_its_library_does_not_write(tmp_path: Path) -> None:
    """The error names the property."""
    bench = Bench("iceberg", str(tmp_path / "out"), {"properties": {"format-version": "3"}})
    with pytest.raises(OptionsError, match=r"does not make such a table \(.*format version.*\); correct properties"):
        publish(bench, {"id": [1]}, IDS)
    publish(Bench("iceberg", str(tmp_path / "out"), {"properties": {"format-version": "2"}}), {"id": [1]}, IDS)


@pytest.mark.parametrize("table", ["link", "link/out"])
def test_a_table_behind_a_link(tmp_path: Path, table: str) -> None:
    """Its window is replaced and undone as any other's, wherever the link leads."""
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "other")
    bench = Bench("delta", str(tmp_path / table))
    first = bench.publish("a")
    new = bench.stage("b", generation=2)
    bench.apply(bench.steps(new, first))
    assert bench.values() == ["b", "b"]

    assert bench.undo(new) == 1


def test_a_table_by_another_name(tmp_path: Path) -> None:
    """What a window published by the one name is replaced by what it publishes by the other, also at a second try."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    before, after = (Bench("delta", str(tmp_path / name / "out")) for name in ("real", "link"))
    files = before.publish("a")
    new = after.stage("b", generation=2)
    before.marker = after.marker
    removal = before.sink.steps((), before.placed(files))
    for _ in range(2):
        after.apply(after.steps(new))
        before.apply(removal)
        assert before.values() == ["b", "b"]
        assert before.states(removal) == [State.APPLIED]
