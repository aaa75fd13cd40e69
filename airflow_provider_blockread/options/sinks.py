"""Sinks as DAG authors write them; `sinks` holds what they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Self

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.parsing.encodings import encode_text
from airflow_provider_blockread.options.plan import above_zero, one_of
from airflow_provider_blockread.options.values import Value, parse

#: Columns that columnar sinks add on request: a row's file and its modification time, the number of its block, its
#: record's byte offset, its window's id and key, and when the window's generation began.
AUDIT_COLUMNS = ("_file", "_modified", "_block", "_offset", "_window", "_window_key", "_loaded")

#: Those that say which file a row is.
FILE_COLUMNS = ("_file", "_modified")

_SUFFIXES = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst"}  # of compressed text


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
    def per_block(self) -> bool:
        """Whether a file holds the rows of one block alone."""
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
    `audit` adds columns that say where a row comes from. `partition_by` names columns, audit columns among them; a
    file holds the rows of one combination of their values, of which a window has at most `max_partitions`.

    Rows with columns that the output lacks `"fail"`, or with `schema="add_columns"` the output gets these columns,
    which are null in other rows; so do types that hold more than the output's, where its format can widen them.
    With `case_sensitive=False` a column of rows is that of the output whose name differs by case at most.
    """

    _: KW_ONLY
    compression: str = "snappy"
    row_group_bytes: int = 64 * 2**20
    file_bytes: int = 1 * 2**30
    audit: Sequence[str] = ()
    partition_by: Sequence[str] = ()
    max_partitions: int = 1000
    schema: str = "fail"
    case_sensitive: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for column in self.audit:
            one_of(self.kind, "audit", column, AUDIT_COLUMNS)
        if len(set(self.partition_by)) != len(self.partition_by):
            msg = f"{self.kind}: partition_by names a column twice; name each once"
            raise OptionsError(msg)
        one_of(self.kind, "compression", self.compression, ("snappy", "zstd", "gzip", "lz4", "none"))
        one_of(self.kind, "schema", self.schema, ("fail", "add_columns"))

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
        return tuple(dict.fromkeys((*self.audit, *(name for name in self.partition_by if name in AUDIT_COLUMNS))))


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


@dataclass(frozen=True)
class LineSink(Sink):
    """A directory of files of text, plain or compressed.

    A file is that of a task, or with `per="block"` of a block, whose number its name then ends in, in hex.
    """

    ending: ClassVar[str]  # of the names of plain files
    _: KW_ONLY
    compression: str = "none"
    per: str = "task"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self.kind, "compression", self.compression, ("none", *_SUFFIXES))
        one_of(self.kind, "per", self.per, ("task", "block"))

    @property
    def suffix(self) -> str:
        """How the names of its files end."""
        return f"{self.ending}{_SUFFIXES.get(self.compression, '')}"

    @property
    def per_block(self) -> bool:
        """Whether a file holds the rows of one block alone."""
        return self.per == "block"


@dataclass(frozen=True)
class JsonLinesSink(LineSink):
    """A directory of JSON lines: an object for each row, with all of its columns."""

    kind: ClassVar[str] = "json_lines_files"
    ending: ClassVar[str] = ".jsonl"


@dataclass(frozen=True)
class CsvSink(LineSink):
    """A directory of csv files as RFC 4180 has them: texts in quotes, nulls as empty fields without quotes."""

    kind: ClassVar[str] = "csv_files"
    ending: ClassVar[str] = ".csv"
    _: KW_ONLY
    delimiter: str = ","
    header: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.delimiter.encode()) != 1 or self.delimiter in '"\r\n':
            msg = "csv_files: delimiter must be one ASCII character, and no quote or newline"
            raise OptionsError(msg)


@dataclass(frozen=True)
class TextSink(LineSink):
    r"""A directory of text files: a line for each row, its column `value` with `terminator` behind it.

    Rows have this one column, of text or bytes; a value that holds the terminator fails the window.
    """

    kind: ClassVar[str] = "text"
    ending: ClassVar[str] = ".txt"
    _: KW_ONLY
    terminator: str | bytes = "\n"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.terminator_bytes:
            msg = "text: terminator must hold at least one byte"
            raise OptionsError(msg)

    @property
    def terminator_bytes(self) -> bytes:
        """The terminator as it stands in the files."""
        return encode_text(self.kind, self.terminator, "utf-8")
