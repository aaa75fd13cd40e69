"""Sinks of text files as DAG authors write them: lines, JSON lines and csv."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.parsing.encodings import encode_text
from airflow_provider_blockread.options.plan import one_of
from airflow_provider_blockread.options.sinks import Sink

_SUFFIXES = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst"}  # of compressed text


@dataclass(frozen=True)
class LineSink(Sink):
    """A directory of files of text, plain or compressed.

    A file is that of a task, with `per="group"` of a whole group, which one task writes then, or with `per="block"` of
    a block, whose number its name then ends in, in hex. With `log=True` the directory holds a log of what is published,
    from which readers see whole windows.
    """

    ending: ClassVar[str]  # of the names of plain files
    _: KW_ONLY
    compression: str = "none"
    per: str = "task"
    log: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self.kind, "compression", self.compression, ("none", *_SUFFIXES))
        one_of(self.kind, "per", self.per, ("task", "group", "block"))

    @property
    def suffix(self) -> str:
        """How the names of its files end."""
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
        if len(self.delimiter.encode()) != 1 or self.delimiter in '"\r\n\0':
            msg = "csv_files: delimiter must be one ASCII character, and no quote, newline or NUL"
            raise OptionsError(msg)
        if self.delimiter.isalnum() or self.delimiter in " +-.:":
            msg = (
                f"csv_files: delimiter {self.delimiter!r} occurs in numbers, times or words such as true, which are not"
                " in quotes; choose another one, such as ';' or a tab"
            )
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
