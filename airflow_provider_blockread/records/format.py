"""The protocol of record formats: where a record starts, and where the following ones end.

A format is independent of blocks, policies and Arrow. `for_file` determines once what depends on the file (its
encoding by a byte order mark, its header). Three pure functions determine the rest:

* `cut(source, offset, state)`: the first record start at or after `offset`, found from the raw offset;
* `walk(buffer)`: the records of a buffer that begins at a record start;
* `scan(source, start, end)`: the range's state map, for formats in which the meaning of bytes depends on earlier ones.
"""

from __future__ import annotations

from typing import Protocol, cast

from airflow_provider_blockread.options import FormatOption
from airflow_provider_blockread.records.decode import RawDecoder
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.model import Decoder, Offsets, Walk
from airflow_provider_blockread.records.statemap import StateMap

#: Most bytes that a look-back reads.
MAX_LOOK_BACK = 64 * 2**20

#: The codec of merged files that are Parquet.
PARQUET = "parquet"

_SUFFIXES = {".gz": "gzip", ".gzip": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".zstd": "zstd"}

#: The remedy for a file in which a look-back finds no record start.
ONE_BLOCK = (
    "read this file as one block: set a block_size above its size, and give its window up with `blockread windows"
    " abandon`, so that the next run takes it"
)


class RecordFormat(Protocol):
    """How bytes become records. A `needs_scan` format can cut only where the state is known."""

    name: str
    needs_scan: bool
    splittable: bool  # False: one block per file
    initial_state: int  # the state at the data offset and at every record start
    unfinished: str  # what to do when a file ends inside a record; ends the error's message
    too_long: str  # what to do about a record that is longer than allowed, other than to allow it
    compression: str  # "auto", "none" or a codec, as in options
    reads_empty: bool  # whether an empty file may hold a record
    holds_members: bool  # whether the files are merged files

    def for_file(self, source: ByteSource) -> RecordFormat:
        """Return the format as it applies to one file, after a look at the file's head; states keep their meaning."""

    def data_offset(self, source: ByteSource) -> int:
        """Return the offset of the first byte that belongs to a record, found from the file's head."""

    def cut(self, source: ByteSource, offset: int, state: int) -> int:
        """Return the first record start at or after `offset`, at most the file's size.

        `source.data_offset < offset < source.size`; `state` is the state at `offset`.
        """

    def walk(self, buffer: bytes, *, final: bool) -> Walk:
        """Return the complete records in `buffer`, or only the first ones; with `final`, the file ends with it."""

    def scan(self, source: ByteSource, start: int, end: int) -> StateMap:
        """Return the state map of `[start, end)`."""

    def explain(self, buffer: bytes, offset: int) -> str:
        """Return why the record at the start of `buffer`, byte `offset` of the file, has no end, or an empty string."""

    def content(self, record: bytes) -> bytes:
        """Return a record's content, unescaped and in UTF-8, from its bytes in the file."""

    def decoder(self) -> Decoder:
        """Return the decoder that turns chunks of records into Arrow batches."""


def codec_of(fmt: RecordFormat | FormatOption, path: str) -> str | None:
    """Return the codec of a file of this format (`gzip`, `bzip2`, `xz`, `zstd`), or None if it is not compressed.

    A merged file may also be `parquet`, whose values are decoded.
    """
    if fmt.compression != "auto":
        return None if fmt.compression == "none" else fmt.compression
    if fmt.holds_members and path.lower().endswith(".parquet"):
        return PARQUET
    return _SUFFIXES.get(path[path.rfind(".") :].lower())


def is_one_block(fmt: RecordFormat, path: str) -> bool:
    """Return whether a file is one block whatever its size: if it is compressed, or may be empty and hold a record."""
    return fmt.reads_empty or codec_of(fmt, path) is not None


def must_scan(fmt: RecordFormat, path: str) -> bool:
    """Return whether a file of several blocks must be scanned; compressed files are always read as a whole."""
    return fmt.needs_scan and codec_of(fmt, path) is None


class BaseFormat:
    """The defaults of most formats: no scan, data from the first byte, raw records in one column `value`."""

    name = "custom"
    needs_scan = False
    splittable = True
    initial_state = 0
    encoding = "utf-8"
    compression = "auto"
    reads_empty = False
    holds_members = False
    unfinished = "complete the file, or exclude it with `blockread windows exclude`"
    too_long = FormatOption.too_long
    #: The bytes that end a file's last record if it has no end, so that another file's data can follow in one buffer;
    #: None if files must be read one by one.
    file_end: bytes | None = None

    def for_file(self, source: ByteSource) -> RecordFormat:
        """Return this format, which is the same for all files."""
        del source
        return cast("RecordFormat", self)

    def explain(self, buffer: bytes, offset: int) -> str:
        """Return an empty string, because there is no further explanation."""
        del buffer, offset
        return ""

    def content(self, record: bytes) -> bytes:
        """Return the record unchanged."""
        return record

    def data_offset(self, source: ByteSource) -> int:
        """Return 0, because there is no header and no byte order mark."""
        del source
        return 0

    def scan(self, source: ByteSource, start: int, end: int) -> StateMap:
        """Return the identity map, because earlier bytes have no effect."""
        del source, start, end
        return StateMap.identity()

    def walk_files(self, buffer: bytes, borders: Offsets) -> Walk:
        """Return the records of several files, joined in `buffer` and each completed by its `file_end`."""
        del borders
        return cast("RecordFormat", self).walk(buffer, final=False)

    def decoder(self) -> Decoder:
        """Return the decoder of raw records."""
        return RawDecoder(self.encoding)
