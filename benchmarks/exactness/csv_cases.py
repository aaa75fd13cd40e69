"""CSV that is hard to split."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from airflow_provider_blockread.options import Csv
from benchmarks.exactness import calls
from benchmarks.exactness.case import Case, Maker, Row, rows

_SCHEMA = "id string, msg string"


def csv_cases() -> Iterator[Case]:
    """Yield the cases."""
    yield from _newlines(Maker())
    yield from _quotes(Maker())
    yield from _heads(Maker())


def _quoted(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'


def _text(records: tuple[Row, ...], newline: str = "\n", field: Callable[[str], str] = _quoted) -> str:
    return "".join(f"{number},{field(msg)}{newline}" for number, msg in records)


def _plain(title: str, records: tuple[Row, ...], text: str) -> Case:
    return Case(
        title=title, files={"a.csv": text.encode()}, rows=records, option=Csv(schema=_SCHEMA), calls=calls.Csv().calls()
    )


def _newlines(make: Maker) -> Iterator[Case]:
    three = rows(200, lambda n: f"first {n}\nsecond, {make.words()}\nthird")
    yield _plain("csv, 200 rows of three lines each", three, _text(three))
    like = rows(8000, lambda n: make.one_of(f"\n{n},x\n", '"', '"\n"', ',"\n', f'say "{n}"\n', f'"\n{n},"y"\n'))
    yield _plain("csv, quoted newlines, quotes, and what looks like rows", like, _text(like))
    mixed = rows(8000, lambda _: make.one_of("\r\n", "\n", "\r", "a\r\nb", "a\nb\r\nc", "\n\r"))
    yield _plain("csv, rows end with CRLF; CR, LF and CRLF within quotes", mixed, _text(mixed, "\r\n"))
    many = "".join(f"{number},looks like a row\n" for number in range(800))
    large = rows(2000, lambda n: make.words() if n % 400 else many)
    yield _plain("csv, quoted fields larger than a split", large, _text(large))


def _quotes(make: Maker) -> Iterator[Case]:
    stray = rows(8000, lambda n: make.one_of(f'{n}" pipe', 'he said "no" twice', 'a""b', "two\nlines", "q\n"))
    text = _text(stray, field=lambda msg: _quoted(msg) if "\n" in msg else msg)
    yield _plain("csv, quotes inside unquoted fields", stray, text)
    escaped = rows(8000, lambda n: make.one_of(f'say \\"{n}\\"\n', "\\\\\n", '\\"', 'a\\"\n\\"b', "two\nlines"))
    said = tuple((number, msg.replace('\\"', '"').replace("\\\\", "\\")) for number, msg in escaped)
    yield Case(
        title=r"csv, quotes escaped by `\`, with newlines",
        files={"a.csv": _text(escaped, field=lambda msg: f'"{msg}"').encode()},
        rows=said,
        raw=escaped,
        option=Csv(schema=_SCHEMA, escape="\\"),
        calls=calls.Csv(escape="\\").calls(),
    )
    noted = rows(8000, lambda n: make.one_of(f"two\n#lines {n}", 'a "quoted" word', "\n#\n"))
    lines = [f"# it's 12\" wide\n{line}" if not n % 10 else line for n, line in enumerate(_lines(noted))]
    yield Case(
        title="csv, comment lines that hold a quote",
        files={"a.csv": "".join(lines).encode()},
        rows=noted,
        option=Csv(schema=_SCHEMA, comment="#"),
        calls=calls.Csv(comment="#").calls(),
    )


def _lines(records: tuple[Row, ...]) -> list[str]:
    return [_text((record,)) for record in records]


def _heads(make: Maker) -> Iterator[Case]:
    head = '"id","msg"\n'
    named = calls.Csv(header=True).calls()
    lines = rows(8000, lambda _: make.one_of("two\nlines", "id,msg\n", '"id","msg"\n'))
    yield Case(
        title="csv, byte order mark, header, quoted newlines",
        files={"a.csv": ("\ufeff" + head + _text(lines)).encode()},
        rows=(("id", "msg"), *lines),
        option=Csv(schema=_SCHEMA, header=True),
        calls=named,
        header=True,
    )
    yield Case(
        title="csv, a header in each of five files, quoted newlines",
        files={f"{n}.csv": (head + _text(lines[n * 1600 : n * 1600 + 1600])).encode() for n in range(5)},
        rows=(("id", "msg"), *lines),
        option=Csv(schema=_SCHEMA, header=True),
        calls=named,
        header=True,
    )
    wide = rows(8000, lambda _: make.one_of("Ċ ഊ ∢ Ģ", "two\nlines", "”Ģ“\n"))
    yield Case(
        title="csv in UTF-16, quoted newlines",
        files={"a.csv": _text(wide).encode("utf-16-le")},
        rows=wide,
        option=Csv(schema=_SCHEMA, encoding="utf-16-le"),
        calls=calls.Csv(encoding="utf-16-le").calls(),
    )
