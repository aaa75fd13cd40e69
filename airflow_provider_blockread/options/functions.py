"""What is done with records between reading and the sink, as DAG authors write it; `spark/tasks` does it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.function_text import FunctionCode, FunctionText
from airflow_provider_blockread.options.plan import one_of
from airflow_provider_blockread.options.values import Value

#: Columns that a reader adds on request: the file's path, the block's number, the record's byte offset.
PLACE_COLUMNS = ("_file", "_block", "_offset")


@dataclass(frozen=True, kw_only=True)
class FunctionOption(Value):
    """What is done with the records of a window; `columns` adds `_file`, `_block` and `_offset` to them.

    `keeps_rows` is what the proof may demand: True, if as many rows come out of each block as records went in; False,
    if only the sum of the rows that came out is known, which must be the rows in the output.
    """

    keeps_rows: ClassVar[bool]
    columns: Sequence[str] = ()

    def __post_init__(self) -> None:
        for column in self.columns:
            one_of(self.kind, "columns", column, PLACE_COLUMNS)


@dataclass(frozen=True, kw_only=True)
class AsRead(FunctionOption):
    """No function: the sink gets the records as they were read, and the columns that were asked for."""

    kind: ClassVar[str] = "as_read"
    keeps_rows: ClassVar[bool] = True

    def __str__(self) -> str:
        return "the reader"


@dataclass(frozen=True)
class ArrowFunction(FunctionOption):
    """A function `RecordBatch -> RecordBatch | None`, by its import path `"package.module:function"` or by its text.

    `schema` declares what it returns (as `"id long, msg string"`); without it, the first batch decides and the others
    must agree.
    """

    kind: ClassVar[str] = "arrow_function"
    keeps_rows: ClassVar[bool] = False
    path: str | FunctionText
    _: KW_ONLY
    schema: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.path, str) and not all(self.path.partition(":")[::2]):
            msg = f"arrow_function: path must read 'package.module:function', not {self.path!r}"
            raise OptionsError(msg)

    def __str__(self) -> str:
        return f"function {self.path}"


def text_of(option: FunctionOption) -> FunctionText | None:
    """Return the text by which an option names its function; None where it has an import path, or no function."""
    return option.path if isinstance(option, ArrowFunction) and isinstance(option.path, FunctionText) else None


def with_code(option: FunctionOption, code: FunctionCode | None) -> FunctionOption:
    """Return the option with the code of its function; as it is where it names no text."""
    if isinstance(option, ArrowFunction) and isinstance(option.path, FunctionText):
        return replace(option, path=replace(option.path, code=code))
    return option
