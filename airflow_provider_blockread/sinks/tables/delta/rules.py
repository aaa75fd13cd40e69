"""Rules of a Delta table for its writers: those that cannot be checked in the files, and the types of columns."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Field, Schema
from deltalake.exceptions import DeltaError
from deltalake.schema import PrimitiveType
from deltalake.transaction import create_table_with_add_actions

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.tables import COLUMN_MAPPING
from airflow_provider_blockread.sinks.plain import holds, nullable

_OF_THE_SYSTEM = re.compile(r"[A-Z][a-z -]+\(os error \d+\)")
_CONSTRAINT = "delta.constraints."
#: Keys of a field's metadata, and the kind of column that they declare.
_RULES = {
    "delta.invariants": "an invariant of",
    "delta.generationExpression": "the generated",
    "delta.identity.": "the identity",
}
_ANY = Schema.from_arrow(pa.schema([("x", pa.int64())]))
_FEATURES = 7  # the first version of the protocol in which a table lists the features that writers must have


def unfollowed_rule(table: DeltaTable, name: str) -> str:
    """Return in words the rule of a table that files would not follow, or an empty string if there is none."""
    properties = table.metadata().configuration
    if ruled := sorted(key.removeprefix(_CONSTRAINT) for key in properties if key.startswith(_CONSTRAINT)):
        return f"{name} has a constraint {ruled[0]!r}, which a file cannot be checked against; drop the constraint"
    if properties.get(COLUMN_MAPPING, "none") != "none":
        return f"{name} uses column mapping, which files written here do not follow; choose another table"
    for field in table.schema().fields:
        for key, rule in _RULES.items():
            if any(found.startswith(key) for found in field.metadata):
                return f"{name} has {rule} column {field.name!r}, which files do not follow; choose another table"
    return _unwritable(table, name)


def _unwritable(table: DeltaTable, name: str) -> str:
    """Return in words why the library cannot commit to a table with such features, or an empty string if it can.

    What it supports is stated nowhere, so it is tried with a table that says the same of itself.
    """
    found = table.protocol()
    if found.min_writer_version < _FEATURES:
        return ""
    features = {"readerFeatures": found.reader_features, "writerFeatures": found.writer_features}
    versions = {"minReaderVersion": found.min_reader_version, "minWriterVersion": found.min_writer_version}
    protocol = {**versions, **{key: names for key, names in features.items() if names is not None}}
    about = {
        "id": "x",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": _ANY.to_json(),
        "partitionColumns": [],
        "configuration": {},
    }
    with TemporaryDirectory() as folder:
        log = Path(folder, "_delta_log")
        log.mkdir()
        (log / f"{0:020}.json").write_text(f"{json.dumps({'protocol': protocol})}\n{json.dumps({'metaData': about})}\n")
        try:
            once = CommitProperties(max_commit_retries=0)
            DeltaTable(folder).create_write_transaction([], "append", _ANY, [], commit_properties=once)
        except DeltaError as error:
            return f"{name}: deltalake cannot commit to this table ({first_line(error)}); choose another table"
    return ""


def first_line(error: Exception) -> str:
    """Return what an error of the library says, without its further lines except for the system's reason in them."""
    text = str(error).strip()
    first, reason = text.partition("\n")[0] or type(error).__name__, _OF_THE_SYSTEM.search(text)
    return first if reason is None or reason[0] in first else f"{first}: {reason[0]}"


def check_properties(name: str, properties: Mapping[str, str]) -> None:
    """Refuse properties with which the library creates no table; it is tried in memory.

    Raises:
        OptionsError: naming the first one.
    """
    try:
        create_table_with_add_actions("memory:///", _ANY, [], "error", [], configuration=dict(properties))
    except (DeltaError, TypeError) as error:
        msg = f"{name}: deltalake cannot create a table with this property ({error}); correct properties"
        raise OptionsError(msg) from error


def schema_of(schema: pa.Schema) -> Schema:
    """Return the columns of a table for those of rows; all may be null."""
    return Schema.from_arrow(pa.schema([nullable(field).remove_metadata() for field in schema]))


def type_of(field: Field) -> str:
    """Return the type of a column in words: `long`, and nested ones as the library spells them."""
    return field.type.type if isinstance(field.type, PrimitiveType) else str(field.type)


def fits(field: pa.Field, held: Field) -> bool:
    """Return whether a column holds all values of a field; no field has the type of a variant, which Arrow lacks."""
    known = pa.field(held)
    return holds(known.type, field.type) and Field.from_arrow(known).type == held.type
