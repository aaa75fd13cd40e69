"""Formats from names and options: errors name what is unknown or incomplete."""

from __future__ import annotations

import io
from pathlib import Path

import every_format
import pytest
from quoted_lines import QuotedLines

from airflow_provider_blockread.errors import OptionsError, RecordError
from airflow_provider_blockread.options import FORMATS, CustomFormat, Lines
from airflow_provider_blockread.records import BaseFormat, StateMap, make_format, read_records, record_format
from airflow_provider_blockread.records.custom import load_object


class Halves(BaseFormat):
    """A format that lacks `cut` and `walk`."""


def test_an_unknown_format_is_refused() -> None:
    """The message lists the known ones."""
    with pytest.raises(OptionsError, match=r"unknown record format 'cvs'.*delimited.*lines"):
        record_format("cvs")


def test_an_unknown_option_is_refused() -> None:
    """The message lists the format's options."""
    with pytest.raises(OptionsError, match="lines has no option 'delimiter'; it has compression, newline, encoding"):
        record_format("lines", delimiter="x")


def test_a_custom_format_is_found_by_its_path() -> None:
    """A class outside the package reads blocks like a built-in one."""
    fmt = make_format(CustomFormat(path="quoted_lines:QuotedLines"))

    assert isinstance(fmt, QuotedLines)
    assert [r for _, r in read_records(io.BytesIO(b'a"\n"b\nc'), 0, 7, fmt)] == [b'a"\n"b', b"c"]


@pytest.mark.parametrize("path", ["no_such_module:X", "quoted_lines:NoSuchClass", "quoted_lines:"])
def test_what_cannot_be_imported_is_refused(path: str) -> None:
    """The message names the path and the remedy."""
    with pytest.raises(OptionsError, match=path):
        load_object(path, "record format")


def test_an_incomplete_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names what is missing."""
    monkeypatch.setattr("quoted_lines.Halves", Halves, raising=False)
    with pytest.raises(OptionsError, match="lacks cut, walk"):
        make_format(CustomFormat(path="quoted_lines:Halves"))


def test_what_is_no_format_is_not_called(tmp_path: Path) -> None:
    """A class without the methods of a format is refused before its options reach it."""
    option = CustomFormat(path="subprocess:Popen", options={"args": ["touch", str(tmp_path / "ran")]})
    with pytest.raises(OptionsError, match=r"lacks for_file, .*, cut, walk"):
        make_format(option)
    assert not list(tmp_path.iterdir())


def test_a_record_cut_short_by_the_file_is_refused() -> None:
    """The error for a truncated fixed record names its offset and the remedy."""
    fmt = record_format("fixed", length=4)
    with pytest.raises(RecordError, match=r"starts at byte 4: .* short_last='keep'"):
        list(read_records(io.BytesIO(b"abcdef"), 0, 6, fmt))


def test_options_make_formats() -> None:
    """An option value and its name with options make the same format."""
    fmt = make_format(Lines(newline="lf"))

    assert [r for _, r in read_records(io.BytesIO(b"a\rb\nc"), 0, 5, fmt)] == [b"a\rb", b"c"]
    assert fmt.scan(None, 0, 5) == StateMap.identity()  # type: ignore[arg-type]


def test_every_format_is_under_the_laws() -> None:
    """A format without a case in the list would not be tested; members follow from an index, and not from bytes."""
    assert {case.option.kind for case in every_format.FORMATS} == set(FORMATS) - {"members"}
