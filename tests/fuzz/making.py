"""Random trials: options of every format, files made of what means something to them, and changed corpus entries."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from random import Random
from typing import Any

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import (
    Csv,
    Delimited,
    Escaped,
    Fixed,
    FormatOption,
    JsonArray,
    JsonLines,
    Lines,
    WholeFile,
)
from airflow_provider_blockread.records import make_format
from tests.fuzz.model import Trial
from tests.records.every_format import COMPRESS

_ENCODINGS = ["utf-8"] * 6 + ["binary", "utf-16-le", "utf-16-be", "utf-16", "utf-32-le", "latin-1", "cp1252", "cp037"]
_OWN = ["utf-8", "binary", "latin-1", "utf-16-le"]  # of formats that look for no byte order mark
_MARKS = [",", ";", "|", "\t", "'", '"', "\\", "^", "#", "a", "§", "\x01"]
_DELIMITERS = ["\n", "||", "ab", "aba", "aabaa", ";", "\r\n", "\n\n", "§", "é", "\U0001f600", "\x00"]
_SCHEMAS = [
    "a string, b string",
    "a long, b string",
    "a string, b double, c boolean",
    "a binary",
    "a timestamp, b long",
]
_VALUES = ["1", "-7", "1.5", "true", "2026-01-01", "2026-01-01T00:00:00Z", "x", "null", "é", "\U0001f600", ""]
_JSON = [
    '{"a": 1}',
    '{"a": "x", "b": 2}',
    "[",
    "]",
    "{",
    "}",
    ",",
    ", ",
    '"',
    '"\\""',
    "\\",
    "\\\\",
    "1",
    "null",
    '"[,"',
    '1"a"',
    '{"a": -Inf}',
]
_PLAIN = ["a", "b", " ", "\n", "\r", "\r\n", "\x00", "ab", "é"]
_BOMS = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff"]


def _encoding(chance: Random) -> str:
    return chance.choice(_ENCODINGS)


def _mark(chance: Random, usual: Any) -> Any:
    return usual if chance.random() < 0.6 else chance.choice([None, *_MARKS])


_OPTIONS: dict[str, Callable[[Random], FormatOption]] = {
    "lines": lambda r: Lines(newline=r.choice(["universal", "lf"]), encoding=_encoding(r)),
    "delimited": lambda r: Delimited(delimiter=r.choice(_DELIMITERS), encoding=_encoding(r)),
    "escaped": lambda r: Escaped(
        delimiter=r.choice([None, None, *_DELIMITERS]),
        escape=_mark(r, "\\") or "\\",
        unescape=r.random() < 0.5,
        encoding=_encoding(r),
    ),
    "csv": lambda r: Csv(
        delimiter=_mark(r, ",") or ",",
        quote=_mark(r, '"'),
        escape=_mark(r, None),
        comment=_mark(r, None),
        header=r.random() < 0.2,
        schema=r.choice(_SCHEMAS),
        null=r.choice(["", "", "null", "1"]),
        encoding=_encoding(r),
    ),
    "json_lines": lambda r: JsonLines(schema=r.choice([None, *_SCHEMAS])),
    "json_array": lambda r: JsonArray(layout=r.choice(["auto", "array", "values"]), schema=r.choice([None, *_SCHEMAS])),
    "fixed": lambda r: Fixed(length=r.randint(1, 9), short_last=r.choice(["keep", "fail"]), encoding=r.choice(_OWN)),
    "whole_file": lambda r: WholeFile(encoding=r.choice(_OWN)),
}
_WEIGHTS = {"csv": 6, "json_array": 3, "escaped": 3, "lines": 2, "delimited": 2}


def some_option(chance: Random) -> FormatOption:
    """Return a format option that is accepted."""
    while True:
        kind = chance.choices(list(_OPTIONS), [_WEIGHTS.get(kind, 1) for kind in _OPTIONS])[0]
        try:
            option = _OPTIONS[kind](chance)
            make_format(option)
        except OptionsError:
            continue
        codec = chance.choice(list(COMPRESS)) if chance.random() < 0.08 else "none"
        return dataclasses.replace(option, compression=codec)


def _fragments(option: FormatOption) -> list[bytes]:
    """Return what a file of the format is made of, the format's own marks over and over."""
    name = getattr(option, "encoding", "utf-8")
    codec = {"binary": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}.get(name, name)
    marks = [getattr(option, what, None) for what in ("delimiter", "quote", "escape", "comment")]
    own = [mark for mark in marks if mark]
    texts = own * 6 + [mark * 2 for mark in own] + ["\n", "\r", "\r\n"] * 3 + _PLAIN + _VALUES
    texts += _JSON * (4 if option.kind.startswith("json") else 0)
    encoded = [text if isinstance(text, bytes) else text.encode(codec, "replace") for text in texts]
    return [*encoded, b"\xff", b"\xd8\x3d", b"\x3d\xd8", b"\n", b"\x81"]


def _plain(chance: Random, option: FormatOption) -> bytes:
    pieces = chance.choices(_fragments(option), k=chance.choice([0, 1, 3, 8, 20, 40]))
    if pieces and chance.random() < 0.04:
        place = chance.randrange(len(pieces))
        pieces[place] *= chance.randint(50, 1500)
    data = b"".join(pieces)
    if option.kind == "json_array" and chance.random() < 0.6:
        data = b"[" + data + b"]"
    if getattr(option, "encoding", "").startswith("utf") and chance.random() < 0.25:
        data = chance.choice(_BOMS) + data
    return data


def changed(chance: Random, data: bytes, fragments: list[bytes]) -> bytes:
    """Return the data with a few small changes."""
    for _ in range(chance.randint(1, 4)):
        start = chance.randint(0, len(data))
        end = min(start + chance.choice([0, 1, 1, 2, 5, 20]), len(data))
        middle = chance.choice([b"", data[start:end] * 2, chance.choice(fragments), chance.randbytes(1)])
        data = data[:start] + middle + data[end:]
    return data[: chance.randint(0, len(data))] if chance.random() < 0.1 else data


def make_trial(seed: str, number: int, corpus: list[Trial]) -> Trial:
    """Return the trial of that number; the same seed, number and corpus make the same trial."""
    chance = Random(f"{seed}/{number}")
    if corpus and chance.random() < 0.35:
        entry = chance.choice(corpus)
        option, data = entry.option, changed(chance, entry.data, _fragments(entry.option))
    else:
        option = some_option(chance)
        compress = COMPRESS.get(option.compression, lambda plain: plain)
        data = b"".join(compress(_plain(chance, option)) for _ in range(chance.choice([1, 1, 2, 3])))
        if option.compression in COMPRESS and chance.random() < 0.4:
            data = changed(chance, data, [b"\x00", b"a\n", data[:20]])
    small = max(len(data) // 300, 1)
    sizes = [small, small + 1, small + chance.randint(0, 20), len(data) // 2 + 1, len(data) + 1]
    return Trial(
        option=option,
        data=data,
        block_size=chance.choice(sizes),
        chunk=chance.choice([small, small + 1, small + chance.randint(0, 30), 2**20]),
        most=chance.choice([small, small + chance.randint(0, 9), 2**20]),
    )
