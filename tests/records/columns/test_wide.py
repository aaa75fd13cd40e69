"""Many columns: a limit whose error names the offset, and a cost that is linear."""

from __future__ import annotations

import gzip
import io
import json
import time
from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import OptionsError, RecordError
from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.records import make_format
from airflow_provider_blockread.records.columns.schema import parse_schema, schema_text
from airflow_provider_blockread.records.csv.infer import infer_schema
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.io.streaming import StreamSource
from airflow_provider_blockread.records.json.decode import JsonDecoder
from airflow_provider_blockread.records.model import Decoded
from airflow_provider_blockread.records.reading import bind, read_records, scan_block
from airflow_provider_blockread.records.sampling import sample_file
from airflow_provider_blockread.records.walking import WalkLimits, join_chunks, walk_block
from airflow_provider_blockread.sinks.conform import conform, misnamed

MANY = 10_000
MILLION = 10**6
_SECONDS = 20  # on a loaded machine, for less than one second of work; quadratic code took minutes


def timed(work: Callable[[], object]) -> float:
    """Return the processor time of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start


def decode(data: bytes, option: Csv) -> list[Decoded]:
    """Return a file decoded."""
    source = ByteSource(io.BytesIO(data), name="wide.csv")
    fmt = bind(source, make_format(option))
    return [fmt.decoder().decode(chunk) for chunk in walk_block(source, fmt, source.data_offset, len(data))]


def row(columns: int, start: str = "c") -> bytes:
    """Return a line of csv."""
    return ",".join(f"{start}{number}" for number in range(columns)).encode() + b"\n"


@pytest.mark.parametrize("codec", [None, "gzip"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "cp1252"])
def test_a_header_of_too_many_columns_is_refused_by_its_place(encoding: str, codec: str | None) -> None:
    """The error names the file, the byte and the option, and is raised quickly."""
    text = b"# a comment\n" + row(MILLION)
    data = text.decode().encode(encoding)
    place = len("# a comment\n".encode(encoding))
    fmt = make_format(Csv(header=True, comment="#", encoding=encoding))

    def read() -> None:
        file = io.BytesIO(gzip.compress(data, 1) if codec else data)
        source = StreamSource(file, codec, name="wide.csv") if codec else ByteSource(file, name="wide.csv")
        with pytest.raises(
            RecordError, match=rf"wide.csv: the header at byte {place} has 1,000,000 columns.*max_columns=16384"
        ):
            bind(source, fmt)

    assert timed(read) < _SECONDS


@pytest.mark.parametrize(("columns", "most", "good"), [(100, 100, True), (101, 100, False), (20_000, 20_000, True)])
@pytest.mark.parametrize("header", [True, False])
def test_the_bound_is_the_policys(columns: int, most: int, good: bool, header: bool) -> None:  # noqa: FBT001
    """As many columns are accepted, in a header or in the first rows; more are refused."""
    option = Csv(header=header)
    source = ByteSource(io.BytesIO(b"\n" * header + row(columns)), name="wide.csv")
    source.max_columns = most

    def infer() -> str:
        return infer_schema(option, [sample_file(source, bind(source, make_format(option)), 2**20)])

    if good:
        assert len(parse_schema(infer())) == columns
    else:
        with pytest.raises(
            RecordError, match=r"wide.csv: the .* at byte \d has 101 columns, more than max_columns=100"
        ):
            infer()


@pytest.mark.slow
def test_a_wide_header_in_quotes_may_span_blocks() -> None:
    """In every block, the names and the records are those of the file."""
    names = [f"first\nof, {number}" for number in range(300)]
    data = ",".join(f'"{name}"' for name in names).encode() + b"\n" + 3 * row(300)
    fmt = make_format(Csv(header=True))
    for size in (7, 1000):
        records, state = [], fmt.initial_state
        for start in range(0, len(data), size):
            end = min(start + size, len(data))
            source = ByteSource(io.BytesIO(data))
            bound = bind(source, fmt)
            assert getattr(bound, "header", None) == tuple(names)
            records += read_records(io.BytesIO(data), start, end, fmt, entry_state=state)
            state = scan_block(io.BytesIO(data), start, end, fmt)(state)
        assert [text for _, text in records] == [row(300).strip()] * 3


def test_a_wide_row_behind_the_first_ones_is_bad_alone() -> None:
    """A million fields where the schema has two."""
    data = b"1,a\n" + row(MILLION) + b"2,b\n"
    found: list[Decoded] = []

    assert timed(lambda: found.extend(decode(data, Csv(schema="id long, text string")))) < _SECONDS
    assert [value for part in found for value in part.batch["id"].to_pylist()] == [1, 2]
    assert [bad.reason for part in found for bad in part.bad] == ["1000000 fields, expected 2"]


@pytest.mark.slow
def test_a_wide_file_is_inferred_and_read_in_seconds() -> None:
    """Ten thousand columns, one row of which is bad."""
    data = row(MANY) + b"".join(row(MANY, start=str(digit)) for digit in range(1, 5)) + b"1,2\n"
    option = Csv(header=True)
    source = ByteSource(io.BytesIO(data), name="wide.csv")

    def work() -> None:
        schema = infer_schema(option, [sample_file(source, bind(source, make_format(option)), 2**20)])
        assert parse_schema(schema) == pa.schema([(f"c{number}", pa.int64()) for number in range(MANY)])
        parts = decode(data, Csv(header=True, schema=schema))
        assert sum(part.batch.num_rows for part in parts) == 4
        assert sum(len(part.bad) for part in parts) == 1

    assert timed(work) < _SECONDS


def test_a_header_with_a_name_twice_is_refused_quickly() -> None:
    """Also where both are at its end."""
    data = row(MANY).strip() + b",last,last\n" + row(MANY + 2)

    def read() -> None:
        with pytest.raises(RecordError, match="has column 'last' twice"):
            decode(data, Csv(header=True, schema="id long"))

    assert timed(read) < _SECONDS


@pytest.mark.slow
def test_wide_json_is_read_in_seconds() -> None:
    """Objects of ten thousand fields, a bad one among them, and one with many more fields."""
    names = [f"c{number}" for number in range(MANY)]
    lines = [json.dumps(dict.fromkeys(names, 1)), json.dumps(dict.fromkeys(names, "x"))]
    lines += ['{"c0":2}', json.dumps({"c0": 3} | {f"x{number}": number for number in range(MILLION // 4)})]
    data = "\n".join(lines).encode()
    source = ByteSource(io.BytesIO(data))

    def work() -> None:
        fmt = make_format(Csv(quote=None, delimiter="\x01", schema="line string"))
        decoder = JsonDecoder(", ".join(f"{name} long" for name in names))
        (chunk,) = join_chunks(walk_block(source, fmt, 0, len(data)), len(data))
        decoded = decoder.decode(chunk)
        assert decoded.batch["c0"].to_pylist() == [1, 2, 3]
        assert [bad.index for bad in decoded.bad] == [1]

    assert timed(work) < _SECONDS


@pytest.mark.slow
def test_a_schema_of_very_many_columns_is_parsed_in_seconds() -> None:
    """A schema that is nested too deep is refused; messages stay short."""
    text = ", ".join(f"c{number} long" for number in range(MILLION // 4))

    assert timed(lambda: parse_schema(text)) < _SECONDS
    with pytest.raises(OptionsError, match="each only once") as error:
        parse_schema(f"{text}, c0 long")
    assert len(str(error.value)) < 500
    with pytest.raises(OptionsError, match="more than 100 levels"):
        parse_schema("x " + "array<" * 100_000 + "long" + ">" * 100_000)
    with pytest.raises(OptionsError, match="more than 100 levels"):
        parse_schema("x " + "struct<a: " * 100_000)
    deep = "x " + "array<" * 99 + "long" + ">" * 99
    assert schema_text(parse_schema(deep)) == deep


def test_batches_of_many_columns_are_compared_quickly() -> None:
    """Names are looked up, not searched for."""
    names = [f"c{number}" for number in range(MANY)]
    batch = pa.record_batch([pa.array([1])] * MANY, names=names)
    other = pa.schema([(name, pa.int64()) for name in reversed(names)])

    def work() -> None:
        assert misnamed(batch.schema) == ""
        with pytest.raises(Exception, match="columns come as"):
            conform(batch, other)

    assert timed(work) < _SECONDS


@given(
    lines=st.lists(st.binary(max_size=6).filter(lambda line: b"\n" not in line and b"\r" not in line), max_size=20),
    chunk=st.integers(1, 20),
    size=st.integers(0, 60),
)
def test_joined_chunks_have_the_same_records(lines: list[bytes], chunk: int, size: int) -> None:
    """At the same offsets of the file, with the same skipped ones."""
    data = b"\n".join(lines)
    source = ByteSource(io.BytesIO(data))
    fmt = bind(source, make_format(Csv(comment="#", encoding="binary")))

    def chunks() -> list[tuple[int, bytes]]:
        found = walk_block(source, fmt, 0, len(data), WalkLimits(chunk_bytes=chunk))
        parts = list(join_chunks(found, size)) if size else list(found)
        records = [(part.offset + int(at), part.record(i)) for part in parts for i, at in enumerate(part.starts)]
        totals = [sum(part.skipped_records for part in parts), sum(part.skipped_bytes for part in parts)]
        return [*records, *((total, b"skipped") for total in totals), (parts[-1].next_offset if parts else 0, b"")]

    gathered_ones, size = chunks(), 0
    assert gathered_ones == chunks()
