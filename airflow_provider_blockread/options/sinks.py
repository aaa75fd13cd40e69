"""Sinks as DAG authors write them; `sinks` implements them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import ClassVar, Literal, Self, get_args

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.checks import above_zero, line_ends, one_of
from airflow_provider_blockread.options.parsing.encodings import encode_text
from airflow_provider_blockread.options.partitions import Partition, distinct, parse_partitions
from airflow_provider_blockread.options.values import Value, parse

#: Columns that columnar sinks add on request: the row's file and the file's modification time, the number of the block,
#: the record's byte offset, the window's id and key, the date in that key, and when the window's generation began.
AUDIT_COLUMNS = ("_file", "_modified", "_block", "_offset", "_window", "_window_key", "_window_date", "_loaded")

#: The audit columns that say which file a row is.
FILE_COLUMNS = ("_file", "_modified")

#: How a column of a Parquet file may be encoded.
ENCODINGS = (
    "plain",
    "dictionary",
    "delta_binary_packed",
    "delta_length_byte_array",
    "delta_byte_array",
    "byte_stream_split",
)

Codec = Literal["snappy", "zstd", "gzip", "lz4", "none"]


@dataclass(frozen=True)
class Sink(Value):
    """Where records go. `work_uri` (manifests, results, staging) is a folder beside the output, never inside it."""

    keeps_files: ClassVar[bool] = True  # readers find the files that tasks write, and not only their rows
    needs_audit: ClassVar[bool] = True  # rows for which an audit column is not known are refused
    uri: str
    _: KW_ONLY
    work_uri: str | None = None
    conn_id: str | None = None

    def __post_init__(self) -> None:
        if not self.uri.strip():
            msg = f"{self.kind}: uri must name a directory"
            raise OptionsError(msg)
        line_ends(self.kind, "uri", self.uri)
        line_ends(self.kind, "work_uri", self.work_uri or "")
        if self.folder and (self.work_area.rstrip("/") + "/").startswith(self.folder.rstrip("/") + "/"):
            msg = f"{self.kind}: work_uri {self.work_area} is inside the output {self.folder}; choose a place beside it"
            raise OptionsError(msg)

    @classmethod
    def from_texts(cls, output: str, texts: Mapping[str, str]) -> Self:
        """Return the sink for an output and options given as text, as on a command line.

        Raises:
            OptionsError: when an option is unknown, or its text is not of the option's type.
        """
        return parse(cls, {"uri": output, **texts})

    @property
    def connections(self) -> Mapping[str, str | None]:
        """The Airflow connections of stores by folder; None stands for the ambient identity."""
        folders = [folder for folder in (self.folder, self.work_area) if folder is not None]
        return dict.fromkeys(folders, self.conn_id)

    @property
    def access_conn_id(self) -> str | None:
        """The Airflow connection of a catalog or database."""
        return None

    def anywhere(self, canonical: Callable[[str], str]) -> Self:
        """Return the same sink with places that mean the same in every process."""
        return replace(self, uri=canonical(self.uri), work_uri=canonical(self.work_area))

    @property
    def place(self) -> str:
        """Where readers look for the records, as messages name it."""
        return self.uri

    @property
    def folder(self) -> str | None:
        """The folder of the published files, as far as it is known, or None if they are in no folder."""
        return self.uri

    @property
    def work_area(self) -> str:
        """The folder of everything that is not published."""
        return self.work_uri or f"{(self.folder or self.uri).rstrip('/')}.blockread"

    @property
    def suffix(self) -> str:
        """The suffix of its files' names."""
        return f".{self.kind}"

    @property
    def inner_folder(self) -> str:
        """An example of the folders between `folder` and a file's name, with a trailing slash; empty for none."""
        return ""

    @property
    def per_block(self) -> bool:
        """Whether a file holds the rows of one block alone."""
        return False

    @property
    def per_group(self) -> bool:
        """Whether a file holds all rows of a group, which one task then writes."""
        return False

    @property
    def audit_columns(self) -> tuple[str, ...]:
        """The audit columns that its files hold."""
        return ()


@dataclass(frozen=True)
class ArchiveSink(Sink):
    """A directory of archives: the bytes of many files one after another, with an index of them beside each archive.

    Rows have one column `value`, of text or bytes; each row is a file. `separator` is added after each. Archives are
    plain (`compression="none"`), or zstd in frames that can be decompressed one by one. An archive has at most
    `file_bytes` before compression; a larger file has an archive of its own.
    """

    kind: ClassVar[str] = "archive"
    needs_audit: ClassVar[bool] = False  # rows that a function makes are not files, and are archived without a name
    _: KW_ONLY
    compression: Literal["none", "zstd"] = "none"
    separator: str | bytes = ""
    file_bytes: int = 256 * 2**20

    def __post_init__(self) -> None:
        super().__post_init__()
        above_zero(self.kind, "file_bytes", self.file_bytes)

    @property
    def suffix(self) -> str:
        """The suffix of its files' names."""
        return ".bin" if self.compression == "none" else ".zst"

    @property
    def separator_bytes(self) -> bytes:
        """The separator as it is encoded in the files."""
        return encode_text(self.kind, self.separator, "utf-8")

    @property
    def audit_columns(self) -> tuple[str, ...]:
        """The audit columns with a file's name and its time."""
        return FILE_COLUMNS


