"""Schemas as text, in Spark's DDL or as Arrow prints them, to Arrow and back."""

from __future__ import annotations

import re

import pyarrow as pa

from airflow_provider_blockread.errors import OptionsError

_SPARK: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_SYNONYMS: dict[str, pa.DataType] = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "real": pa.float32(),
    "timestamp_ltz": pa.timestamp("us", tz="UTC"),
}
_ARROW: dict[str, pa.DataType] = {
    str(kind): kind
    for kind in (
        *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float16(), pa.large_string(), pa.large_binary(), pa.date32(), pa.date64()),
        *(pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
    )
}
_TYPES = _SPARK | _SYNONYMS | _ARROW
_OFFERED = ", ".join(word for word, kind in _TYPES.items() if not pa.types.is_time(kind))  # which no format reads
_WORDS = {kind: word for word, kind in (_ARROW | _SPARK).items()}
_DECIMAL = re.compile(r"(?:decimal(?:128)?|numeric|dec)(?:\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?")
_TEXT = re.compile(r"(?:var)?char\s*\(\s*\d+\s*\)")
_TIMESTAMP = re.compile(r"timestamp\[(s|ms|us|ns)(?:, tz=([^\]]+))?\]")
_LIST = re.compile(r"(array|list)\s*<(.+)>", re.DOTALL | re.IGNORECASE)
_STRUCT = re.compile(r"struct\s*<(.*)>", re.DOTALL | re.IGNORECASE)
_OMITTED = " chars omitted)"
_COMMENT = re.compile(  # and names in backquotes, which are kept
    r"""(`(?:[^`]|``)*`)|\s+comment\s+(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.DOTALL | re.IGNORECASE
)
_REQUIRED = re.compile(r"\s+not\s+null$", re.IGNORECASE)
_MAX_DIGITS = 38  # of a 128-bit decimal
_MAX_DEPTH = 100  # of brackets; Arrow's own recursion is limited, too
_SHOWN = 200  # characters of a schema in a message
_SPLIT = re.compile("[`<(\\[>)\\],\n]")
_NAME = re.compile(r"`(?P<quoted>(?:[^`]|``)+)`\s*:?|(?P<typed>[^`:,<]+?)\s*:|(?P<word>[^\s`:,<]+)\s")
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_MORE = re.compile(  # what Arrow prints besides the columns: their children once more, metadata
    r"^(?: +child \d+,.*| *-- field metadata --\n(?: +.+: '.*\n?)*|-- schema metadata --(?:.|\n)*)$\n?", re.MULTILINE
)


def parse_schema(text: str) -> pa.Schema:
    """Return the Arrow schema of text such as `"id long, ts timestamp, tags array<string>"`, or as Arrow prints one.

    Known types are Spark's: boolean, byte, short, int, long, float, double, decimal(p,s), string, binary, date,
    timestamp (an instant, kept in UTC), timestamp_ntz, array<..>, struct<name:type,..>; and Arrow's: int64, uint8,
    large_string, date32[day], timestamp[us, tz=UTC], time64[us], decimal128(p, s), list<item: ..> and so on. As in
    Spark, decimal is decimal(10,0), and varchar(n) and char(n) are string, of any length. Commas or newlines separate
    columns, which may be in `struct<..>`; `not null` may follow a type, and a comment is ignored.

    Raises:
        OptionsError: when a column has no type, a type is unknown, or a name is duplicated.
    """
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    if _OMITTED in text:
        msg = f"schema {shown!r} is truncated; print it with schema.to_string(element_size_limit=1_000_000)"
        raise OptionsError(msg)
    columns = _COMMENT.sub(r"\1", _MORE.sub("", text)).strip()
    whole = _STRUCT.fullmatch(columns)
    schema = pa.schema(_fields(whole[1] if whole and len(_split(columns, shown)) == 1 else columns, shown))
    if not schema.names or len(set(schema.names)) != len(schema.names):
        msg = f"schema {shown!r} must name at least one column, and each only once"
        raise OptionsError(msg)
    return schema


def schema_text(schema: pa.Schema) -> str:
    """Return a schema as text with Spark's type names, or Arrow's where Spark has none, as `parse_schema` reads it."""
    return ", ".join(_column(field, " ") for field in schema)


def quoted_name(name: str) -> str:
    """Return a column's name as a schema's text has it: in backquotes where it is no plain word."""
    return name if _PLAIN_NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"


def _column(field: pa.Field, separator: str) -> str:
    return f"{quoted_name(field.name)}{separator}{_word(field.type)}{'' if field.nullable else ' not null'}"


def _word(kind: pa.DataType) -> str:
    if pa.types.is_decimal128(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(_column(kind.field(i), ': ') for i in range(kind.num_fields))}>"
    if pa.types.is_list(kind):
        usual = kind.value_field.equals(pa.field("item", kind.value_type))
        return f"array<{_word(kind.value_type)}>" if usual else f"list<{_column(kind.value_field, ': ')}>"
    return _WORDS.get(kind, str(kind))


def _fields(text: str, whole: str) -> list[pa.Field]:
    return [_field(part.strip(), whole) for part in _split(text, whole)]


def _field(part: str, whole: str) -> pa.Field:
    match = _NAME.match(part)
    kind = part[match.end() :].strip() if match else ""
    if match is None or not kind:
        msg = f"schema {whole!r}: write each column as `name type`, not {part[:_SHOWN]!r}"
        raise OptionsError(msg)
    name = match["quoted"].replace("``", "`") if match["quoted"] else match["typed"] or match["word"]
    required = _REQUIRED.search(kind)
    return pa.field(name, _type(_REQUIRED.sub("", kind), name, whole), nullable=required is None)


def _type(text: str, column: str, whole: str) -> pa.DataType:
    word = text.lower()  # of the type alone: the names of a struct's fields keep their case
    if word in _TYPES:
        return _TYPES[word]
    if match := _DECIMAL.fullmatch(word):
        digits, scale = int(match[1] or 10), int(match[2] or 0)
        if 0 < digits <= _MAX_DIGITS and scale <= digits:
            return pa.decimal128(digits, scale)
    if _TEXT.fullmatch(word):
        return pa.string()
    if match := _TIMESTAMP.fullmatch(text):
        return pa.timestamp(match[1], tz=match[2])
    if match := _STRUCT.fullmatch(text):
        return pa.struct(_fields(match[1], whole))
    if match := _LIST.fullmatch(text):
        named = match[1].lower() == "list" and _NAME.match(match[2])
        return pa.list_(_field(match[2].strip(), whole) if named else _type(match[2].strip(), column, whole))
    msg = (
        f"schema {whole!r}: column {column!r} has the unknown type {text[:_SHOWN]!r}; known are {_OFFERED},"
        " timestamp[unit, tz=..], decimal(p,s), array<>, struct<>"
    )
    raise OptionsError(msg)


def _split(text: str, whole: str) -> list[str]:
    """Return the columns between the commas and newlines outside brackets and quoted names."""
    parts, depth, start, quoted = [], 0, 0, False
    for mark in _SPLIT.finditer(text):
        char = mark[0]
        quoted ^= char == "`"
        depth += 0 if quoted else (char in "<([") - (char in ">)]")
        if depth > _MAX_DEPTH:
            msg = f"schema {whole!r} is nested more than {_MAX_DEPTH} levels deep; choose flatter types"
            raise OptionsError(msg)
        if char in ",\n" and depth == 0 and not quoted:
            parts.append(text[start : mark.start()])
            start = mark.end()
    return [part for part in [*parts, text[start:]] if part.strip()]
