"""The proof: the truth is accepted at every block size, and every mutation of it refused."""

from __future__ import annotations

import dataclasses
import gzip
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.exchange.model import OutputFile, Receipt
from airflow_provider_blockread.options import (
    ArrowFunction,
    FormatOption,
    Lines,
    Policies,
)
from airflow_provider_blockread.proof import prove
from airflow_provider_blockread.proof.model import Sums
from airflow_provider_blockread.records.model import Chunk, Decoder
from airflow_provider_blockread.records.walking import WalkLimits
from airflow_provider_blockread.spark.tasks import block_reader
from airflow_provider_blockread.spark.tasks.block_reader import BlockReader, OpenFile, Rows
from airflow_provider_blockread.spark.tasks.opening import open_version
from tests.examples import examples
from tests.pipeline.evidence import QUOTED, STORES, Reading

_LINES = [b"one\ntwo\r\nthree\n\nfive\n", b"\xef\xbb\xbfmarked\nsecond line\nlast"]


@pytest.fixture
def reading(tmp_path: Path) -> Reading:
    """Two small files of lines, in blocks of 8 bytes."""
    return Reading(tmp_path, _LINES, 8)


@given(
    files=st.lists(
        st.lists(st.sampled_from([b"a", b"bb", b"\n", b"\r\n", b"\r", b'"']), max_size=15).map(b"".join), max_size=3
    ),
    block_size=st.integers(1, 20),
    record_format=st.sampled_from([Lines(), Lines(newline="lf"), QUOTED]),
)
@examples(60)
def test_truth_is_accepted(files: list[bytes], block_size: int, record_format: FormatOption) -> None:
    """What was really read is accepted, whatever the files, the block size and the format."""
    with tempfile.TemporaryDirectory() as folder:
        reading = Reading(Path(folder), files, block_size, record_format)
        sums = prove(reading.evidence())

    assert sums.bytes == sum(map(len, files))
    assert sums.records == sums.rows == sum(receipt.records for receipt in reading.receipts)


