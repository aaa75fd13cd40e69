"""Rules of a Delta table for its writers that cannot be checked in the files."""

from __future__ import annotations

from deltalake import DeltaTable

from airflow_provider_blockread.options.tables import COLUMN_MAPPING

_CONSTRAINT = "delta.constraints."
#: Keys of a field's metadata, and the kind of column that they declare.
_RULES = {
    "delta.invariants": "an invariant of",
    "delta.generationExpression": "the generated",
    "delta.identity.": "the identity",
}


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
    return ""
