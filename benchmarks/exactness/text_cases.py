"""Lines and other delimited text that is hard to split, and compressed files."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

from airflow_provider_blockread.options import Delimited, Escaped, Lines
from benchmarks.exactness import calls
from benchmarks.exactness.case import Case, Maker, Row, values

_UTF16 = "utf-16-le"


def text_cases() -> Iterator[Case]:
    """Yield the cases."""
    yield from _lines(Maker())
    yield from _delimited(Maker())
    yield from _compressed(Maker())


def _lines(make: Maker) -> Iterator[Case]:
    mixed = values(15000, lambda n: "" if n % 3 == 0 else make.words())
    # No blank line ends with a lone LF: after a CR it would be part of a CRLF.
    ends = [make.chance.choice(("\n", "\r\n", "\r") if line else ("\r\n", "\r")) for (line,) in mixed]
    yield Case(
        title="lines, ends of LF, CR and CRLF mixed, blank lines",
        files={"a.log": "".join(line + end for (line,), end in zip(mixed, ends, strict=True)).encode()},
        rows=mixed,
        option=Lines(),
        calls=calls.text(),
    )
    wide = values(15000, lambda _: make.one_of("Ċ ഊ čĊ", "", "上ਊ"))
    yield Case(
        title="lines in UTF-16",
        files={"a.log": "".join(f"{line}\n" for (line,) in wide).encode(_UTF16)},
        rows=wide,
        option=Lines(encoding=_UTF16),
        calls=calls.text(encoding=_UTF16),
    )
    escaped = values(8000, lambda n: make.one_of(f"{n}\\\nnext", "ends in \\\\", "\\\\\\\n", "a\\\n\\\nb"))
    yield Case(
        title=r"lines, newlines escaped by `\`",
        files={"a.log": "".join(f"{line}\n" for (line,) in escaped).encode()},
        rows=tuple((line.replace("\\\n", "\n").replace("\\\\", "\\"),) for (line,) in escaped),
        raw=escaped,
        option=Escaped(unescape=True),
        calls=calls.text(escape="\\", newline="\n"),
    )


def _delimited(make: Maker) -> Iterator[Case]:
    pipes = values(15000, lambda _: make.one_of("", "", "a|b"))
    yield _ended("records ended by `||`, some of them empty", "||", pipes)
    yield _ended(
        "records ended by `||`, some beginning with `|`", "||", values(15000, lambda _: make.one_of("", "|a", "|"))
    )
    yield _ended(
        "records ended by a blank line, some with more blank lines",
        "\n\n",
        values(15000, lambda _: make.one_of("\n", "", "\na")),
    )


def _ended(title: str, delimiter: str, pieces: tuple[Row, ...]) -> Case:
    text = "".join(piece + delimiter for (piece,) in pieces)
    records = text.split(delimiter)  # leftmost matches; the last one opens no record
    return Case(
        title=title,
        files={"a.txt": text.encode()},
        rows=tuple((record,) for record in (records if records[-1] else records[:-1])),
        option=Delimited(delimiter=delimiter),
        calls=calls.delimited(delimiter),
    )


def _compressed(make: Maker) -> Iterator[Case]:
    lines = values(15000, lambda _: make.words())
    text = "".join(f"{line}\n" for (line,) in lines).encode()
    members = b"".join(gzip.compress(text[at : at + 40_000], mtime=0) for at in range(0, len(text), 40_000))
    for title, data, truth in (
        ("gzip of several members", members, lines),
        ("gzip cut short", members[: -len(members) // 3], None),
        ("gzip with other bytes behind it", members + b"these bytes are no gzip\n", None),
    ):
        yield Case(title=title, files={"a.log.gz": data}, rows=truth, option=Lines(), calls=calls.compressed_text())
