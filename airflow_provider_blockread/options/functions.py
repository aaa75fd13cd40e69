"""What is done with records between reading and the sink, as DAG authors write it; `spark/tasks` implements it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import ClassVar, Literal

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.checks import import_path, is_template, one_of
from airflow_provider_blockread.options.parsing.query import problem_of
from airflow_provider_blockread.options.values import PRIVATE, Value

#: Columns that a reader adds on request: the file's path, the block's number, the record's byte offset.
PLACE_COLUMNS = ("_file", "_block", "_offset")

_RECORDS = re.compile(r"\brecords\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class FunctionCode:
    """The text of a function as it stands in its file: with its indentation, but without decorators."""

    text: str
    file: str
    line: int  # of the file where the text begins, from 1

    @property
    def digest(self) -> str:
        """SHA-256 of the text, as hex."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class FunctionText(Value):
    """A function that has no import path: its name, and the digest of its text, which identifies it.

    The code is private to the process: neither the ledger nor a file of the work area holds it, and each process that
    reads a window supplies it.
    """

    kind: ClassVar[str] = "function_text"
    name: str
    digest: str
    code: FunctionCode | None = field(default=None, compare=False, repr=False, metadata=PRIVATE)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, kw_only=True)
class FunctionOption(Value):
    """What is done with the records of a window; `columns` adds `_file`, `_block` and `_offset` to them.

    `rows_out` tells what receipts say about the resulting rows, which the proof then demands of the output: with `all`,
    every record of a block becomes one row; with `counted`, the rows are counted block by block; with `written`, only
    the writers know how many rows there are.
    """

    rows_out: ClassVar[str]
    columns: Sequence[str] = ()

    @property
    def needs_window(self) -> bool:
        """Whether it must get all records of a window at once, so that these are one group."""
        return False

    def __post_init__(self) -> None:
        for column in self.columns:
            one_of(self.kind, "columns", column, PLACE_COLUMNS)


@dataclass(frozen=True, kw_only=True)
class AsRead(FunctionOption):
    """No function: the sink gets the records as they were read, with the `columns` that were requested."""

    kind: ClassVar[str] = "as_read"
    rows_out: ClassVar[str] = "all"

    def __str__(self) -> str:
        return "the reader"


@dataclass(frozen=True)
class PythonFunction(FunctionOption):
    """A function by its import path `"package.module:function"` or by its text; `schema` declares what it returns."""

    path: str | FunctionText
    _: KW_ONLY
    schema: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.path, str):
            import_path(self.kind, self.path, "function")

    def __str__(self) -> str:
        return f"function {self.path}"


@dataclass(frozen=True)
class ArrowFunction(PythonFunction):
    """A function `RecordBatch -> RecordBatch | None`, by its import path `"package.module:function"` or by its text.

    `schema` declares what it returns (as `"id long, msg string"`); without it, the first batch decides and the others
    must agree.
    """

    kind: ClassVar[str] = "arrow_function"
    rows_out: ClassVar[str] = "counted"


@dataclass(frozen=True, kw_only=True)
class FrameFunction(FunctionOption):
    """A function of the records as one Spark DataFrame, called once their read is proven.

    With `scope="window"` it gets all records of the window, which the plan then packs into one group; with
    `scope="group"` it is called for each group separately.
    """

    rows_out: ClassVar[str] = "written"
    scope: Literal["window", "group"] = "window"

    @property
    def needs_window(self) -> bool:
        """Whether it must get all records of a window at once, so that these are one group."""
        return self.scope == "window"


@dataclass(frozen=True)
class DataFrameFunction(PythonFunction, FrameFunction):
    """A function `DataFrame -> DataFrame`, by its import path `"package.module:function"` or by its text.

    `schema` declares what it returns (as `"id long, msg string"`); without it, any columns and types will do.
    """

    kind: ClassVar[str] = "dataframe_function"


@dataclass(frozen=True)
class Sql(FrameFunction):
    """A Spark SQL query over the view `records`: `"SELECT level, count(*) AS n FROM records GROUP BY level"`."""

    kind: ClassVar[str] = "sql"
    query: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if is_template(self.query):
            return
        problem = problem_of(self.query) or ("" if _RECORDS.search(self.query) else "it does not name that")
        if problem:
            msg = f"sql: query must be one query of the view `records`, but {problem}: {self.query!r}"
            raise OptionsError(msg)

    def __str__(self) -> str:
        return "the SQL query"


def text_of(option: FunctionOption) -> FunctionText | None:
    """Return the text by which an option names its function, or None if it has an import path or no function."""
    path = option.path if isinstance(option, PythonFunction) else None
    return path if isinstance(path, FunctionText) else None


def with_code(option: FunctionOption, code: FunctionCode | None) -> FunctionOption:
    """Return the option with the code of its function, or the option unchanged if it names no function text."""
    if isinstance(option, PythonFunction) and isinstance(option.path, FunctionText):
        return replace(option, path=replace(option.path, code=code))
    return option
