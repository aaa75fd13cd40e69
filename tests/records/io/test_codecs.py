"""Compressed files: decoded exactly in forward reads, and refused where a byte is missing, corrupt or extra."""

from __future__ import annotations

import gzip
import io
import lzma
import random
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import FileChangedError, SourceError
from airflow_provider_blockread.options import Policies
from airflow_provider_blockread.records.io.codecs import codec_of_head
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.io.streaming import StreamSource
from airflow_provider_blockread.records.io.zstd_frames import MAGIC as ZSTD_MAGIC
from airflow_provider_blockread.records.io.zstd_frames import SKIPPABLE, end_of_frames
from tests.records.io.compressed import CODECS, DATA, ZSTD, _zstd, each_codec
from tests.records.oracles import ShortReads

codecs = st.sampled_from(sorted(CODECS))


def stream(data: bytes, codec: str, *, most: int = 2**20) -> StreamSource:
    """Return the source of a file whose reads return at most `most` bytes."""
    return StreamSource(ShortReads(data, most), codec, name="s3://bucket/a.log")


def decode(source: StreamSource, step: int = 7) -> bytes:
    """Read forward, as a walk does, until the size is known."""
    parts, position = [], 0
    source.data_offset = 0
    while position < source.size:
        parts.append(source.read(position, position + step))
        position += len(parts[-1])
    return b"".join(parts)


def refused(data: bytes, codec: str, *, most: int = 2**20) -> str:
    """Return the message with which a file is refused."""
    with pytest.raises(SourceError) as caught:
        decode(stream(data, codec, most=most))
    assert str(caught.value).startswith("s3://bucket/a.log ")
    assert caught.value.path == "s3://bucket/a.log"
    assert "exclude" in str(caught.value) or "rename" in str(caught.value)
    return str(caught.value)


@given(
    codec=codecs, members=st.lists(st.binary(max_size=40), min_size=1), most=st.integers(1, 9), step=st.integers(1, 50)
)
def test_members_are_joined(codec: str, members: list[bytes], most: int, step: int) -> None:
    """However many members a file has, also empty ones, and however short the reads are, all of it is decoded."""
    file = b"".join(map(CODECS[codec], members))
    source = stream(file, codec, most=most)

    assert decode(source, step) == b"".join(members)
    assert (source.size, source.consumed) == (sum(map(len, members)), len(file))


@given(codec=codecs, data=st.binary(max_size=60), steps=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20))))
def test_every_forward_read_returns_exactly_its_range(codec: str, data: bytes, steps: list[tuple[int, int]]) -> None:
    """A read whose start is not before that of the last one is the slice of the decoded file."""
    source, start = stream(CODECS[codec](data), codec), 0
    source.data_offset = 0
    for skip, length in steps:
        start += skip

        assert source.read(start, start + length) == data[start : start + length]


@each_codec
@pytest.mark.parametrize("size", [0, 1, 5])
def test_the_end_is_known_with_the_last_byte(codec: str, size: int) -> None:
    """The size is known as soon as the last byte is returned, and not before."""
    source = stream(CODECS[codec](b"x" * size), codec)
    for end in range(size):
        assert source.read(0, end) == b"x" * end
        assert source.size > 2**60
    source.read(0, size)

    assert source.size == size


@each_codec
def test_the_head_is_kept_until_the_data_begin(codec: str) -> None:
    """The head can be read repeatedly; after it, reads go forward only, and the error says so."""
    source = stream(CODECS[codec](DATA), codec)
    assert source.read(30, 40) == DATA[30:40]
    assert source.read(0, 3) == DATA[:3]
    source.data_offset = 9
    source.read(9, 20)
    with pytest.raises(SourceError, match=r"a\.log: byte 8 was requested after byte 9.* forward only; decompress it"):
        source.read(8, 12)


@each_codec
def test_a_file_cut_short_is_refused_wherever_it_is_cut(codec: str) -> None:
    """Every proper prefix of a file is detected, and the error counts the decoded bytes."""
    whole = CODECS[codec](DATA)
    for length in range(len(whole)):
        message = refused(whole[:length], codec)

        assert f"is truncated: its {codec} data end after" in message
        assert f"at byte {length} of the file; complete the file, or exclude it" in message


@each_codec
@pytest.mark.parametrize("garbage", [b"x", b"a line of text\n", b"\0", b"\0\0\0\0\0", b"\xff" * 40, b"\0\0\0\0x"])
@pytest.mark.parametrize("most", [1, 1000])
def test_bytes_behind_the_end_are_refused(codec: str, garbage: bytes, most: int) -> None:
    """Other data after the last stream are refused, with their offset."""
    whole = CODECS[codec](DATA)
    message = refused(whole + garbage, codec, most=most)

    assert f"has bytes after the end of its {codec} data at byte {len(whole)}; remove them" in message


@given(
    st.lists(
        st.binary(max_size=300) | st.sampled_from([b"a" * 300_000, random.Random(3).randbytes(300_000)]), max_size=3
    )
)
def test_zstd_frames_of_any_kind_are_followed_to_their_end(parts: list[bytes]) -> None:
    """Frames with and without checksum, in many blocks, and those to be skipped: the data after them are found."""
    skipped = SKIPPABLE[7] + (3).to_bytes(4, "little") + b"\x28\xb5\x2f"
    frames = [ZSTD, *(frame for part in parts for frame in (_zstd(part), skipped))]
    whole = b"".join(frames)

    assert end_of_frames(ByteSource(io.BytesIO(whole))) == len(whole)
    assert end_of_frames(ByteSource(io.BytesIO(whole + b"(mail)"))) == len(whole)


