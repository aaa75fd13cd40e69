"""The proof over files of every kind of format: the truth is accepted, and every mutation of it refused."""

from __future__ import annotations

import dataclasses
import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.options import Csv, Escaped, FormatOption, JsonArray, Lines, Policies, Sql
from airflow_provider_blockread.proof import prove
from tests.examples import examples
from tests.pipeline.evidence import Reading

_ROWS = 'name,text\n"a","x\n""y"""\r\nb,"z\n\n"\nc,\n'
_CHANGES: dict[str, Callable[[bytes], bytes]] = {"plain": lambda data: data, "gzip": gzip.compress}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sample:
    """Files of a format, how many records they hold, and what other files of it are made of."""

    option: FormatOption
    files: tuple[bytes, ...]
    records: int
    pieces: tuple[bytes, ...]
    block_size: int = 7
    around: tuple[bytes, bytes] = (b"", b"")
    change: str = "plain"

    def read(self, folder: Path, files: list[bytes], block_size: int) -> Reading:
        """Read files here and now."""
        files = [_CHANGES[self.change](data) for data in files]
        return Reading(folder, files, block_size, self.option, Policies(on_bad_record="quarantine"))


_SAMPLES = {
    "csv": Sample(
        option=Csv(header=True, schema="name string, text string"),
        files=(_ROWS.encode(), b"name,text\nd,e"),
        records=4,
        pieces=(b"a,b\n", b'"', b"\n", b'a,"b\nc"\r\n', b"\xff", b","),
        around=(b"name,text\n", b""),
    ),
    "csv with comments": Sample(
        option=Csv(comment="#", escape="\\", schema="name string, text string"),
        files=(b'#a "quote\na,b\\\nc\n# and\n"d","#\n"\n', b"a,b\n"),
        records=3,
        pieces=(b"a,b\n", b'"', b"#", b"\n#", b"\\", b"\n"),
    ),
    "escaped": Sample(
        option=Escaped(unescape=True),
        files=(b"one\\\ntwo\\\\\nthree\\\r\nfour\n", b"\\\n\\", b"five\r\n\r\n"),
        records=5,
        pieces=(b"a", b"\\", b"\n", b"\r\n", b"\\\\\n"),
    ),
    "json_array": Sample(
        option=JsonArray(schema="a long, b string"),
        files=(b' [ {"a": 1, "b": "],["},\n {"b": "\\""} , {"a": "x"}]\n', b"[]", b'{"a": 2}\n{"a": 3}'),
        records=5,
        pieces=(b'{"a": 1}, ', b'{"b": "],"},', b'{"a": "x"} ,', b'\n{"a":\n 2}\n,', b"[1], "),
        around=(b"[", b"{}]"),
    ),
    "utf-16": Sample(
        option=Lines(encoding="utf-16-le"),
        files=("é\n\u0a0a\r\nb".encode("utf-16-le"), b"\xff\xfe" + "\U0001f600\n\n".encode("utf-16-le")),
        records=5,
        pieces=(*(text.encode("utf-16-le") for text in ("a", "\n", "\r\n", "\u0a0d", "\U0001f600")), b"\x00"),
    ),
    "gzip": Sample(
        option=Lines(compression="gzip"),
        files=(b"one\ntwo\r\nthree\n\nfive\n", b"\xef\xbb\xbflast"),
        records=6,
        pieces=(b"a", b"\n", b"\r\n", b"\xff"),
        block_size=1000,
        change="gzip",
    ),
    "csv in gzip": Sample(
        option=Csv(compression="gzip", header=True, schema="name string, text string"),
        files=(_ROWS.encode(),),
        records=3,
        pieces=(b"a,b\n", b'"', b"\n", b'a,"b\nc"\r\n'),
        block_size=1000,
        around=(b"name,text\n", b""),
        change="gzip",
    ),
}


@pytest.mark.parametrize("kind", _SAMPLES)
@given(data=st.data())
@examples(15)
def test_truth_is_accepted(kind: str, data: st.DataObject) -> None:
    """What was really read is accepted, whatever the files and the block size; bad records are in the quarantine."""
    sample = _SAMPLES[kind]
    before, behind = sample.around
    bodies = st.lists(st.sampled_from(sample.pieces), max_size=12).map(b"".join)
    files = data.draw(st.lists(bodies.map(lambda body: before + body + behind), max_size=3))
    with tempfile.TemporaryDirectory() as folder:
        reading = sample.read(Path(folder), files, data.draw(st.integers(1, 30)))
        sums = prove(reading.evidence())

    assert sums.bytes == sum(block.end - block.start for block in reading.blocks)
    assert sums.records == sum(receipt.records for receipt in reading.receipts)
    assert sums.rows + sums.bad_records == sums.records


@pytest.fixture(scope="module", params=_SAMPLES)
def truth(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Sample, Reading]:
    """A reading of each format, only looked at."""
    sample = _SAMPLES[request.param]
    return sample, sample.read(tmp_path_factory.mktemp("files"), list(sample.files), sample.block_size)


def test_records_are_counted(truth: tuple[Sample, Reading]) -> None:
    """The proof's sum is the number of records that the files hold."""
    sample, reading = truth

    assert prove(reading.evidence()).records == sample.records


@given(data=st.data())
@examples(60)
def test_every_changed_number_is_refused(truth: tuple[Sample, Reading], data: st.DataObject) -> None:
    """A receipt in which any single number that matters has changed, by however much, is refused."""
    _, reading = truth
    message = reading.refused(data.draw(reading.with_a_changed_number()))

    assert message.startswith("feed f window w generation 1 fails its proof: ")


@given(data=st.data())
@examples(30)
def test_every_missing_or_doubled_receipt_is_refused(truth: tuple[Sample, Reading], data: st.DataObject) -> None:
    """Receipts of which one is dropped or stands twice are refused, with the block named."""
    _, reading = truth
    receipts = list(reading.receipts)
    index = data.draw(st.integers(0, len(receipts) - 1))
    if data.draw(st.booleans()):
        receipts.insert(index, receipts[index])
    else:
        del receipts[index]

    assert "block" in reading.refused(receipts)


def test_rows_of_a_dataframe(tmp_path: Path) -> None:
    """Any number of rows may come out of a query; still its files hold what was written, and its records are all."""
    reading = Reading(tmp_path, [b"1\n2\n4\n", b"8\n"], 100)
    reading.function = Sql("SELECT value FROM records")
    first, second = reading.result.outputs

    assert prove(reading.evidence()).rows == 4
    assert prove(reading.evidence(result=dataclasses.replace(reading.result, outputs=(second,)))).rows == 1
    wrong = dataclasses.replace(reading.result, outputs=(dataclasses.replace(first, rows=2), second))
    assert "holds 3 rows" in reading.refused(result=wrong)
    assert "3 rows were read but 2 handed to the writer" in reading.refused(reading.changed(0, rows_out=2))
