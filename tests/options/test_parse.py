"""Options from the text of a command line, and sizes as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import (
    Csv,
    Delimited,
    Escaped,
    FileSource,
    Fixed,
    Lines,
    SparkJob,
    Splitting,
    parse,
    parse_size,
)
from airflow_provider_blockread.options.parsing.sizes import first_of, format_bytes


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        (r"\n", b"\n"),
        (r"\r\n", b"\r\n"),
        (r"\t|\t", b"\t|\t"),
        (r"\0", b"\0"),
        (r"\x1e", b"\x1e"),
        (r"\xFF\xfe", b"\xff\xfe"),
        (r"\\n", b"\\n"),
        (r"\\", b"\\"),
        (r"a\x62c", b"abc"),
        ("||", b"||"),
        ("\n", b"\n"),
        ("§€", "§€".encode()),
        ("€\\n", "€\n".encode()),
        (r"\xe2\x82\xac", "€".encode()),
    ],
)
def test_delimiters_are_written_with_escapes(text: str, delimiter: bytes) -> None:
    """A shell user types escapes for bytes that a shell makes hard; other text stays as it is."""
    assert parse(Delimited, {"delimiter": text}).delimiter_bytes == delimiter


@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_text_without_a_backslash_is_untouched(text: str) -> None:
    """Text of any script goes through as UTF-8; a doubled backslash is one."""
    assert parse(Delimited, {"delimiter": text.replace("\\", "\\\\")}).delimiter_bytes == text.encode()


@pytest.mark.parametrize("text", ["\\", "\\q", "\\x1", "\\xgg", "a\\", "\\€", "\\\n"])
def test_unknown_escapes_are_refused(text: str) -> None:
    """A slip of the pen never becomes another delimiter."""
    with pytest.raises(OptionsError, match=r"delimiter=.* has an unknown escape .* write a backslash as two"):
        parse(Delimited, {"delimiter": text})


def test_a_blank_mark_is_none() -> None:
    """What turns an option off in Python can be said on a command line, too; one that must be there stays blank."""
    assert parse(Csv, {"quote": "", "comment": ""}) == Csv(quote=None)
    assert parse(Escaped, {"delimiter": ""}) == Escaped()
    with pytest.raises(OptionsError, match="delimiter must be a single byte, not ''"):
        parse(Csv, {"delimiter": ""})


def test_text_becomes_the_option_s_type() -> None:
    """Numbers, truth values and text are distinguished by the option's type, not by their looks."""
    assert parse(Fixed, {"length": "12", "short_last": "keep"}) == Fixed(length=12, short_last="keep")
    assert parse(Lines, {"newline": "lf"}) == Lines(newline="lf")
    assert parse(Splitting, {"block_size": "64MiB", "max_groups": "3"}) == Splitting(block_size="64MiB", max_groups=3)
    assert parse(FileSource, {"uris": "in", "recursive": "False", "min_age": "5min"}) == FileSource(
        "in", recursive=False, min_age="5min"
    )


@pytest.mark.parametrize(
    ("kind", "texts", "message"),
    [
        (Fixed, {"length": "twelve"}, "length='twelve' must be a whole number"),
        (SparkJob, {"heartbeat_s": "often"}, "heartbeat_s='often' must be a number"),
        (FileSource, {"uris": "in", "hidden": "maybe"}, "hidden='maybe' must be true or false"),
        (Lines, {"delimiter": "x"}, "lines has no option 'delimiter'"),
    ],
)
def test_text_of_another_type_is_refused(kind: type[Fixed], texts: dict[str, str], message: str) -> None:
    """The message shows the option and its text."""
    with pytest.raises(OptionsError, match=message):
        parse(kind, texts)


@pytest.mark.parametrize(
    ("text", "size"),
    [("4096", 4096), ("1b", 1), ("64KiB", 65536), ("64 MiB", 2**26), ("1.5GB", 1_500_000_000), ("2g", 2**31)],
)
def test_sizes_have_units(text: str | int, size: int) -> None:
    """KiB and K are 1024 bytes, KB is 1000."""
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "MiB", "-1", "0", "1 parsec", "1e3", "0.1b", True])
def test_what_is_no_size_is_refused(text: str | int) -> None:
    """The message shows how sizes are written, or that they are at least a byte."""
    with pytest.raises(OptionsError, match="not a size"):
        parse_size(text)


@given(size=st.integers(1, 2**60))
def test_a_number_of_bytes_is_exact(size: int) -> None:
    """No size passes through a float."""
    assert parse_size(size) == parse_size(str(size)) == size


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (1_550_000, "1.6 MB"),
        (3_200_000_000, "3.2 GB"),
        (5e15, "5000.0 TB"),
    ],
)
def test_sizes_are_written_for_people(size: float, text: str) -> None:
    """In decimal units, with one digit behind the point."""
    assert format_bytes(size) == text


@given(size=st.integers(1, 10**18))
def test_no_size_is_rounded_to_nothing(size: int) -> None:
    """However small it is, as a speed may be."""
    assert float(format_bytes(size).split()[0]) >= 1


@pytest.mark.parametrize(
    ("names", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a, b"), (["a", "b", "c", "d"], "a, b and 2 more")]
)
def test_the_first_of_many(names: list[str], text: str) -> None:
    """Those that are not shown are counted; names may come one by one."""
    assert first_of(names, 2) == text
    assert first_of(iter(names), 2) == text
