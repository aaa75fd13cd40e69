"""The schema of JSON records, as a sample of them has it: what an author declares, and may then correct."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.options.parsing.sizes import plural
from airflow_provider_blockread.records.columns.schema import parse_schema, schema_text
from airflow_provider_blockread.records.columns.times import times_reader
from airflow_provider_blockread.records.json.rescue import Literal, Pairs, parsed
from airflow_provider_blockread.records.sampling import Sample

#: Types of texts, in the order in which they are tried, and what a text must look like besides being a valid value.
_TIMES = dict.fromkeys(parse_schema("b timestamp_ntz, c timestamp").types, r"^\d{4}-\d\d-\d\d[ T]\d\d:")
_OF_TEXTS = {pa.date32(): r"^\d{4}-\d\d-\d\d$"} | _TIMES
_WHOLE, _FRACTION = re.compile(r"-?(\d+)"), re.compile(r"-?(\d+)\.(\d+)")
_MOST_DIGITS, _EXACT_DIGITS = 38, 15  # of a decimal, and those that any double holds
_MOST_LEVELS = 90  # of objects and arrays; schemas have a limit themselves


@dataclass(frozen=True, slots=True, kw_only=True)
class Inferred:
    """The schema of a sample, as text, and what it does not say."""

    schema: str
    others: int = 0  # records that are no JSON objects
    unfit: tuple[str, ...] = ()  # what values no column holds, in words


@dataclass(slots=True)
class _Field:
    """The values of one field in all records: how many of each kind there are, and which."""

    kinds: Counter[str] = field(default_factory=Counter)
    texts: set[str] = field(default_factory=set)
    numbers: set[str] = field(default_factory=set)
    inner: dict[str, _Field] = field(default_factory=dict)  # of objects by name; of arrays, by no name
    repeated: int = 0  # how often an object has it once more

    def add(self, value: object, level: int = 0) -> None:
        """Count a value."""
        if value is None:
            return
        if isinstance(value, Literal):
            self.kinds["number"] += 1
            self.numbers.add(value)
        elif isinstance(value, str):
            self.kinds["string"] += 1
            self.texts.add(value)
        elif isinstance(value, bool):
            self.kinds["boolean"] += 1
        elif isinstance(value, list):
            self.kinds["object" if isinstance(value, Pairs) else "array"] += 1
            if level < _MOST_LEVELS:
                self._add_inner(value, level + 1)

    def _add_inner(self, value: Pairs | list[object], level: int) -> None:
        pairs = value if isinstance(value, Pairs) else [("", item) for item in value]
        seen: set[str] = set()
        for name, found in pairs:
            inner = self.inner.setdefault(name, _Field())
            inner.add(found, level)
            inner.repeated += name in seen
            if name:
                seen.add(name)

    @property
    def type(self) -> pa.DataType | None:
        """The type of the most frequent kind of values: a string if all are null, none for objects without fields."""
        if not self.kinds:
            return pa.string()
        kind = self.kinds.most_common(1)[0][0]
        if kind == "object":
            return pa.struct(self.columns) if len(self.columns) else None
        if kind == "array":
            of_items = self.inner.get("", _Field()).type
            return None if of_items is None else pa.list_(of_items)
        if kind == "number":
            return _of_numbers(self.numbers)
        return pa.bool_() if kind == "boolean" else _of_texts(self.texts)

    @property
    def columns(self) -> pa.Schema:
        """The fields of the objects that have a type and a name, which is not empty."""
        types = ((name, inner.type) for name, inner in self.inner.items() if name)
        return pa.schema([(name, kind) for name, kind in types if kind is not None])

    def unfit(self, path: str) -> Iterator[str]:
        """Yield what values no column of the schema holds, in words."""
        if self.type is None:
            yield f"{path}: left out, as there are only objects without fields"
        elif self.repeated:
            times = plural(self.repeated, "time")
            yield f"{path}: repeated within an object {times}; such records are bad under the schema"
        if len(self.kinds) > 1:
            counts = ", ".join(f"{count:,} {kind}" for kind, count in self.kinds.most_common())
            yield f"{path}: values of several types, of which the column holds the first: {counts}"
        for name, inner in self.inner.items():
            yield from inner.unfit(f"{path}.{name}" if name else f"{path}[]")


def infer_schema(samples: Iterable[Sample]) -> Inferred:
    """Return the schema of the JSON objects in the samples, with columns in the order in which they first occur.

    A column is a long, double, boolean, date, timestamp_ntz, timestamp, struct, array or string, or a decimal where a
    double would not hold all digits of its numbers. A field that is always null is a string. If values are of several
    kinds, the most frequent one decides, and records with another one are bad under the schema.

    Raises:
        RecordError: when there is no object, or none has a field.
    """
    whole, others = _Field(), 0
    for chunk in chain.from_iterable(sample.chunks for sample in samples):
        for index in range(len(chunk.ends)):
            found = parsed(chunk.record(index))
            others += found is None
            whole.add(found)
    columns = whole.columns
    if not len(columns):
        count = plural(others + whole.kinds.total(), "record")
        msg = f"none of {count} in the sample is a JSON object with fields; check the format, or sample more files"
        raise RecordError(msg)
    unfit = chain.from_iterable(inner.unfit(name) for name, inner in whole.inner.items())
    return Inferred(schema=schema_text(columns), others=others, unfit=tuple(unfit))


def _of_numbers(numbers: Iterable[str]) -> pa.DataType:
    """Return a type that holds numbers as they are written, if there is one."""
    whole = scale = 0
    for number in numbers:
        digits = _WHOLE.fullmatch(number) or _FRACTION.fullmatch(number)
        if digits is None:  # with an exponent, or NaN
            return pa.float64()
        whole = max(whole, len(digits[1]))
        scale = max(scale, len(digits[2]) if digits.lastindex == 2 else 0)  # noqa: PLR2004 - digits of a fraction
    if not scale and all(-(2**63) <= int(number) < 2**63 for number in numbers):
        return pa.int64()
    is_decimal = whole > _EXACT_DIGITS and whole + scale <= _MOST_DIGITS
    return pa.decimal128(_MOST_DIGITS, scale) if is_decimal else pa.float64()


def _of_texts(texts: Iterable[str]) -> pa.DataType:
    """Return the first type of times that fits all texts, else string."""
    values = pa.array(sorted(texts), pa.string())
    for kind, pattern in _OF_TEXTS.items():
        is_alike = pc.all(pc.match_substring_regex(values, pattern)).as_py()
        if is_alike and _are(values, kind):
            return kind
    return pa.string()


def _are(texts: pa.StringArray, kind: pa.DataType) -> bool:
    """Return whether texts are values of a type of times or dates, as JSON has them: csv has more spellings."""
    try:
        times_reader(texts, kind)(0, len(texts))
    except pa.ArrowInvalid:
        return False
    return True
