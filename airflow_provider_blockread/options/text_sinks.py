"""Sinks of text files as DAG authors write them: lines, JSON lines and csv."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.parsing.encodings import encode_text
from airflow_provider_blockread.options.sinks import Sink

_SUFFIXES = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst"}  # of compressed text


@dataclass(frozen=True)
class LineSink(Sink):
    """A directory of text files, plain or compressed.

    A file holds the rows of one task; with `per="group"` those of a whole group, which one task then writes; or with
    `per="block"` those of one block, with whose number, in hex, the file's name then ends. With `log=True` the
    directory holds a log of what is published, which lets readers see whole windows.
    """

    ending: ClassVar[str]  # of the names of plain files
    _: KW_ONLY
    compression: Literal["none", "gzip", "bzip2", "xz", "zstd"] = "none"
    per: Literal["task", "group", "block"] = "task"
    log: bool = False

    @property
    def suffix(self) -> str:
        """The suffix of its files' names."""
        return f"{self.ending}{_SUFFIXES.get(self.compression, '')}"

    @property
    def per_block(self) -> bool:
        """Whether a file holds the rows of one block alone."""
        return self.per == "block"

    @property
    def per_group(self) -> bool:
        """Whether a file holds all rows of a group."""
        return self.per == "group"


@dataclass(frozen=True)
class JsonLinesSink(LineSink):
    """A directory of JSON lines files: one object per row, with all of its columns."""

    kind: ClassVar[str] = "json_lines_files"
    ending: ClassVar[str] = ".jsonl"


@dataclass(frozen=True)
class CsvSink(LineSink):
    """A directory of csv files as RFC 4180 defines them: texts are quoted, nulls are empty fields without quotes."""

    kind: ClassVar[str] = "csv_files"
    ending: ClassVar[str] = ".csv"
    _: KW_ONLY
    delimiter: str = ","
    header: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.delimiter.encode()) != 1 or self.delimiter in '"\r\n\0':
            msg = "csv_files: delimiter must be one ASCII character other than a quote, newline or NUL"
            raise OptionsError(msg)
        if self.delimiter.isalnum() or self.delimiter in " +-.:":
            msg = (
                f"csv_files: delimiter {self.delimiter!r} occurs in numbers, times or words such as true, which are not"
                " in quotes; choose another one, such as ';' or a tab"
            )
            raise OptionsError(msg)


@dataclass(frozen=True)
class TextSink(LineSink):
    r"""A directory of text files: one line per row, its column `value` followed by `terminator`.

    Rows have only this column, of text or bytes; a value that contains the terminator fails the window.
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
        """The terminator as it is encoded in the files."""
        return encode_text(self.kind, self.terminator, "utf-8")