@dataclass(frozen=True)
class ColumnarSink(Sink):
    """Records in Parquet files.

    A row group holds `row_group_bytes`, and a task starts its next file after `file_bytes`, both before compression.
    `compression` is the codec of all columns except those in `codecs`. A column has the encoding that `encodings`
    names, or one that is chosen from its first values. The rows of each file are sorted by the columns `sort_by`.

    `audit` adds columns that say where a row comes from. `path_columns` adds text columns with values from the path of
    the row's file: for `day`, the value in its folder `day=2026-01-02`. `partition_by` names columns, which may be
    audit or path columns; a file holds the rows of one combination of their values, and a window has at most
    `max_partitions` combinations.

    With `schema="fail"`, rows with columns that the output lacks are refused; with `schema="add_columns"` the output
    gets these columns, which are null in other rows. The same applies to types that hold more than the output's, if
    its format can widen them. With `case_sensitive=False` columns match those of the output without regard to case.
    """

    has_transforms: ClassVar[bool] = False  # whether it may be partitioned by a transform of a column
    _: KW_ONLY
    compression: Codec = "snappy"
    row_group_bytes: int = 64 * 2**20
    file_bytes: int = 1 * 2**30
    audit: Sequence[str] = ()
    path_columns: Sequence[str] = ()
    partition_by: Sequence[str] = ()
    max_partitions: int = 1000
    sort_by: Sequence[str] = ()
    encodings: Mapping[str, str] = field(default_factory=dict)
    codecs: Mapping[str, str] = field(default_factory=dict)
    schema: Literal["fail", "add_columns"] = "fail"
    case_sensitive: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for column in self.audit:
            one_of(self.kind, "audit", column, AUDIT_COLUMNS)
        for name in ("path_columns", "sort_by"):
            distinct(self.kind, name, getattr(self, name))
        if taken := sorted({*self.path_columns}.intersection(AUDIT_COLUMNS)):
            msg = f"{self.kind}: path_columns has {taken[0]}, which is an audit column; leave it out"
            raise OptionsError(msg)
        _ = self.partitions
        for column, codec in self.codecs.items():
            one_of(self.kind, f"codecs of {column}", codec, get_args(Codec))
        for column, encoding in self.encodings.items():
            one_of(self.kind, f"encodings of {column}", encoding, ENCODINGS)
        for name in ("row_group_bytes", "file_bytes", "max_partitions"):
            above_zero(self.kind, name, getattr(self, name))

    @property
    def suffix(self) -> str:
        """The suffix of its files' names."""
        return ".parquet"

    @property
    def evolves(self) -> bool:
        """Whether columns that the output lacks are added to it."""
        return self.schema == "add_columns"

    @property
    def deletes_rows(self) -> bool:
        """Whether a window's rows are deleted one by one if other writers have moved them into other files."""
        return False

    @property
    def audit_columns(self) -> tuple[str, ...]:
        """The audit columns that are requested, or partitioned by."""
        found = (partition.column for partition in self.partitions if partition.column in AUDIT_COLUMNS)
        return tuple(dict.fromkeys((*self.audit, *found)))

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """The partitions that `partition_by` lists."""
        return parse_partitions(self.kind, self.partition_by, transforms=self.has_transforms)


@dataclass(frozen=True)
class ParquetSink(ColumnarSink):
    """A directory of Parquet files.

    With `log=True` it holds a log of what is published, which lets readers see whole windows, and which records the
    columns of the directory. Without a log the columns are not recorded, and rows may have any columns.
    """

    kind: ClassVar[str] = "parquet"
    _: KW_ONLY
    log: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.evolves and not self.log:
            msg = "parquet: schema='add_columns' needs log=True, since the log holds the columns of the directory"
            raise OptionsError(msg)
        if not self.case_sensitive and not self.log:
            msg = "parquet: case_sensitive=False needs log=True, since the log holds the columns of the directory"
            raise OptionsError(msg)

    @property
    def inner_folder(self) -> str:
        """The folders of an example partition, with a trailing slash."""
        return "".join(f"{partition.name}=0/" for partition in self.partitions)