@each_codec
def test_half_a_second_member_is_refused(codec: str) -> None:
    """A file that ends inside its second member is truncated."""
    whole = CODECS[codec](DATA)
    for length in range(1, len(whole)):
        refused(whole + whole[:length], codec)


def test_zeros_between_xz_streams() -> None:
    """Zeros in multiples of four pad xz streams, between and after them; gzip has no padding."""
    whole = lzma.compress(DATA)
    assert decode(stream(whole + bytes(8) + whole + bytes(4), "xz", most=3)) == DATA * 2
    refused(bytes(4) + whole, "xz")
    refused(whole + bytes(3) + whole, "xz")
    refused(gzip.compress(DATA) + bytes(4), "gzip")


@each_codec
def test_no_flipped_bit_changes_what_is_read(codec: str) -> None:
    """With any one bit of the file flipped, checksums included, it is refused or decodes to the very same bytes."""
    whole = CODECS[codec](DATA)
    same = 0
    for bit in range(8 * len(whole)):
        harmed = bytearray(whole)
        harmed[bit // 8] ^= 1 << bit % 8
        with suppress(SourceError):
            assert decode(stream(bytes(harmed), codec)) == DATA
            same += 1

    assert same < 80  # gzip's header has a time, and others have bits without a meaning


@pytest.mark.parametrize("codec", ["gzip", "bzip2", "xz"])
def test_a_wrong_checksum_is_refused(codec: str) -> None:
    """The error says so although the data could be decoded."""
    whole = bytearray(CODECS[codec](DATA))
    whole[{"gzip": -8, "bzip2": 12, "xz": -30}[codec]] ^= 1

    assert f"is corrupt: its {codec} data cannot be decoded at or before byte" in refused(bytes(whole), codec)


def test_xz_that_asks_for_too_much_memory_is_refused() -> None:
    """A header of a few bytes cannot cause a reader to allocate gigabytes."""
    whole = bytearray(lzma.compress(DATA))
    whole[16] = 40  # a dictionary of 4 GiB
    whole[20:24] = zlib.crc32(whole[12:20]).to_bytes(4, "little")

    assert "its xz data ask for more than 512 MiB of memory; " in refused(bytes(whole), "xz")


@pytest.mark.parametrize(
    ("header", "asked"),
    [
        (b"\x00\x88", None),  # a window of 128 MiB
        (b"\x00\x90", "a window of more than 128 MiB"),
        (b"\x01\x50\x07", "a dictionary"),
    ],
)
def test_what_zstd_frames_may_ask_for(header: bytes, asked: str | None) -> None:
    """Sound frames that ask for more than a reader has are not called corrupt."""
    block = (len(DATA) << 3 | 1).to_bytes(3, "little") + DATA  # the last one, raw
    whole = ZSTD_MAGIC + header + block

    if asked is None:
        assert decode(stream(whole, "zstd")) == DATA
    else:
        assert f"its zstd data ask for {asked}; " in refused(whole, "zstd")


@each_codec
def test_a_wrong_suffix_is_refused(codec: str) -> None:
    """Plain text, or another codec's data, with a codec's suffix is reported as such."""
    message = refused(b"id,name\n1,a\n", codec)
    assert f"does not start as {codec} data; set compression='none', or exclude the file" in message
    other = "xz" if codec == "gzip" else "gzip"

    assert f"it looks like {other}; set compression='{other}', or exclude" in refused(CODECS[other](DATA), codec)


@each_codec
def test_a_file_shorter_than_planned_is_refused(codec: str) -> None:
    """A compressed file truncated after the plan has changed, which is not an error of its format."""
    whole = CODECS[codec](DATA)
    with pytest.raises(FileChangedError, match="is shorter than planned"):
        decode(StreamSource(io.BytesIO(whole[:-1]), codec, size=len(whole), name="a"))


@each_codec
def test_a_store_that_fails_is_no_bad_file(codec: str) -> None:
    """An error of the store is passed on unchanged: a retry may help."""

    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() > 100_000:
                message = "reset by peer"
                raise ConnectionResetError(message)
            return super().read(size)

    data = CODECS[codec](random.Random(1).randbytes(300_000))
    with pytest.raises(ConnectionResetError):
        decode(StreamSource(Broken(data), codec, name="a"), step=2**20)


@pytest.mark.parametrize("head", [b"", b"BZ", b"BZh9 is no codec", b"\x1f", b"\x1f\x8b\x07", b"(\xb5/", b"7zXZ", b"id"])
def test_what_only_looks_like_a_codec(head: bytes) -> None:
    """Text that shares a letter or two with a codec's data is text."""
    assert codec_of_head(head) is None


@pytest.mark.parametrize("codec", ["gzip", "zstd", "xz"])
def test_limits_end_a_bomb(codec: str) -> None:
    """A file that decodes to far more data is refused with the numbers and the policy to raise."""
    file = CODECS[codec](bytes(20 * 2**20))
    for limits, policy in (
        (Policies(max_decoded_bytes=10**6), "max_decoded_bytes=1000000"),
        (Policies(max_expansion=100), "max_expansion=100"),
    ):
        with pytest.raises(SourceError, match=rf"decodes to too much data: \d+ bytes from .*{policy}; raise Policies"):
            decode(StreamSource(io.BytesIO(file), codec, name="a", limits=limits), step=2**20)
    small = Policies(max_decoded_bytes=20 * 2**20, max_expansion=10**9)

    assert decode(StreamSource(io.BytesIO(file), codec, limits=small), step=2**20) == bytes(20 * 2**20)
