"""The columns of the data source: those of the files, those that are returned, and batches with exactly the latter."""

from __future__ import annotations

import dataclasses

import pyarrow as pa

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import Csv, FormatOption, JsonArray, JsonLines
from airflow_provider_blockread.records.columns.rescued import RESCUED
from airflow_provider_blockread.records.columns.schema import parse_schema, schema_text
from airflow_provider_blockread.records.csv.format import CsvFormat
from airflow_provider_blockread.records.format import RecordFormat
from airflow_provider_blockread.records.model import Decoder
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.records.text.encodings import EncodedFormat
from airflow_provider_blockread.records.text.transcoding import TranscodingDecoder
from airflow_provider_blockread.spark.data_source.options import NAME, ReadOptions
from airflow_provider_blockread.spark.tasks.block_reader import Rows
from airflow_provider_blockread.spark.tasks.user_function import PLACE_TYPES, place_column

_ALL, _NONE = "*", "_no_column_of_a_record"


def with_schema(option: FormatOption, schema: pa.Schema) -> FormatOption:
    """Return a typed format without a schema with the columns of `.schema(...)`, or any other format unchanged."""
    if not isinstance(option, (Csv, JsonLines, JsonArray)) or option.schema is not None:
        return option
    own = [field for field in schema if field.name not in {*PLACE_TYPES, RESCUED}]
    if not own:
        return option
    text = schema_text(pa.schema(own))
    parse_schema(text)
    return dataclasses.replace(option, schema=text)


def file_schema(option: FormatOption) -> pa.Schema:
    """Return the columns of the files; for raw records the only column is `value`."""
    return make_format(option).decoder().schema


def with_places(schema: pa.Schema) -> pa.Schema:
    """Return the files' own columns, followed by those that say where a record is."""
    places = [pa.field(name, kind, nullable=False) for name, kind in PLACE_TYPES.items() if name not in schema.names]
    return pa.schema([*schema, *places])


def chosen(schema: pa.Schema, columns: tuple[str, ...]) -> pa.Schema:
    """Return the fields that the option `columns` names, in its order; by default all of the files' own fields.

    Raises:
        OptionsError: when a column is unknown or named twice.
    """
    names = [n for column in columns or (_ALL,) for n in (schema.names if column == _ALL else [column])]
    known = with_places(schema)
    for name in names:
        if name not in known.names or names.count(name) > 1:
            why = "names a column twice" if name in known.names else "names no column of the files"
            msg = f"{NAME}: columns={name!r} {why}; there are {', '.join(known.names)}"
            raise OptionsError(msg)
    return pa.schema([known.field(name) for name in names])


def check_asked(read: ReadOptions, names: list[str], usual: pa.Schema, asked: pa.Schema) -> None:
    """Refuse columns that the files lack or have with another type, or that the option `columns` does not name.

    Args:
        read: the options.
        names: the columns that are returned without `.schema(...)`.
        usual: the columns of the files, and the place columns, in Spark's types.
        asked: the columns of `.schema(...)`, or those that the data source returned itself.

    Raises:
        OptionsError: with the column, and the columns that exist.
    """
    for field in asked:
        found = usual.field(field.name) if field.name in usual.names else None
        if found is None or field.type != found.type or (found.nullable and not field.nullable):
            msg = (
                f"{NAME}: .schema(...) has {schema_text(pa.schema([field]))}, but format {read.record_format.kind} has"
                f" {schema_text(usual)}; declare columns as they are, or leave .schema(...) out"
            )
            raise OptionsError(msg)
    if read.columns and asked.names != names:
        msg = (
            f"{NAME}: .schema(...) and the option columns name different columns; give the columns of the files by the"
            " option schema, and those to return by one of the two"
        )
        raise OptionsError(msg)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns that are returned, and how the records of a file are decoded into them.

    `option` decodes only these columns, if the format supports that.
    """

    option: FormatOption
    schema: pa.Schema  # of the batches
    names: tuple[str, ...]  # of the files' own columns that are decoded, at least one

    @classmethod
    def of(cls, option: FormatOption, schema: pa.Schema) -> Columns:
        """Return the columns to return for a schema, from files of a format whose own schema is known."""
        own = file_schema(option)
        names = tuple(name for name in own.names if name in schema.names)
        if not names and isinstance(option, (Csv, JsonLines, JsonArray)) and option.schema is not None:
            option, names = _without_checks(option, option.schema)
            return cls(option=option, schema=schema, names=names)
        names = names or (own.names[0],)
        if isinstance(option, (JsonLines, JsonArray)) and option.schema is not None and not option.rescue:
            text = schema_text(pa.schema([own.field(name) for name in names]))
            option = dataclasses.replace(option, schema=text)
        return cls(option=option, schema=schema, names=names)

    def decoder(self, fmt: RecordFormat) -> Decoder:
        """Return the decoder for a file; `fmt` is the format as it applies to the file."""
        if isinstance(fmt, EncodedFormat) and isinstance(fmt.inner, CsvFormat):
            return TranscodingDecoder(fmt.inner.decoder(self.names), fmt.transcoder)
        return fmt.decoder(self.names) if isinstance(fmt, CsvFormat) else fmt.decoder()

    def batch(self, rows: Rows) -> pa.RecordBatch:
        """Return the rows as a batch with exactly these columns."""
        own = rows.batch.schema.names
        arrays = [
            rows.batch.column(field.name) if field.name in own else place_column(field.name, rows)
            for field in self.schema
        ]
        types = zip(arrays, self.schema.types, strict=True)
        return pa.RecordBatch.from_arrays([a if a.type == t else a.cast(t) for a, t in types], schema=self.schema)


def _without_checks(option: Csv | JsonLines | JsonArray, schema: str) -> tuple[FormatOption, tuple[str, ...]]:
    """Return a format, and its columns to decode, for counting records: no record is bad because of a value."""
    first, *others = parse_schema(schema)
    fields = [pa.field(first.name, pa.binary()), *others] if isinstance(option, Csv) else [pa.field(_NONE, pa.string())]
    return dataclasses.replace(option, schema=schema_text(pa.schema(fields))), (fields[0].name,)
