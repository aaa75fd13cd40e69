"""JSON objects with what fits no column: it is kept as JSON text in the column `_rescued`.

A value fits its column if the decoder takes an object of this field alone.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import JsonArray, JsonLines
from airflow_provider_blockread.records.columns.rescued import Rescue, Rescuing, as_object, as_text
from airflow_provider_blockread.records.columns.schema import schema_text
from airflow_provider_blockread.records.json.decode import JsonDecoder
from airflow_provider_blockread.records.model import Chunk, Decoder

_TOO_DEEP = "nested too deeply to rescue what fits no column"

Path = tuple[str | int, ...]


class Pairs(list[tuple[str, Any]]):
    """A JSON object as its names and values, in order."""


class Literal(str):
    """A number as it is written, or the name of one that JSON has no number for."""

    __slots__ = ()


class RescuingDecoder(Rescuing[Pairs, Any]):
    """Decodes as `JsonDecoder`, and keeps what fits no column.

    A record is only bad where it is no JSON object, has a field of the schema twice, lacks what must not be null, or is
    nested too deeply.
    """

    def __init__(self, schema: str, *, commas: bool = False) -> None:
        """Take a schema as text; `commas` says that a comma may separate two records.

        Raises:
            OptionsError: when the schema is malformed, has a type that JSON cannot be read as, or a column `_rescued`.
        """
        plain = JsonDecoder(schema)
        super().__init__(plain, lambda columns: JsonDecoder(schema_text(columns)))
        self._decoder = JsonDecoder(schema, commas=commas, notes=True)
        self._kinds = {field.name: field.type for field in plain.schema}

    def read(self, chunk: Chunk) -> Rescue:
        """Return the good records, and which of their fields have no column."""
        decoded, odd = self._decoder.read(chunk)
        found = Rescue(batch=decoded.batch, bad={record.index: record.reason for record in decoded.bad})
        good = np.setdiff1d(odd, list(found.bad)).tolist()
        if deep := [index for index in good if not self._note(chunk, index, found)]:
            indices = np.delete(np.arange(len(chunk.ends)), list(found.bad))
            found.batch = found.batch.filter(pa.array(~np.isin(indices, deep)))
            found.bad |= dict.fromkeys(deep, _TOO_DEEP)
        return found

    def _note(self, chunk: Chunk, index: int, found: Rescue) -> bool:
        """Keep which fields of a good record have no column; return False where it is nested too deeply for that."""
        text = chunk.record(index)
        with suppress(ValueError, RecursionError):
            if not _may_be_strange(json.loads(text), self._kinds):
                return True
        record = parsed(text)
        written = "" if record is None else self.written(record, ())
        if written:
            found.texts[index] = written
        return record is not None

    def taken_apart(self, record: bytes) -> Pairs | None:
        """Return a record as an object; None where it is none, is nested too deeply, or has a column's field twice."""
        found = parsed(record)
        names = [name for name, _ in found or () if name in self._kinds]
        return None if len(set(names)) < len(names) else found

    def values(self, record: Pairs) -> Mapping[str, Any]:
        """Return the fields that have a column."""
        return {name: value for name, value in record if name in self._kinds}

    def alone(self, name: str, value: Any, columns: Sequence[str]) -> bytes:  # noqa: ANN401, ARG002 - others are absent
        """Return an object of one field."""
        return _text(Pairs([(name, value)]))

    def cleaned(self, record: Pairs, misfits: Collection[str]) -> bytes:
        """Return the fields of a record that fit their columns."""
        return _text(Pairs([field for field in record if field[0] in self._kinds and field[0] not in misfits]))

    def written(self, record: Pairs, misfits: Collection[str]) -> str:
        """Return as JSON what fits no column, by its path."""
        found = _strange(record, self._kinds, (), misfits)
        return as_object((path, _value(value, strict=True)) for path, value in found)


def json_decoder(option: JsonLines | JsonArray, *, commas: bool = False) -> Decoder | None:
    """Return the decoder to an option's schema; None if it has none.

    Raises:
        OptionsError: when the schema is malformed, or there is none, and `rescue` needs one.
    """
    if option.schema is not None:
        decoder = RescuingDecoder if option.rescue else JsonDecoder
        return decoder(option.schema, commas=commas)
    if option.rescue:
        msg = f"{option.kind}: rescue=True needs a schema; without one, the whole text of a record is published anyway"
        raise OptionsError(msg)
    return None


def parsed(record: bytes) -> Pairs | None:
    """Return a record as an object that can be written again; None if it is none, or is nested too deeply.

    It is as Python's parser reads it, with numbers as they are written.
    """
    try:
        found = json.loads(
            record.decode(), object_pairs_hook=Pairs, parse_int=Literal, parse_float=Literal, parse_constant=Literal
        )
        _value(found)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, Pairs) else None


def _strange(value: object, kind: Any, path: Path, misfits: Collection[str] = ()) -> Iterator[tuple[Path, Any]]:  # noqa: ANN401 - a type, or those of columns
    """Yield what a value holds that its type does not, with its path; of a record also what does not fit."""
    if isinstance(kind, pa.ListType) and isinstance(value, list):
        for place, item in enumerate(value):
            yield from _strange(item, kind.value_type, (*path, place))
    elif isinstance(kind, (pa.StructType, dict)) and isinstance(value, Pairs):
        kinds = kind if isinstance(kind, dict) else {field.name: field.type for field in kind}
        for name, inner in value:
            if name not in kinds or name in misfits:
                yield (*path, name), inner
            else:
                yield from _strange(inner, kinds[name], (*path, name))


def _may_be_strange(value: object, kind: Any) -> bool:  # noqa: ANN401 - as above
    """Return whether `_strange` may find anything in a good record, much faster."""
    if isinstance(kind, pa.StructType):
        kind = {field.name: field.type for field in kind}
    if isinstance(kind, dict) and isinstance(value, dict):
        nested = [name for name, inner in kind.items() if pa.types.is_nested(inner)]
        return not value.keys() <= kind.keys() or any(_may_be_strange(value.get(name), kind[name]) for name in nested)
    return value is not None and pa.types.is_nested(kind.value_type)


def _text(record: Pairs) -> bytes:
    return _value(record).encode()


def _value(value: object, *, strict: bool = False) -> str:
    """Return a value as JSON text; `strict` writes names of numbers that JSON has none for as strings.

    It takes one stack frame a level, as a comprehension would not in Python 3.11, so that it is as deep as the parser.
    """
    text = ""
    if isinstance(value, Pairs):
        for name, inner in value:
            text += f",{as_text(name)}:{_value(inner, strict=strict)}"
        return f"{{{text[1:]}}}"
    if isinstance(value, list):
        for item in value:
            text += f",{_value(item, strict=strict)}"
        return f"[{text[1:]}]"
    if isinstance(value, Literal):
        return f'"{value}"' if strict and value in {"NaN", "Infinity", "-Infinity"} else value
    return as_text(value) if isinstance(value, str) else json.dumps(value)
