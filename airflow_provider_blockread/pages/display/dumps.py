"""Bytes for people: text beside hex, sixteen bytes per line."""

from __future__ import annotations

from typing import NamedTuple

_LINE = 16
_SHOWN_BYTES = 120  # of a record
_LINES = 5  # of text, before and after the marked ones
_SIGNS = {0x0A: "⏎", 0x0D: "␍", 0x09: "⇥"}
_IN_LINES = {byte: sign for byte, sign in _SIGNS.items() if byte != 0x0A}  # noqa: PLR2004 - a line's end


class Passage(NamedTuple):
    """Some lines of text: the part before the marked characters, the marked characters, and the part after them."""

    before: str
    marked: str
    after: str


class DumpLine(NamedTuple):
    """A line of a dump: where it begins, and its bytes in hex and as text, with the marked ones separate."""

    offset: int
    hex: tuple[str, ...]  # before, marked, after
    text: tuple[str, ...]


def dump(data: bytes, offset: int, *, mark: tuple[int, int] | None = None) -> list[DumpLine]:
    """Return the lines of a dump of bytes that begin at `offset`; those in `mark`, a range of offsets, are marked."""
    first, last = mark or (0, 0)
    found = []
    for start in range(0, len(data), _LINE):
        line, at = data[start : start + _LINE], offset + start
        cuts = [min(max(cut - at, 0), len(line)) for cut in (first, last)]
        pieces = (line[: cuts[0]], line[cuts[0] : cuts[1]], line[cuts[1] :])
        found.append(DumpLine(at, tuple(map(_hex, pieces)), tuple(map(_text, pieces))))
    return found


def passage(data: bytes, offset: int, *, mark: tuple[int, int], encoding: str = "utf-8") -> Passage | None:
    r"""Return the lines around the marked bytes as text, or None if line ends are not single bytes in the encoding.

    `\\xNN` stands for bytes that are not text.

    Args:
        data: bytes of a file.
        offset: where the bytes begin in the file.
        mark: the range of marked bytes of the file.
        encoding: the encoding of the file.
    """
    if not _has_plain_line_ends(encoding):
        return None
    first, last = (min(max(cut - offset, 0), len(data)) for cut in mark)
    before, after = data[:first].split(b"\n"), data[last:].split(b"\n")
    whole = before if offset == 0 or len(before) == 1 else before[1:]
    shown = (b"\n".join(whole[-_LINES - 1 :]), data[first:last], b"\n".join(after[: _LINES + 1]))
    before_text, marked, after_text = (one.decode(encoding, "backslashreplace").translate(_IN_LINES) for one in shown)
    return Passage(before_text, marked, after_text)


def text_of(data: bytes) -> str:
    r"""Return the first bytes of a record as text on one line; `\xNN` stands for bytes that are not UTF-8 text."""
    more = f" … {len(data) - _SHOWN_BYTES:,} bytes more" if len(data) > _SHOWN_BYTES else ""
    return data[:_SHOWN_BYTES].decode("utf-8", "backslashreplace").translate(_SIGNS) + more


def _has_plain_line_ends(encoding: str) -> bool:
    """Return whether a line can be decoded alone; in UTF-16 it may begin in the middle of a character."""
    try:
        return "\n".encode(encoding) == b"\n"
    except (LookupError, UnicodeError):
        return False


def _hex(data: bytes) -> str:
    return "".join(f"{byte:02x} " for byte in data)


def _text(data: bytes) -> str:
    return "".join(_SIGNS.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else "·") for byte in data)  # noqa: PLR2004
