"""Records of compressed files: all of the block at 0, at decoded offsets, in every format."""

from __future__ import annotations

import gzip
import io

import pytest

from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.records import RecordFormat, read_records, record_format, scan_block
from tests.records.io.compressed import CODECS, DATA, each_codec
from tests.records.oracles import universal_lines

SUFFIXES = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst"}


class Named(io.BytesIO):
    """A file in memory that has a name."""

    def __init__(self, data: bytes, name: str) -> None:
        """Take the data."""
        super().__init__(data)
        self.name = name


@each_codec
@pytest.mark.parametrize("chunk_bytes", [1, 2, 7, 1000])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_records_of_a_compressed_file(codec: str, chunk_bytes: int, mark: bytes) -> None:
    """All records belong to the block at 0, at decoded offsets; other blocks hold none, and nothing is scanned."""
    data = mark + b"one\r\ntwo\r\rthree\n" + DATA
    fmt = record_format("lines")
    name = f"a.log{SUFFIXES[codec]}"
    file = Named(CODECS[codec](data), name)
    found = list(read_records(file, 0, 5, fmt, chunk_bytes=chunk_bytes))

    assert found == universal_lines(data, len(mark))
    assert list(read_records(file, 5, 10, fmt)) == []
    assert scan_block(file, 0, 5, fmt)(1) == 1


_ROWS = "id,näme\n1,'a\n b'\n2,c\n\n[1, {}]\nlast"
ENCODED = [
    pytest.param(record_format("delimited", delimiter=", "), _ROWS.encode(), id="delimited"),
    pytest.param(record_format("escaped", escape="a"), _ROWS.encode(), id="escaped"),
    pytest.param(record_format("csv", header=True, quote="'", schema="a long"), _ROWS.encode(), id="csv"),
    pytest.param(record_format("json_lines"), b'{}\n\n{"a": 1}\n[]', id="json_lines"),
    pytest.param(record_format("json_array"), b' [1, {"a": "]"},\n [[], 2], ""] \n', id="json_array"),
    pytest.param(record_format("fixed", length=4, short_last="keep"), _ROWS.encode(), id="fixed"),
    pytest.param(record_format("whole_file"), _ROWS.encode(), id="whole_file"),
    pytest.param(record_format("lines", encoding="utf-16"), _ROWS.encode("utf-16"), id="lines utf-16"),
    pytest.param(record_format("csv", header=True, schema="a long"), _ROWS.encode("utf-32"), id="csv utf-32"),
    pytest.param(record_format("lines", encoding="cp037"), _ROWS.encode("cp037"), id="lines cp037"),
]


@pytest.mark.parametrize(("fmt", "data"), ENCODED)
@pytest.mark.parametrize("chunk_bytes", [8, 1000])
def test_every_format_reads_a_stream_as_it_reads_a_file(fmt: RecordFormat, data: bytes, chunk_bytes: int) -> None:
    """Headers, byte order marks and encodings are found in the decoded data."""
    plain = list(read_records(io.BytesIO(data), 0, len(data), fmt))
    found = list(read_records(Named(gzip.compress(data), "a.gz"), 0, 1, fmt, chunk_bytes=chunk_bytes))

    assert found == plain != []


@each_codec
def test_an_option_names_the_codec(codec: str) -> None:
    """A codec that the option names needs no suffix, and `none` reads the compressed bytes themselves."""
    file = io.BytesIO(CODECS[codec](b"a\nb"))

    assert [r for _, r in read_records(file, 0, 1, record_format("lines", compression=codec))] == [b"a", b"b"]
    raw = record_format("whole_file", compression="none", encoding="binary")
    assert [r for _, r in read_records(Named(file.getvalue(), "x.gz"), 0, 99, raw)] == [file.getvalue()]


@each_codec
def test_compressed_data_without_a_suffix_are_no_text(codec: str) -> None:
    """Text that starts with a codec's data is refused with the option that reads it; `binary` is read unchanged."""
    file = Named(CODECS[codec](DATA), "a.log")
    with pytest.raises(
        SourceError, match=rf"a\.log starts with {codec} data.*set compression='{codec}', or compression='none'"
    ):
        list(read_records(file, 0, 9, record_format("lines")))

    for fmt in (record_format("lines", compression="none"), record_format("lines", encoding="binary")):
        assert list(read_records(file, 0, 99, fmt))