@pytest.fixture(scope="module", params=["lines", "quoted", "gzip", "gzip in blocks"])
def truth(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Reading:
    """A reading that is only looked at."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "lines":
        return Reading(folder, _LINES, 8)
    if request.param.startswith("gzip"):
        files = [gzip.compress(data) for data in _LINES]
        return Reading(folder, files, 20 if "blocks" in request.param else 1000, Lines(compression="gzip"))
    return Reading(folder, [b'a\n"b\nb"\n"c\n\n\nc" "d\n"\ne\n', b"plain\nlines\n"], 5, QUOTED)


@given(data=st.data())
@examples(400)
def test_every_changed_number_is_refused(truth: Reading, data: st.DataObject) -> None:
    """A receipt in which any single number that matters has changed, by however much, is refused."""
    message = truth.refused(data.draw(truth.with_a_changed_number()))

    assert message.startswith("feed f window w generation 1 fails its proof: ")
    assert "clear the group's task" in message


@given(data=st.data())
def test_every_missing_doubled_or_swapped_receipt_is_refused(truth: Reading, data: st.DataObject) -> None:
    """Receipts of which one is dropped, stands twice, or has changed places are refused, with the block named."""
    receipts = list(truth.receipts)
    index = data.draw(st.integers(0, len(receipts) - 1))
    what = data.draw(st.sampled_from(["dropped", "doubled", "swapped"]))
    if what == "dropped":
        del receipts[index]
    elif what == "doubled":
        receipts.insert(data.draw(st.integers(index, len(receipts))), receipts[index])
    else:
        other = data.draw(st.integers(0, len(receipts) - 1).filter(lambda i: i != index))
        receipts[index], receipts[other] = receipts[other], receipts[index]

    assert "block" in truth.refused(receipts)


def test_dropped_receipt_names_the_block(reading: Reading) -> None:
    """The message names file, block and range of what was not read."""
    message = reading.refused(reading.receipts[:1] + reading.receipts[2:])

    assert f"{reading.blocks[1]}: no receipt: the block was not read" in message
    assert f"file://{reading.paths[0]} block 1 bytes [8, 16)" in message


def test_shifted_border_names_the_bytes(reading: Reading) -> None:
    """A record start that moved is reported as bytes that were lost or read twice."""
    receipt = reading.receipts[1]
    for shift, what in ((2, "lost"), (-2, "read twice")):
        start = receipt.first_start + shift
        fields = {"first_start": start, "record_bytes": receipt.record_bytes - shift}
        low, high = sorted((start, receipt.first_start))

        assert f"bytes [{low}, {high}) are {what}" in reading.refused(reading.changed(1, **fields))


class _Forgetful(BlockReader):
    """A reader that loses one chunk."""

    chunks = 0

    def _decode(self, decoder: Decoder, chunk: Chunk, block: Block, tally: object) -> Rows:
        self.chunks += 1
        if self.chunks != 2:
            return super()._decode(decoder, chunk, block, tally)  # type: ignore[arg-type]
        nothing = chunk.starts[:0]
        batch = pa.RecordBatch.from_pylist([], schema=decoder.schema)
        return Rows(batch=batch, offsets=nothing, blocks=(), counts=nothing)


def _read_with(reading: Reading, cls: type[BlockReader], emit: Callable[[Rows], int]) -> list[Receipt]:
    reader = cls(policies=reading.policies, handle_bad=lambda *_: None)
    receipts = []
    for block in reading.blocks:
        with open_version(STORES, block.version, reading.fmt, reading.spec.options) as (source, fmt):
            file = OpenFile(source=source, fmt=fmt, decoder=fmt.decoder())
            receipts.append(reader.read(file, block, fmt.initial_state, emit))
    return receipts


def test_chunk_left_out_inside_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that loses a chunk in the middle of a block does not account for its bytes."""
    reading = Reading(tmp_path, [b"one\ntwo\nthree\nfour\nfive\n"], 100)
    monkeypatch.setattr(block_reader, "WalkLimits", partial(WalkLimits, chunk_bytes=6))
    monkeypatch.setattr(block_reader, "join_chunks", lambda chunks, _: chunks)  # else this little is one chunk
    message = reading.refused(_read_with(reading, _Forgetful, lambda rows: int(rows.batch.num_rows)))

    assert "24 bytes from byte 0 on, but 20 were read" in message


def test_a_stream_that_was_not_taken_whole(tmp_path: Path) -> None:
    """Compressed bytes left undecoded, decoded ones left unread, and reads by later blocks are refused."""
    data = gzip.compress(b"one\ntwo\n")
    reading = Reading(tmp_path, [data], len(data) - 1, Lines(compression="gzip"))
    assert prove(reading.evidence()).records == 2
    assert [receipt.records for receipt in reading.receipts] == [2, 0]

    assert f"27 of its {len(data)} compressed bytes were decoded" in reading.refused(reading.changed(0, consumed=27))
    assert "its 9 decoded bytes were read up to byte 8" in reading.refused(reading.changed(0, stream_size=9))
    assert "but this one read too" in reading.refused(reading.changed(1, stream_size=8))
    plain = Reading(tmp_path, [b"one\n"], 100)
    assert "it was decoded, but the file is not compressed" in plain.refused(plain.changed(0, consumed=4))


def test_rows_lost_on_the_way_to_the_writer(tmp_path: Path) -> None:
    """Rows that were read but not handed to the writer are missed, unless a function may filter."""
    reading = Reading(tmp_path, [b"one\ntwo\n"], 100)
    message = reading.refused(_read_with(reading, BlockReader, lambda rows: int(rows.batch.num_rows) - 1))

    assert "2 rows were read but 0 handed to the writer" in message or "but 1 handed to the writer" in message


def test_rows_lost_behind_a_function(tmp_path: Path) -> None:
    """Rows that a function returned but no file holds are missed."""
    reading = Reading(tmp_path, [b"1\n2\n4\n"], 100, function=ArrowFunction("user_functions:keep_even"))

    assert prove(reading.evidence()).rows == 2
    assert "3 rows were handed to the writers, but the output files hold 2" in reading.refused(
        reading.changed(0, rows_out=3)
    )


def test_flipped_state(tmp_path: Path) -> None:
    """A block entered in another state than the one before it was left in is refused."""
    reading = Reading(tmp_path, [b'a\n"b\nb"\nc\n'], 4, QUOTED)
    entered = [receipt.entry_state for receipt in reading.receipts]
    assert entered == [0, 1, 0]

    assert "entered in state 0, left in 1" in reading.refused(reading.changed(1, entry_state=0))
    assert "entered in state 1, left in 0" in reading.refused(reading.changed(0, exit_state=0))
    assert "the file was entered in state 1" in reading.refused(reading.changed(0, entry_state=1))


def test_wrong_data_offset(reading: Reading) -> None:
    """Receipts of a file that disagree on where its data begin are refused."""
    first = next(i for i, receipt in enumerate(reading.receipts) if receipt.file == 11)

    assert reading.receipts[first].data_offset == 3
    assert "data begin at byte 0" in reading.refused(reading.changed(first, data_offset=0))
    assert "but the previous block says otherwise" in reading.refused(reading.changed(first + 1, data_offset=0))


def test_bad_records_under_fail(reading: Reading) -> None:
    """A bad record that was counted although the policy is to fail is refused."""
    receipt = reading.receipts[0]
    fields = {"bad_records": 1, "rows": receipt.rows - 1, "rows_out": receipt.rows - 1}

    assert "on_bad_record is 'fail'" in reading.refused(reading.changed(0, **fields))


def test_quarantine_is_counted(tmp_path: Path) -> None:
    """A quarantine that holds fewer records than are bad is refused."""
    reading = Reading(tmp_path, [b"ok\n\xff\n"], 100, policies=Policies(on_bad_record="quarantine"))
    assert prove(reading.evidence()).bad_records == 1
    result = dataclasses.replace(reading.result, quarantined=())

    assert "1 record is bad, but the quarantine holds 0" in reading.refused(result=result)


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def _write_fewer_rows(path: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(table.slice(1), path)


@pytest.mark.parametrize(
    "harm", [Path.unlink, _truncate, _write_fewer_rows], ids=["missing", "truncated", "fewer rows"]
)
def test_harmed_output_file(reading: Reading, harm: Callable[[Path], None]) -> None:
    """An output file that is missing, truncated or holds another number of rows is refused by name."""
    path = Path(reading.result.outputs[1].uri.removeprefix("file://"))
    harm(path)

    assert f"output file {reading.result.outputs[1].uri}" in reading.refused()


def _other_count(outputs: tuple[OutputFile, ...]) -> tuple[OutputFile, ...]:
    return (dataclasses.replace(outputs[0], rows=outputs[0].rows + 1), *outputs[1:])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_other_count, r"rows in \d+ bytes"),
        (lambda outputs: outputs[1:], "rows were handed to the writers, but the output files hold"),
        (lambda outputs: (outputs[0], outputs[0]), "an output file is named twice"),
    ],
    ids=["count", "left out", "doubled"],
)
def test_changed_list_of_outputs(
    reading: Reading, change: Callable[[tuple[OutputFile, ...]], tuple[OutputFile, ...]], message: str
) -> None:
    """A result that names other files or counts than were written is refused."""
    result = dataclasses.replace(reading.result, outputs=change(reading.result.outputs))

    with pytest.raises(ProofError, match=message):
        prove(reading.evidence(result=result))


def test_file_changed_after_its_read(reading: Reading) -> None:
    """A file that is another version, or gone, when the proof looks is refused by name."""
    reading.paths[0].write_bytes(b"something else")
    assert f"file://{reading.paths[0]}" in (message := reading.refused())
    assert "was changed after its read" in message
    reading.paths[0].unlink()

    assert "does not exist" in reading.refused()


def test_proof_streams(reading: Reading) -> None:
    """The proof takes blocks and receipts one by one and returns sums."""
    evidence = reading.evidence()

    assert isinstance(evidence.blocks, Iterator)
    assert isinstance(prove(evidence), Sums)
