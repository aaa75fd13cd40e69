"""Formats of one's own: the documentation's example is exact, and what is no format is refused before anything runs."""

from __future__ import annotations

import io
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from airflow_provider_blockread.errors import OptionsError, ProofError, RecordError
from airflow_provider_blockread.options import CustomFormat
from airflow_provider_blockread.records import BaseFormat, Walk, make_format, read_records
from tests.pipeline.make import Pipe

_PAGE = Path(__file__).parents[3] / "docs" / "custom_formats.md"
_MARKER = b"\x89SYNC\r\n\x1a"
_HERE = "test_custom_formats_classes"
_OPTION = CustomFormat(path="messages:Messages")


@pytest.fixture
def _messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The documentation's module, importable."""
    code = re.findall(r"^```python\n(.*?)^```", _PAGE.read_text(), re.MULTILINE | re.DOTALL)[0]
    (tmp_path / "messages.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("messages", None)


def _message(payload: bytes) -> bytes:
    return _MARKER + len(payload).to_bytes(4, "big") + payload


def _payloads() -> list[bytes]:
    """Payloads with markers by chance, markers with a length behind them, and none."""
    random.seed(5)
    parts = [_MARKER, _MARKER[:4], b"\x00\x00\x00\x03", b"abc", b"\r\n", b"\x89"]
    return [b"".join(random.choices(parts, k=random.randrange(5))) for _ in range(25)]


def _records(data: bytes, size: int) -> list[tuple[int, bytes]]:
    fmt = make_format(_OPTION)
    ends = [*range(size, len(data), size), len(data)]
    return [
        record
        for start, end in zip([0, *ends], ends, strict=False)
        for record in read_records(io.BytesIO(data), start, end, fmt, chunk_bytes=64)
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("_messages")
def test_the_example_is_exact_at_every_split() -> None:
    """Every block size and every two-way split give the same messages at the same offsets."""
    payloads = _payloads()
    data, expected = b"", []
    for payload in payloads:
        expected.append((len(data), payload))
        data += _message(payload)
    fmt = make_format(_OPTION)

    assert all(_records(data, size) == expected for size in range(1, len(data) + 1))
    for split in range(1, len(data)):
        left = read_records(io.BytesIO(data), 0, split, fmt)
        assert [*left, *read_records(io.BytesIO(data), split, len(data), fmt)] == expected


@pytest.mark.usefixtures("_messages")
def test_the_example_runs_through_a_window(here: Pipe) -> None:
    """Blocks of a few bytes are read, proven and published; a damaged file publishes nothing and names the byte."""
    payloads = _payloads()
    here.put({"a.bin": b"".join(map(_message, payloads)), "b.bin": b"", "c.bin": _message(b"alone")})
    here.record_format, here.block_size = _OPTION, 17
    done = here.run()

    assert here.values() == sorted([*payloads, b"alone"])
    assert (done.records, done.proof) == (26, "proven")
    assert done.blocks > 10
    here.put({"d.bin": _message(b"whole") + _message(b"cut short")[:-1]})
    here.block_size = 1000
    with pytest.raises(RecordError, match=r"d\.bin ends inside the messages record that starts at byte 17: a marker"):
        here.run("next")
    assert len(here.values()) == 26


@pytest.mark.usefixtures("_messages")
def test_what_fools_the_example_is_refused_by_the_proof(here: Pipe) -> None:
    """A payload that holds a file of messages is not read wrong: the borders do not agree, and it is said where."""
    inner = b"".join(_message(b"inner") for _ in range(9))
    here.put({"a.bin": _message(inner) + _message(b"outer") * 9})
    here.record_format, here.block_size = _OPTION, 30
    with pytest.raises(ProofError, match=r"a\.bin block 1 .*read twice"):
        here.run()

    assert here.published() == []


class Good(BaseFormat):
    """A format of one record a byte."""

    def __init__(self, *, width: int = 1) -> None:
        """Take the width."""
        self.width = width

    def cut(self, source: Any, offset: int, state: int) -> int:
        """Every offset is a record start."""
        del source, state
        return offset

    def walk(self, buffer: bytes, *, final: bool) -> Walk:
        """Each byte is a record."""
        del final
        ends = np.arange(1, len(buffer) + 1, dtype=np.int64)
        return Walk(ends=ends, nexts=ends)


class LacksCut(BaseFormat):
    """A format without `cut`."""

    walk = Good.walk


class LacksMost:
    """A class with `walk` alone."""

    walk = Good.walk


class WalkIsData(Good):
    """A format whose `walk` is no method."""

    walk = 3  # type: ignore[assignment]


class WalkReturnsList(Good):
    """A format that forgets `Walk`."""

    def walk(self, buffer: bytes, *, final: bool) -> Any:
        """Return what is no Walk."""
        del buffer, final
        return []


class WalkRaises(Good):
    """A format that cannot walk nothing."""

    def walk(self, buffer: bytes, *, final: bool) -> Walk:
        """Raise."""
        del final
        return Walk(ends=np.array([buffer[0]]), nexts=np.array([1]))


class StateIsText(Good):
    """A format whose state is no number."""

    initial_state = "start"  # type: ignore[assignment]


class Stands(Good):
    """A format whose records take no bytes."""

    def walk(self, buffer: bytes, *, final: bool) -> Walk:
        """Return a record where the buffer begins."""
        del final
        ends = np.zeros(1 if buffer else 0, np.int64)
        return Walk(ends=ends, nexts=ends)


class Overshoots(Good):
    """A format whose records may end behind the buffer."""

    def walk(self, buffer: bytes, *, final: bool) -> Walk:
        """Return a record of nine bytes, as if there were so many."""
        del final
        ends = np.full(1 if buffer else 0, 9, np.int64)
        return Walk(ends=ends, nexts=ends)


class Trips(Good):
    """A format that raises at a byte that it does not expect."""

    def walk(self, buffer: bytes, *, final: bool) -> Walk:
        """Return a record for each digit."""
        int(buffer or b"0")
        return super().walk(buffer, final=final)


class CutTrips(Good):
    """A format that raises where it looks for a record start."""

    def cut(self, source: Any, offset: int, state: int) -> int:
        """Raise."""
        del source, state
        raise KeyError(offset)


class DecodesBadly(Good):
    """A format whose decoder raises at records."""

    def decoder(self) -> Any:
        """Return a decoder that fails."""
        made = super().decoder()
        return SimpleNamespace(schema=made.schema, decode=lambda chunk: made.decode(chunk).no_such_member)


a_function = Good.cut


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("LacksCut", {}, "lacks cut; derive it from records.BaseFormat and see docs/custom_formats.md"),
        ("LacksMost", {}, "lacks for_file, .*, cut, scan, explain, content, decoder; derive it from records.Base"),
        ("WalkIsData", {}, "has a member walk that is not a method"),
        ("WalkReturnsList", {}, r"walks an empty buffer to \[\] instead of a Walk without records"),
        ("WalkRaises", {}, r"raises IndexError \(index out of range\) when it walks an empty buffer"),
        ("StateIsText", {}, "has initial_state='start', which must be of type int"),
        ("a_function", {}, "is not a class"),
        ("Good", {"wide": 2}, r"does not take the options \{'wide': 2\} .*unexpected keyword argument 'wide'"),
        ("NoSuch", {}, "cannot be imported"),
    ],
)
def test_what_is_no_format_is_refused_by_the_plan(
    here: Pipe, monkeypatch: pytest.MonkeyPatch, name: str, options: dict[str, object], message: str
) -> None:
    """The plan says what is wrong with the class; nothing was listed or frozen."""
    monkeypatch.setitem(sys.modules, _HERE, sys.modules[__name__])
    here.put({"a": b"abc"})
    here.record_format = CustomFormat(path=f"{_HERE}:{name}", options=options)
    with pytest.raises(OptionsError, match=message):
        here.plan()
    assert not here.work.exists()
    here.record_format = CustomFormat(path=f"{_HERE}:Good", options={"width": 2}, encoding="binary")

    assert here.run().records == 3
    assert here.values() == [b"a", b"b", b"c"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import no_such_module", r"ModuleNotFoundError: No module named 'no_such_module'"),
        ("class Format(:", "SyntaxError: "),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("Other = 1", "AttributeError: .*'Format'"),
    ],
)
def test_a_module_that_cannot_be_imported_is_refused_by_the_plan(
    here: Pipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, message: str
) -> None:
    """Whatever its import raises, the error names the class, the reason and what to do."""
    (tmp_path / "broken_format.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "broken_format", raising=False)
    here.record_format = CustomFormat(path="broken_format:Format")
    with pytest.raises(OptionsError, match=rf"'broken_format:Format' cannot be imported \({message}.*py_files"):
        here.plan()

    assert not here.work.exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Stands", "format custom walks from byte 0 to records whose first and last end at 0 and 0 of 3 bytes"),
        ("Overshoots", "format custom walks from byte 0 to records whose first and last end at 9 and 9 of 3 bytes"),
        ("Trips", "format custom fails at byte 0 .ValueError: invalid literal for int"),
        ("CutTrips", "format custom fails at byte 2 .KeyError: 2"),
        ("DecodesBadly", "format custom fails at byte 0 .AttributeError: .*no_such_member"),
    ],
)
def test_a_class_that_fails_in_a_file_is_an_error_at_its_byte(
    here: Pipe, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    """It neither hangs nor asks for a retry, and names the file."""
    monkeypatch.setitem(sys.modules, _HERE, sys.modules[__name__])
    here.put({"a": b"1x3"})
    here.record_format, here.block_size = CustomFormat(path=f"{_HERE}:{name}"), 2 if name == "CutTrips" else 10
    here.fails(RecordError, rf"/a: {message}.*correct the( file, or the)? class of the format")
