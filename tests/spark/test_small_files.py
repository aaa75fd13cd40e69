"""Small files read together give exactly what each of them gives alone."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.blocks import Block, FileVersion
from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.exchange.model import ReadSpec, Target
from airflow_provider_blockread.exchange.receipts import SCHEMA
from airflow_provider_blockread.options import (
    AsRead,
    Bounds,
    Csv,
    FileSource,
    Fixed,
    FormatOption,
    GenerationOptions,
    JsonLines,
    Lines,
    ParquetSink,
    Policies,
    WholeFile,
)
from airflow_provider_blockread.options.functions import PLACE_COLUMNS
from airflow_provider_blockread.records import make_format
from airflow_provider_blockread.spark.tasks.joined_read import Together
from airflow_provider_blockread.spark.tasks.partition import TaskReport, read_blocks
from airflow_provider_blockread.spark.tasks.small_files import SmallFiles
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.stores import Stores
from tests.examples import examples
from tests.servers.all import moto

_COMMON = ("a", "1", " ", "\n", "\r", "\r\n", '"', "é", "\x00", b"\xef", b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b\x08")
_CSV = (",", ",", "\n", '"', '""', "1,a\n", "2,b\n", "#", "\\")
_OBJECTS = (
    b'{"a": 1}\n',
    b'{"a": 2, "b": "x"}\n',
    b'{"a": "x"}\n',
    b"{}\n",
    b"[]\n",
    b"  \n",
    b'{"b": "\xff"}\n',
    b'{"a": 3}',
)
_SCHEMA = "a long, b string"


@dataclass(frozen=True)
class Case:
    """A format, and what its files are made of."""

    option: FormatOption
    pieces: Sequence[str | bytes]
    head: str = ""

    def files(self) -> st.SearchStrategy[bytes]:
        """Return contents of files: pieces of the format and some of others, mostly after the head."""
        pieces = [p if isinstance(p, bytes) else p.encode() for p in (*self.pieces * 4, *_COMMON)]
        body = st.lists(st.sampled_from(pieces), max_size=8).map(b"".join)
        return st.tuples(st.sampled_from([self.head.encode()] * 5 + [b""]), body).map(b"".join)


CASES = {
    "lines": Case(Lines(), ("a", "\n", "\r", "\r\n")),
    "lines marked": Case(Lines(), ("a", "\n", "\r"), "\ufeff"),
    "lines lf": Case(Lines(newline="lf"), ("a", "\n", "\r")),
    "lines skipped": Case(Lines(skip_lines=1), ("a", "\n", "\r"), "x\n"),
    "lines binary": Case(Lines(encoding="binary"), ("a", "\n", b"\xff")),
    "lines utf-16": Case(Lines(encoding="utf-16-le"), (b"a\x00", b"\n\x00")),
    "whole_file": Case(WholeFile(), ("a", "\n", b"\xff")),
    "whole_file binary": Case(WholeFile(encoding="binary"), ("a", b"\xff")),
    "fixed": Case(Fixed(length=2, encoding="binary"), ("ab",)),
    "fixed short": Case(Fixed(length=3, short_last="keep"), ("abc", "b")),
    "json_lines": Case(JsonLines(), _OBJECTS),
    "json_lines typed": Case(JsonLines(schema=_SCHEMA), _OBJECTS),
    "csv": Case(Csv(schema=_SCHEMA), _CSV),
    "csv text": Case(Csv(schema="a string, b string"), _CSV),
    "csv one column": Case(Csv(schema="a string", quote=None), _CSV),
    "csv header": Case(Csv(schema=_SCHEMA, header=True), _CSV, "a,b\n"),
    "csv quoted header": Case(Csv(schema=_SCHEMA, header=True, columns="by_name"), _CSV, '\n"b","a"\n'),
    "csv marked header": Case(Csv(schema=_SCHEMA, header=True), _CSV, "\ufeffa,b\n"),
    "csv skipped": Case(Csv(schema=_SCHEMA, header=True, skip_lines=1), _CSV, 'a "x\na,b\n'),
    "csv header, CR": Case(Csv(schema=_SCHEMA, header=True), _CSV, "a,b\r"),
    "csv comment": Case(Csv(schema=_SCHEMA, comment="#"), (*_CSV, "#x\n")),
    "csv escape": Case(Csv(schema=_SCHEMA, escape="\\", comment="#"), (*_CSV, "\\\n")),
}
every_case = pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in CASES.items()])

#: What happens to a file after it was planned.
_FATES = ["kept"] * 12 + ["gone", "touched", "longer", "shorter", "replaced", "folder", "link", "out"]


@dataclass(frozen=True)
class Read:
    """What a task leaves, or the error that it ends with."""

    receipts: list[tuple[Any, ...]]
    rows: list[Any]
    quarantined: list[Any]
    error: str = ""


def planned(folder: Path, contents: Sequence[bytes]) -> list[Block]:
    """Write files and return a block for each."""
    blocks = []
    for number, content in enumerate(contents):
        path = folder / f"{number % 3}" / f"{number:03}.x"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        version = FileVersion(f"file://{path}", len(content), path.stat().st_mtime_ns)
        blocks.append(Block(number + 7, 0, number + 100, version, 0, version.size, 0, version.size))
    return blocks


def meet(fate: str, path: Path, outside: Path) -> None:
    """Do to a file what its fate is; times stay but where they are its fate."""
    content, modified = path.read_bytes(), path.stat().st_mtime_ns
    if fate == "touched":
        os.utime(path, ns=(1, 1))
    elif fate in {"longer", "shorter", "replaced"}:
        other = path.with_name("other")
        other.write_bytes(content + b"1" if fate == "longer" else content[:-1] if fate == "shorter" else content)
        os.utime(other, ns=(1, modified))
        other.replace(path)
    elif fate == "folder":
        path.unlink()
        path.mkdir()
    elif fate in {"link", "out"}:
        target = (outside if fate == "out" else path.parent) / f"{path.name}.elsewhere"
        path.rename(target)
        path.symlink_to(target)
    elif fate == "gone":
        path.unlink()


def outcome(spec: ReadSpec, parts: Sequence[Sequence[Block]]) -> Read:
    """Return what reading these parts leaves, each of them by a task of its own."""
    reports: list[TaskReport] = []
    error = ""
    try:
        for number, part in enumerate(parts):
            reports.append(read_blocks(spec, Stores(), part, attempt=number, states={}))
    except BlockReadError as raised:
        error = f"{type(raised).__name__}: {raised}"
    batches = [batch for report in reports for batch in pa.ipc.open_stream(report.receipts)]
    receipts = pa.Table.from_batches(batches, SCHEMA).to_pylist()
    return Read(
        receipts=[tuple(row.values()) for row in receipts] if not error else [],
        rows=_rows([file.uri for report in reports for file in report.outputs]) if not error else [],
        quarantined=_rows([file.uri for report in reports for file in report.quarantined]) if not error else [],
        error=error,
    )


def _rows(uris: Sequence[str]) -> list[Any]:
    return [row for uri in uris for row in pq.read_table(uri.removeprefix("file://")).to_pylist()]


def spec_of(case: Case, folder: Path, policies: Policies, *, inside: bool) -> ReadSpec:
    """Return the specification of a task that writes below a folder."""
    options = GenerationOptions(
        record_format=case.option,
        sink=ParquetSink(f"{folder}/out"),
        policies=policies,
        function=AsRead(columns=PLACE_COLUMNS),
        bounds=Bounds(link_roots=[f"file://{folder}/in"] if inside else None),
    )
    target = Target(folder=f"file://{folder}/staged")
    job = {"manifest_uri": "", "manifest_hash": "", "folder": f"file://{folder}/job"}
    return ReadSpec(
        window="w", feed="f", generation=1, options=options, group=0, epoch=1, mode="write", target=target, **job
    )


@every_case
@examples(30)
@given(
    draw=st.data(),
    on_bad_record=st.sampled_from(["fail", "quarantine", "drop"]),
    proof=st.sampled_from(["sums", "digest"]),
    inside=st.booleans(),
)
def test_files_read_together_are_as_if_each_was_read_alone(
    case: Case, draw: st.DataObject, on_bad_record: str, proof: str, *, inside: bool
) -> None:
    """Receipts, rows, places, quarantine and errors are the same, whatever the files hold and become."""
    contents = draw.draw(st.lists(case.files(), min_size=1, max_size=9))
    fates = [draw.draw(st.sampled_from(_FATES)) for _ in contents]
    policies = Policies(on_bad_record=on_bad_record, proof=proof)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        (folder / "in").mkdir()
        blocks = planned(folder / "in", contents)
        for block, fate in zip(blocks, fates, strict=True):
            meet(fate, Path(block.version.path.removeprefix("file://")), folder)
        spec = spec_of(case, folder, policies, inside=inside)
        alone = outcome(spec, [[block] for block in blocks])

        assert outcome(spec, [blocks]) == alone


_PLAIN = {
    "lines": b"a\nb",
    "lines marked": b"\xef\xbb\xbfa\n",
    "lines lf": b"a\nb",
    "lines skipped": b"x\na\nb",
    "lines binary": b"a\n\xff\n",
    "whole_file": b"a\nb",
    "whole_file binary": b"\xff",
    "fixed": b"abab",
    "json_lines": b'{"a": 1}\n\n',
    "json_lines typed": b'{"a": 1}',
    "csv": b'1,"a"\n',
    "csv header": b"a,b\n1,a",
    "csv skipped": b'a "x\na,b\n1,a',
    "csv quoted header": b'\n"b","a"\na,1\n',
    "csv escape": b"1,a\\\nb\n",
}


@pytest.mark.parametrize("name", _PLAIN)
def test_plain_files_are_read_together(name: str, tmp_path: Path) -> None:
    """A run of files of each of these formats is one chunk, with one batch and one set of receipts."""
    (tmp_path / "in").mkdir()
    blocks = planned(tmp_path / "in", [_PLAIN[name]] * 50)
    spec = spec_of(CASES[name], tmp_path, Policies(), inside=True)
    reader = SmallFiles(Stores(), spec.options, make_format(CASES[name].option))
    (read,) = reader.read(blocks, {})

    assert isinstance(read, Together)
    assert (read.receipts.num_rows, len(read.bad), list(read.rows.blocks)) == (50, 0, blocks)


def test_files_share_a_run_up_to_its_size_and_between_large_ones(tmp_path: Path) -> None:
    """A file that is large, split or compressed has a run of its own, and a run has at most a MiB."""
    blocks = planned(tmp_path, [b"a\n" * 75_000] * 8 + [b"a\n" * 150_000, b"a\n"])
    split = [blocks[-1]._replace(number=99, end=1), blocks[-1]._replace(number=100, start=1)]
    packed = blocks[-1]._replace(file=99, version=blocks[-1].version._replace(path=f"file://{tmp_path}/a.gz"))
    options = spec_of(CASES["lines"], tmp_path, Policies(), inside=True).options
    reader = SmallFiles(Stores(), options, make_format(Lines()))

    assert [len(run) for run in reader.runs([*blocks, packed, *split, *blocks[:2]], {})] == [6, 2, 1, 1, 1, 2, 2]


@pytest.mark.slow
def test_objects_of_one_task_are_read_together_or_each_by_itself() -> None:
    """Small ones share a chunk, larger ones have one each; one that was overwritten is left to be read alone."""
    sizes = [3, 0, 2 * 2**20, 5, 5 * 2**20, 7, 900_000, 9]
    with moto() as store:
        root = store.new_root()
        stores = store.stores(root)
        for number, size in enumerate(sizes):
            stores.write_bytes_atomic(f"{root}/{number}", str(number).encode() * size)
        versions = list(list_files(stores, FileSource(root), now_s=4e9))
        blocks = [Block(n, 0, n, v, 0, v.size, 0, v.size) for n, v in enumerate(versions) if v.size]
        options = GenerationOptions(record_format=Lines(encoding="binary"), sink=ParquetSink("/nowhere"))
        reader = SmallFiles(stores, options, make_format(options.record_format))

        read = list(reader.read(blocks, {}))
        stores.write_bytes_atomic(f"{root}/3", b"other")
        after = list(reader.read(blocks, {}))

    together = [found for found in read if isinstance(found, Together)]
    values = [value for found in together for value in found.rows.batch["value"].to_pylist()]
    assert [len(f.rows.blocks) if isinstance(f, Together) else f for f in read] == [1, 1, 1, [blocks[3]], 3]
    assert values == [str(n).encode() * size for n, size in enumerate(sizes) if 0 < size < 4 * 2**20]
    assert [found for found in after if isinstance(found, list)] == [[blocks[2]], [blocks[3]]]
