"""Files in other encodings: the same records as in UTF-8, at the same characters, at every split."""

from __future__ import annotations

import io
from dataclasses import dataclass, field

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import ShortReads

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.records import ByteSource, RecordFormat, read_records, record_format, scan_block
from airflow_provider_blockread.records.reading import bind, open_source
from tests.examples import examples
from tests.records.text.chunks import MARKS, chunks_of

SPLIT = ["utf-16-le", "utf-16-be", "utf-32-be", "cp1252", "cp037"]
ALIKE = [*SPLIT, "utf-32-le", "latin-1", "koi8-r", "mac-arabic", "cp864", "ascii"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A format, the pieces of its text, and replacements for characters where UTF-8 needs a single byte."""

    name: str
    options: dict[str, object] = field(default_factory=dict)
    pieces: tuple[str, ...] = ()
    stand_ins: dict[str, str] = field(default_factory=dict)

    def in_encoding(self, encoding: str) -> RecordFormat:
        """Return the format for files of an encoding."""
        named = {} if encoding == "utf-8" else {"encoding": encoding}
        return record_format(self.name, **self.options, **named)

    def records(self, text: str, encoding: str, begin: int) -> list[tuple[int, bytes]]:
        """Return the records of the same text in UTF-8, at the offsets of the characters in this encoding."""
        options = {k: self.stand_ins.get(v, v) if isinstance(v, str) else v for k, v in self.options.items()}
        data = text.translate(str.maketrans(self.stand_ins)).encode()
        back = str.maketrans({new: old for old, new in self.stand_ins.items()})
        found = read_records(io.BytesIO(data), 0, len(data), record_format(self.name, **options))
        return [
            (begin + len(text[: len(data[:offset].decode())].encode(encoding)), r.decode().translate(back).encode())
            for offset, r in found
        ]


CASES = [
    Case(name="lines", pieces=("\n", "\r", "\r\n")),
    Case(name="lines", options={"newline": "lf"}, pieces=("\n", "\r\n")),
    Case(name="delimited", options={"delimiter": "|"}, pieces=("|",)),
    Case(name="delimited", options={"delimiter": "§§"}, pieces=("§", "§§")),
    Case(name="delimited", options={"delimiter": "a\x00"}, pieces=("a", "\x00", "a\x00")),
    Case(name="delimited", options={"delimiter": "‖x"}, pieces=("‖", "x", "‖x")),
    Case(name="delimited", options={"delimiter": "😀"}, pieces=("😀", "😁")),
    Case(name="escaped", pieces=("\\", "\n", "\\\n", "\r\n")),
    Case(name="escaped", options={"unescape": True, "delimiter": "|§"}, pieces=("\\", "|", "§", "|§", "\\|§")),
    Case(name="escaped", options={"unescape": True, "escape": "é"}, pieces=("é", "\n", "é\n"), stand_ins={"é": "\x02"}),
    Case(name="csv", pieces=('"', ",", "\n", '"\n"', "\r\n")),
    Case(
        name="csv",
        options={"delimiter": "§", "quote": "é", "header": True},
        pieces=("§", "é", "\n", "é\né", "§é"),
        stand_ins={"§": "\x01", "é": "\x02"},
    ),
    Case(name="csv", options={"escape": "\\", "comment": "#"}, pieces=('"', ",", "\n", "\\", "#", '"\n"')),
]


def encodes(text: str, encoding: str) -> bool:
    """Return whether the encoding has these characters."""
    return text.encode(encoding, "ignore").decode(encoding) == text


def combinations(encodings: list[str], *, raw: bool = False) -> pytest.MarkDecorator:
    """Parametrise over each format with each encoding of its marks; `raw`: with one column."""
    pairs = [
        pytest.param(case, encoding, id=f"{case.name} {case.options} {encoding}")
        for case in CASES
        for encoding in encodings
        if encodes("".join(v for v in case.options.values() if isinstance(v, str)), encoding)
        if not (raw and case.name == "csv")
    ]
    return pytest.mark.parametrize(("case", "encoding"), pairs)


def texts(case: Case, encoding: str) -> st.SearchStrategy[str]:
    """Return texts made mostly of the format's marks, and of characters of all lengths."""
    pieces = [*case.pieces * 2, "a", "b ", "é", "§", "ж", "あ", "\u2028", "\u0a0d", "😀", "\x85"]
    return st.lists(st.sampled_from([p for p in pieces if encodes(p, encoding)]), max_size=8).map("".join)


@combinations(SPLIT)
@examples(12)
@given(draw=st.data(), most=st.integers(1, 20), chunk=st.integers(1, 20), marked=st.booleans())
def test_every_split_reads_each_record_once(
    case: Case, encoding: str, draw: st.DataObject, most: int, chunk: int, *, marked: bool
) -> None:
    """Two blocks that meet anywhere, also inside characters, give the records of the text in UTF-8."""
    text, fmt = draw.draw(texts(case, encoding)), case.in_encoding(encoding)
    mark = MARKS.get(encoding, b"") if marked else b""
    data = mark + text.encode(encoding)
    try:
        expected = case.records(text, encoding, len(mark))
    except RecordError:  # a header that never closes
        with pytest.raises(RecordError):
            list(read_records(io.BytesIO(data), 0, len(data), fmt))
        return
    for split in range(len(data) + 1):
        state = scan_block(ShortReads(data, most), 0, split, fmt)(fmt.initial_state)
        first = read_records(ShortReads(data, most), 0, split, fmt, chunk_bytes=chunk)
        second = read_records(ShortReads(data, most), split, len(data), fmt, entry_state=state, chunk_bytes=chunk)

        assert [*first, *second] == expected, split


@combinations(ALIKE, raw=True)
@examples(10)
@given(draw=st.data(), chunk=st.integers(1, 40))
def test_batches_hold_the_same_text(case: Case, encoding: str, draw: st.DataObject, chunk: int) -> None:
    """Chunks of any size are transcoded to the same records as one by one."""
    text, fmt = draw.draw(texts(case, encoding)), case.in_encoding(encoding)
    data = text.encode(encoding)
    decoder = open_source(io.BytesIO(data), fmt)[1].decoder()
    decoded = [decoder.decode(part) for part in chunks_of(data, fmt, chunk)]

    assert not any(part.bad for part in decoded)
    assert [v.encode() for part in decoded for v in part.batch["value"].to_pylist()] == [
        record for _, record in case.records(text, encoding, 0)
    ]


@pytest.mark.parametrize("found", MARKS)
@pytest.mark.parametrize("named", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize("case", [p for p in CASES if encodes(str(p.options), "ascii")], ids=repr)
def test_a_byte_order_mark_tells_the_encoding(case: Case, named: str, found: str) -> None:
    """A file of `utf-8`, `utf-16` or `utf-32` is read according to its mark, which is not data."""
    pieces = "".join(case.pieces)
    text = f"aé{pieces}あ{pieces[::-1]}😀b"
    data = MARKS[found] + text.encode(found)

    fmt = case.in_encoding(named)
    assert list(read_records(io.BytesIO(data), 0, len(data), fmt)) == case.records(text, found, len(MARKS[found]))


@pytest.mark.parametrize("name", ["utf-16", "utf-32"])
def test_a_file_without_a_byte_order_mark_is_refused(name: str) -> None:
    """The message says how to set the order; an empty file needs none."""
    fmt = record_format("lines", encoding=name)
    with pytest.raises(RecordError, match=f"no byte order mark; set encoding='{name}-le' or '{name}-be'"):
        bind(ByteSource(io.BytesIO(b"a\x00b\x00")), fmt)

    assert list(read_records(io.BytesIO(b""), 0, 0, fmt)) == []


def test_a_byte_order_mark_of_the_other_order_is_refused() -> None:
    """A named order that contradicts the file's mark is an error."""
    with pytest.raises(RecordError, match="mark of utf-16-be, not of utf-16-le; set encoding='utf-16-be'"):
        bind(ByteSource(io.BytesIO(b"\xfe\xff\x00a")), record_format("lines", encoding="utf-16-le"))


def test_binary_knows_no_byte_order_mark() -> None:
    """The bytes are unchanged."""
    data = b"\xff\xfea\n\x00\xef\xbb\xbf"
    fmt = record_format("lines", encoding="binary")

    assert [record for _, record in read_records(io.BytesIO(data), 0, len(data), fmt)] == data.split(b"\n")


def units(encoding: str) -> st.SearchStrategy[bytes]:
    """Return files of code units, good and bad, and perhaps a piece of one at the end."""
    wide = [0x41, 0x0A, 0x0D, 0xE9, 0x3042, 0xD83D, 0xDE00, 0xDBFF, 0xDC00, 0x0D0A, 0x20]
    if encoding.startswith("utf-32"):
        wide += [0x1F600, 0x10FFFF, 0x110000, 0xFFFFFFFF]
    size, order = (2 if "16" in encoding else 4), ("big" if encoding.endswith("be") else "little")
    unit = st.sampled_from([value.to_bytes(size, order) for value in wide])
    return st.builds(lambda of, rest: b"".join(of) + rest, st.lists(unit, max_size=12), st.binary(max_size=size - 1))


def good(record: bytes, encoding: str) -> bool:
    """Return whether bytes are text, as Python sees it."""
    try:
        record.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def check_alone(data: bytes, fmt: RecordFormat, encoding: str, chunk: int) -> None:
    """Each record is a row, or bad because of its own bytes, whatever its neighbours are."""
    decoder = open_source(io.BytesIO(data), fmt)[1].decoder()
    for part in chunks_of(data, fmt, chunk):
        records = [part.record(index) for index in range(len(part.ends))]
        decoded = decoder.decode(part)

        assert decoded.batch["value"].to_pylist() == [r.decode(encoding) for r in records if good(r, encoding)]
        assert [bad.index for bad in decoded.bad] == [i for i, r in enumerate(records) if not good(r, encoding)]
        assert all(bad.reason.startswith(f"not {encoding}: no character at byte ") for bad in decoded.bad)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@examples(150)
@given(draw=st.data(), chunk=st.integers(1, 60))
def test_a_record_that_is_not_of_its_encoding_is_bad_alone(encoding: str, draw: st.DataObject, chunk: int) -> None:
    """Halves of surrogate pairs, numbers beyond Unicode and incomplete units make only their record bad."""
    data = draw.draw(units(encoding))
    for name, options in (("lines", {}), ("escaped", {}), ("delimited", {"delimiter": "あ"})):
        check_alone(data, record_format(name, encoding=encoding, **options), encoding, chunk)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-32-be"])
@examples(100)
@given(draw=st.data(), records=st.integers(1, 3), chunk=st.integers(1, 60))
def test_fixed_records_share_no_character(encoding: str, draw: st.DataObject, records: int, chunk: int) -> None:
    """Two records with one half of a surrogate pair each are both bad."""
    data = draw.draw(units(encoding))
    length = records * (2 if "16" in encoding else 4)
    check_alone(
        data, record_format("fixed", length=length, short_last="keep", encoding=encoding), encoding, chunk + length
    )


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "cp857", "cp424", "utf-16-le", "utf-8"])
@examples(100)
@given(data=st.lists(st.sampled_from([b"\x81", b"\x9d", b"\n", b"a", b"\xe7", b"\xff", b"%"])).map(b"".join))
@example(data=b"a\x81\nb\n\x9d\n\xe7")
def test_bytes_that_stand_for_no_character_are_bad(encoding: str, data: bytes) -> None:
    """In encodings with undefined bytes, and in files of another encoding, good records stay."""
    if encoding != "utf-8":
        check_alone(data, record_format("lines", encoding=encoding), encoding, 2**20)


def test_one_by_one_such_a_record_is_an_error() -> None:
    """The message names the encoding."""
    data = b"ok\n\x81\n"
    with pytest.raises(RecordError, match=r"not cp1252: .* at byte 0 of it"):
        list(read_records(io.BytesIO(data), 0, len(data), record_format("lines", encoding="cp1252")))
