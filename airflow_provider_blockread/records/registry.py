"""The registry that turns an option, or a name with options, into a record format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import (
    FORMATS,
    Csv,
    CustomFormat,
    Delimited,
    Escaped,
    Fixed,
    FormatOption,
    JsonArray,
    JsonLines,
    Lines,
    Members,
    WholeFile,
    build,
)
from airflow_provider_blockread.records.csv.format import CsvFormat
from airflow_provider_blockread.records.custom import make_custom
from airflow_provider_blockread.records.format import RecordFormat
from airflow_provider_blockread.records.json.array import JsonArrayFormat
from airflow_provider_blockread.records.json.lines import JsonLinesFormat
from airflow_provider_blockread.records.members.format import MembersFormat
from airflow_provider_blockread.records.text.delimited import DelimitedFormat
from airflow_provider_blockread.records.text.escaped import EscapedFormat
from airflow_provider_blockread.records.text.lines import LineFormat
from airflow_provider_blockread.records.text.sized import FixedFormat, WholeFileFormat


def record_format(name: str, **options: object) -> RecordFormat:
    """Return the format with this name and options, as in `record_format("fixed", length=8)`.

    Raises:
        OptionsError: when the name or an option is unknown; the message lists the known ones.
    """
    if name not in FORMATS:
        msg = f"unknown record format {name!r}; known are {', '.join(sorted(FORMATS))}"
        raise OptionsError(msg)
    return make_format(build(FORMATS[name], options))


def make_format(option: FormatOption) -> RecordFormat:
    """Return the format that an option describes.

    Raises:
        OptionsError: when a custom format cannot be imported or does not implement the protocol.
    """
    made = _MAKERS[type(option)](option)
    made.compression = option.compression
    made.reads_empty = option.reads_empty
    made.holds_members = option.holds_members
    made.too_long = option.too_long
    return made


_MAKERS: dict[type[FormatOption], Callable[[Any], RecordFormat]] = {
    Lines: LineFormat,
    Delimited: DelimitedFormat,
    Escaped: EscapedFormat,
    Csv: CsvFormat,
    JsonLines: JsonLinesFormat,
    JsonArray: JsonArrayFormat,
    Fixed: FixedFormat,
    WholeFile: WholeFileFormat,
    Members: MembersFormat,
    CustomFormat: make_custom,
}
