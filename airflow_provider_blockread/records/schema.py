"""Schemas as text, in the words of Spark's DDL, to Arrow."""

from __future__ import annotations

import re

import pyarrow as pa

from airflow_provider_blockread.errors import OptionsError

_TYPES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "tinyint": pa.int8(),
    "short": pa.int16(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "real": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_MAX_DIGITS = 38  # of a 128-bit decimal
_NAME = re.compile(r"\s*(?:`([^`]+)`|([^\s`:,]+))\s*[\s:]\s*")


def parse_schema(text: str) -> pa.Schema:
    """Return the Arrow schema of text such as `"id long, ts timestamp, tags array<string>"`.

    Known types are Spark's: boolean, byte, short, int, long, float, double, decimal(p,s), string, binary, date,
    timestamp (an instant, kept in UTC), timestamp_ntz, array<..>, struct<name:type,..>.

    Raises:
        OptionsError: when a column has no type, a type is unknown, or a name stands twice.
    """
    schema = pa.schema(_fields(text, text))
    if not schema.names or len(set(schema.names)) != len(schema.names):
        msg = f"schema {text!r} must name at least one column, and none twice"
        raise OptionsError(msg)
    return schema


def _fields(text: str, whole: str) -> list[pa.Field]:
    fields = []
    for part in _split(text):
        match = _NAME.match(part)
        if match is None or not part[match.end() :].strip():
            msg = f"schema {whole!r}: write each column as `name type`, not {part.strip()!r}"
            raise OptionsError(msg)
        fields.append(pa.field(match[1] or match[2], _type(part[match.end() :].strip(), whole)))
    return fields


def _type(text: str, whole: str) -> pa.DataType:
    word = text.lower()  # of the type alone: the names of a struct's fields keep their case
    if word in _TYPES:
        return _TYPES[word]
    if (match := _DECIMAL.fullmatch(word)) and 0 < int(match[1]) <= _MAX_DIGITS:
        return pa.decimal128(int(match[1]), int(match[2]))
    if word.startswith("array<") and text.endswith(">"):
        return pa.list_(_type(text[6:-1].strip(), whole))
    if word.startswith("struct<") and text.endswith(">"):
        return pa.struct(_fields(text[7:-1], whole))
    msg = f"schema {whole!r}: unknown type {text!r}; known are {', '.join(_TYPES)}, decimal(p,s), array<>, struct<>"
    raise OptionsError(msg)


def _split(text: str) -> list[str]:
    """Return the columns between commas that stand outside brackets."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char in "<(") - (char in ">)")
        if char == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [part for part in [*parts, text[start:]] if part.strip()]
