"""Sinks as DAG authors write them; `sinks` holds what they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import ClassVar, Self

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.parsing.encodings import encode_text
from airflow_provider_blockread.options.partitions import Partition, distinct, parse_partitions
from airflow_provider_blockread.options.plan import above_zero, one_of
from airflow_provider_blockread.options.values import Value, parse

#: Columns that columnar sinks add on request: a row's file and its modification time, the number of its block, its
#: record's byte offset, its window's id and key, the date in that key, and when the window's generation began.
AUDIT_COLUMNS = ("_file", "_modified", "_block", "_offset", "_window", "_window_key", "_window_date", "_loaded")

#: Those that say which file a row is.
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

_CODECS = ("snappy", "zstd", "gzip", "lz4", "none")


@dataclass(frozen=True)
class Sink(Value):
    """Where records go. `work_uri` (manifests, results, staging) is beside the output, never inside."""

    keeps_files: ClassVar[bool] = True  # what tasks write is what readers find; otherwise its rows are, or nobody knows
    uri: str
    _: KW_ONLY
    work_uri: str | None = None
    conn_id: str | None = None

    def __post_init__(self) -> None:
        if not self.uri.strip():
            msg = f"{self.kind}: uri must name a directory"
            raise OptionsError(msg)
        if self.folder and (self.work_area.rstrip("/") + "/").startswith(self.folder.rstrip("/") + "/"):
            msg = f"{self.kind}: work_uri {self.work_area} is inside the output {self.folder}; choose a place beside it"
            raise OptionsError(msg)

    @classmethod
    def from_texts(cls, output: str, texts: Mapping[str, str]) -> Self:
        """Return the sink of an output and options given as text, as on a command line.

        Raises:
            OptionsError: when an option is unknown, or its text is not of the option's type.
        """
        return parse(cls, {"uri": output, **texts})

    @property
    def connections(self) -> Mapping[str, str | None]:
        """The Airflow connections of stores, by the folders that they are for; None for the ambient identity."""
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
        """Where readers look, as messages name it."""
        return self.uri

    @property
    def folder(self) -> str | None:
        """The folder of the published files, as far as it is known; None if they are in no folder."""
        return self.uri

    @property
    def work_area(self) -> str:
        """The folder of everything that is not published."""
        return self.work_uri or self.uri.rstrip("/") + ".blockread"

    @property
    def suffix(self) -> str:
        """How the names of its files end."""
        return f".{self.kind}"

    @property
    def inner_folder(self) -> str:
        """What a file's path may have between `folder` and its name, with a slash at its end."""
        return ""

    @property
    def per_block(self) -> bool:
        """Whether a file holds the rows of one block alone."""
        return False

    @property
    def per_group(self) -> bool:
        """Whether a file holds all rows of a group, which one task writes then."""
        return False

    @property
    def audit_columns(self) -> tuple[str, ...]:
        """The audit columns that its files hold."""
        return ()

    @property
    def needs_audit(self) -> bool:
        """Whether rows for which an audit column is not known are refused."""
        return True


@dataclass(frozen=True)
class ArchiveSink(Sink):
    """A directory of archives: the bytes of many files one after another, with an index of them beside each archive.

    Rows have one column `value`, of text or bytes; each is a file. `separator` is added behind each. Archives are plain
    (`compression="none"`), or zstd in frames that can be decompressed one by one. A task starts its next archive after
    `file_bytes`, before compression.
    """

    kind: ClassVar[str] = "archive"
    _: KW_ONLY
    compression: str = "none"
    separator: str | bytes = ""
    file_bytes: int = 256 * 2**20

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self.kind, "compression", self.compression, ("none", "zstd"))
        above_zero(self.kind, "file_bytes", self.file_bytes)

    @property
    def suffix(self) -> str:
        """How the names of its files end."""
        return ".bin" if self.compression == "none" else ".zst"

    @property
    def separator_bytes(self) -> bytes:
        """The separator as it stands in the files."""
        return encode_text(self.kind, self.separator, "utf-8")

    @property
    def audit_columns(self) -> tuple[str, ...]:
        """The name and the time of a file."""
        return FILE_COLUMNS

    @property
    def needs_audit(self) -> bool:
        """False: what a function makes of records is no file, and is archived without a name."""
        return False


@dataclass(frozen=True)
class ColumnarSink(Sink):
    """Records in Parquet files.

    A row group holds `row_group_bytes`, and a task starts its next file after `file_bytes`, both before compression.
    `compression` is that of all columns but those in `codecs`; a column has the encoding that `encodings` names, or one
    that is chosen by its first values. The rows of each file are in the order of the columns `sort_by`.

    `audit` adds columns that say where a row comes from. `path_columns` adds columns of text with what the path of a
    row's file says: for `day`, the value in its folder `day=2026-01-02`. `partition_by` names columns, these among
    them; a file holds the rows of one combination of their values, of which a window has at most `max_partitions`.

    Rows with columns that the output lacks `"fail"`, or with `schema="add_columns"` the output gets these columns,
    which are null in other rows; so do types that hold more than the output's, where its format can widen them.
    With `case_sensitive=False` a column of rows is that of the output whose name differs by case at most.
    """

    has_transforms: ClassVar[bool] = False  # whether it may be partitioned by what is made of a column
    _: KW_ONLY
    compression: str = "snappy"
    row_group_bytes: int = 64 * 2**20
    file_bytes: int = 1 * 2**30
    audit: Sequence[str] = ()
    path_columns: Sequence[str] = ()
    partition_by: Sequence[str] = ()
    max_partitions: int = 1000
    sort_by: Sequence[str] = ()
    encodings: Mapping[str, str] = field(default_factory=dict)
    codecs: Mapping[str, str] = field(default_factory=dict)
    schema: str = "fail"
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
        one_of(self.kind, "compression", self.compression, _CODECS)
        for column, codec in self.codecs.items():
            one_of(self.kind, f"codecs of {column}", codec, _CODECS)
        for column, encoding in self.encodings.items():
            one_of(self.kind, f"encodings of {column}", encoding, ENCODINGS)
        one_of(self.kind, "schema", self.schema, ("fail", "add_columns"))
        for name in ("row_group_bytes", "file_bytes", "max_partitions"):
            above_zero(self.kind, name, getattr(self, name))

    @property
    def suffix(self) -> str:
        """How the names of its files end."""
        return ".parquet"

    @property
    def evolves(self) -> bool:
        """Whether the output gets columns that it lacks."""
        return self.schema == "add_columns"

    @property
    def deletes_rows(self) -> bool:
        """Whether a window's rows are deleted one by one where other writers have put them into other files."""
        return False

    @property
    def audit_columns(self) -> tuple[str, ...]:
        """The audit columns that are asked for, or partitioned by."""
        found = (partition.column for partition in self.partitions if partition.column in AUDIT_COLUMNS)
        return tuple(dict.fromkeys((*self.audit, *found)))

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """What `partition_by` lists."""
        return parse_partitions(self.kind, self.partition_by, transforms=self.has_transforms)


@dataclass(frozen=True)
class ParquetSink(ColumnarSink):
    """A directory of Parquet files.

    With `log=True` it holds a log of what is published, from which readers see whole windows, and which knows the
    columns of the directory. Without one, nothing does, and rows may have any columns.
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
        """The folders of partitions, of some values."""
        return "".join(f"{partition.name}=0/" for partition in self.partitions)
