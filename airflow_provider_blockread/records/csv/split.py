"""Splitting a chunk of CSV records into fields: all columns as bytes, and the bad records separately."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.csv

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.records.columns.values import is_utf8
from airflow_provider_blockread.records.csv.fields import Dialect
from airflow_provider_blockread.records.csv.text import CsvText, csv_text, rewritten
from airflow_provider_blockread.records.model import Chunk, Offsets

AsText = Callable[[Chunk, Dialect, str], CsvText]

_NUL = "\0"
_LOWER = 0x20  # the bit that makes a letter lower case


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRows:
    """Fields by their place in a row, as the type asked for or as bytes. Row `i` is the chunk's record `indices[i]`.

    `bad` has the reasons of bad records; some of them have rows all the same. `valid` says that all fields are known to
    be UTF-8.
    """

    columns: Mapping[int, pa.Array]
    indices: Offsets
    bad: Mapping[int, str]
    valid: bool


class RowSplitter:
    """Splits records of `width` fields; unquoted ones that are empty or equal `null` become null."""

    def __init__(self, dialect: Dialect, width: int, null: str) -> None:
        self._dialect = dialect
        self._width = width
        self._null = null
        self._nulls = ["", null] if null and not dialect.escapes(null) else [""]

    def split(self, chunk: Chunk, types: Mapping[int, pa.DataType]) -> SplitRows:
        """Return the fields of all records of a chunk that is not empty, by their place.

        They are of these types where all of them can be, and bytes otherwise. Arrow's parser must convert text to these
        types as a cast does: numbers, strings and binary.
        """
        count, bad = len(chunk.ends), dict(self._broken(chunk))
        for as_text in (csv_text, rewritten):  # the latter is slow, but parsers agree on it
            text, table, lost = self._read_all(chunk, as_text, types)
            if table.num_rows + len(lost) == count:
                break
        else:
            msg = (
                f"csv: {count} records from byte {chunk.offset} on were read as {table.num_rows + len(lost)} rows;"
                " please report this, and exclude the file with `blockread windows exclude`"
            )
            raise RecordError(msg)
        for index, fields in lost.items():
            bad.setdefault(index, f"{fields} field{'' if fields == 1 else 's'}, expected {self._width}")
        return SplitRows(
            columns={place: text.restore(_joined(table.column(str(place)))) for place in types},
            indices=np.delete(np.arange(count), list(lost)),
            bad=bad,
            valid=_is_text(text),
        )

    def split_typed(self, chunk: Chunk, types: Mapping[int, pa.DataType]) -> dict[int, pa.Array] | None:
        """Return the fields by their place as these types, or None where the chunk needs `split`."""
        text = csv_text(chunk, self._dialect, self._null)
        if not _is_text(text) or any(True for _ in self._broken(chunk)):
            return None
        try:
            table, lost = self._read(text, types)
        except pa.ArrowInvalid:
            return None
        if lost or table.num_rows != len(chunk.ends):
            return None
        return {place: _joined(table.column(str(place))) for place in types}

    def _read_all(
        self, chunk: Chunk, as_text: AsText, types: Mapping[int, pa.DataType]
    ) -> tuple[CsvText, pa.Table, dict[int, int]]:
        """Return the records as text, their fields, and the numbers of fields of the records of another width."""
        text, binary = as_text(chunk, self._dialect, self._null), dict.fromkeys(types, pa.binary())
        if _is_text(text):
            with suppress(pa.ArrowInvalid):
                return text, *self._read(text, types)
        if is_utf8(text.text):
            return text, *self._read(text, binary)
        # The parser fails on a row of another width that is not UTF-8, so such rows are removed first.
        _, lost = self._read(replace(text, text=_as_ascii(text)), binary)
        if lost:
            others = chunk.mapped(chunk.buffer, lambda offsets: np.delete(offsets, list(lost)))
            text = as_text(others, self._dialect, self._null)
        return text, self._read(text, binary)[0], lost

    def _read(self, text: CsvText, types: Mapping[int, pa.DataType]) -> tuple[pa.Table, dict[int, int]]:
        """Return the fields by their place, and the numbers of fields of the rows of another width."""
        if not text.text:
            return pa.table({str(place): pa.array([], kind) for place, kind in types.items()}), {}
        lost: dict[int, int] = {}

        def skip(row: pyarrow.csv.InvalidRow) -> str:
            lost[row.number - 1] = row.actual_columns
            return "skip"

        names, dialect = [str(place) for place in range(self._width)], text.dialect
        table = pyarrow.csv.read_csv(
            pa.BufferReader(text.text),
            read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=len(text.text) + 1, column_names=names),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=dialect.delimiter,
                quote_char=dialect.quote or False,
                escape_char=dialect.escape or False,
                newlines_in_values=True,
                ignore_empty_lines=False,
                invalid_row_handler=skip,
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                check_utf8=False,  # the caller has checked
                column_types={str(place): kind for place, kind in _without_hexadecimal(types, text).items()},
                include_columns=[str(place) for place in types],
                null_values=self._nulls,
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        return table, lost

    def _broken(self, chunk: Chunk) -> Iterator[tuple[int, str]]:
        """Yield the records that are bad regardless of their fields, and why."""
        yield from self._unclosed(chunk)
        if _NUL not in self._dialect.marks.values() and b"\0" in chunk.buffer:
            yield from _with_nul(chunk)
        if self._width > 1:
            for index in np.flatnonzero(chunk.ends == chunk.begins).tolist():
                yield index, "a blank line"

    def _unclosed(self, chunk: Chunk) -> Iterator[tuple[int, str]]:
        last = len(chunk.ends) - 1
        if self._dialect.quote is None or chunk.ends[last] != chunk.nexts[last]:
            return  # a quote stays open only at the end of the file
        text = self._dialect.decode(chunk.record(last))
        opened = self._dialect.open_quote(text)
        if opened is not None:
            place = chunk.file_offset(int(chunk.begins[last]) + len(self._dialect.encode(text[:opened])))
            yield last, f"the quote that opened at byte {place} of the file is not closed"


def _with_nul(chunk: Chunk) -> Iterator[tuple[int, str]]:
    places = np.flatnonzero(np.frombuffer(chunk.buffer, np.uint8) == 0)
    records = np.searchsorted(chunk.starts, places, "right") - 1
    inside = (records >= 0) & (places < chunk.ends[records])
    found, firsts = np.unique(records[inside], return_index=True)
    for index, place in zip(found.tolist(), (places[inside][firsts] - chunk.begins[found]).tolist(), strict=True):
        yield index, f"holds a NUL byte at byte {place} of the record; if the file is UTF-16, set encoding='utf-16'"


def _is_text(text: CsvText) -> bool:
    """Return whether fields of the text can be read as their types: it is UTF-8, with its own marks."""
    return not text.replaced and is_utf8(text.text)


def _as_ascii(text: CsvText) -> bytes:
    """Return the text with a letter for each byte that is not ASCII: all of these are part of a field's text."""
    letter = next(letter for letter in "wxyz" if letter not in text.dialect.marks.values())
    return text.text.translate(bytes(range(128)) + letter.encode() * 128)


def _without_hexadecimal(types: Mapping[int, pa.DataType], text: CsvText) -> Mapping[int, pa.DataType]:
    """Return the types, without integers where Arrow's parser may find hexadecimal digits, which it takes as bits."""
    if not any(map(pa.types.is_integer, types.values())) or not (b"x" in text.text or b"X" in text.text):
        return types
    characters = np.frombuffer(text.text, np.uint8)
    places = np.flatnonzero((characters | _LOWER) == ord("x")) - 1
    before = characters[places]
    if text.dialect.quote is not None:  # one that closes may stand between the digits: `"0"x1F`
        before = np.where(before == ord(text.dialect.quote), characters[places - 1], before)
    if not np.isin(before, list(f"0{text.dialect.escape or ''}".encode())).any():
        return types
    return {place: pa.binary() if pa.types.is_integer(kind) else kind for place, kind in types.items()}


def _joined(column: pa.ChunkedArray) -> pa.BinaryArray:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
