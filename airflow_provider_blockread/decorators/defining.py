"""A function's definition in its file: its text, checked to be self-contained, and what it takes."""

from __future__ import annotations
import __future__

import ast
import builtins
import dis
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from types import CodeType, FunctionType
from typing import Any, NoReturn

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import FunctionCode, FunctionText
from airflow_provider_blockread.options.checks import one_of

_KINDS = {"arrow": r"\bRecordBatch\b", "dataframe": r"(?<!pd\.)(?<!pandas\.)(?<!pl\.)(?<!polars\.)\bDataFrame\b"}
_LOADS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL"}
_OF_MODULES = {"__name__", "__builtins__"}


@dataclass(frozen=True, kw_only=True)
class Definition:
    """A function as it is defined in a file."""

    text: FunctionText
    annotations: str  # of the first parameter and of the return value

    def kind(self, given: str | None) -> str:
        """Return the kind of the function's argument: the given one, or else the one that the annotations name.

        Raises:
            OptionsError: when no kind is given, and the annotations name none or more than one.
        """
        if given is not None:
            one_of(f"function {self.text.name}", "kind", given, tuple(_KINDS))
            return given
        found = [kind for kind, pattern in _KINDS.items() if re.search(pattern, self.annotations)]
        if len(found) != 1:
            msg = (
                f"function {self.text.name} has annotations that do not say what it takes; annotate its first parameter"
                f" as RecordBatch or DataFrame (Spark's), or set kind to one of {', '.join(_KINDS)}"
            )
            raise OptionsError(msg)
        return found[0]


def define(function: Callable[..., Any]) -> Definition:
    """Return the definition of a function.

    Raises:
        OptionsError: when it is not a plain function, its text cannot be found, or the text uses a name from outside.
    """
    if not isinstance(function, FunctionType):
        _refuse(function, "is not a function; decorate one that is defined with `def`")
    _require_plain(function)
    try:
        lines, first = inspect.getsourcelines(function)
    except OSError as error:
        _refuse(function, f"has no readable source text ({error}); define it in a file", error)
    is_indented = lines[0][:1].isspace()
    body = ast.parse("".join(["if True:\n"] * is_indented + lines)).body[0]
    node = body.body[0] if isinstance(body, ast.If) else body
    if not isinstance(node, ast.FunctionDef) or len(node.decorator_list) > 1:
        _refuse(function, "has another decorator, which would not reach Spark; leave @blockread alone")
    begin, end = node.lineno - 1 - is_indented, (node.end_lineno or node.lineno) - is_indented
    code = FunctionCode(
        text="".join(lines[begin:end]).rstrip() + "\n",
        file=inspect.getsourcefile(function) or function.__code__.co_filename,
        line=first + begin,
    )
    _require_own_names(function, node)
    notes = [*(arg.annotation for arg in [*node.args.posonlyargs, *node.args.args][:1]), node.returns]
    return Definition(
        text=FunctionText(name=function.__name__, digest=code.digest, code=code),
        annotations=" ".join(ast.unparse(note) for note in notes if note is not None),
    )


def _require_plain(function: FunctionType) -> None:
    if function.__name__ == "<lambda>":
        _refuse(function, "is a lambda; define it with `def`")
    if function.__qualname__.rpartition("<locals>.")[2] != function.__name__:
        _refuse(function, "is a method; define it outside of a class")
    if (
        inspect.iscoroutinefunction(function)
        or inspect.isgeneratorfunction(function)
        or inspect.isasyncgenfunction(function)
    ):
        _refuse(function, "is a generator or a coroutine; return the records")
    if hasattr(function, "__wrapped__"):
        _refuse(function, "has another decorator, which would not reach Spark; leave @blockread alone")
    try:
        inspect.signature(function).bind(None)
    except TypeError as error:
        _refuse(
            function, f"cannot be called with the records alone ({error}); give its other parameters defaults", error
        )


def _require_own_names(function: FunctionType, node: ast.FunctionDef) -> None:
    """Refuse names from outside the function: neither its module nor an enclosing function reaches Spark."""
    node.decorator_list = []
    flags = __future__.annotations.compiler_flag
    compiled = compile(ast.Module([node], []), "<function>", "exec", flags=flags, dont_inherit=True)
    used = {name for name in _outer_names(compiled) if name in function.__globals__ or not hasattr(builtins, name)}
    foreign = (used | set(function.__code__.co_freevars)) - _OF_MODULES - {function.__name__}
    if foreign:
        names = ", ".join(sorted(foreign))
        why = f"uses {names} from outside, and only its own text reaches Spark; import or define that inside"
        _refuse(function, why)


def _outer_names(code: CodeType) -> Iterator[str]:
    """Yield the names that a code object, and those within it, look up among globals."""
    found = list(dis.get_instructions(code))
    own = {step.argval for step in found if step.opname == "STORE_NAME"}
    yield from (step.argval for step in found if step.opname in _LOADS and step.argval not in own)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _outer_names(inner)


def _refuse(function: object, why: str, cause: Exception | None = None) -> NoReturn:
    name = getattr(function, "__name__", repr(function))
    place = ""
    if isinstance(function, FunctionType):
        place = f" ({PurePath(function.__code__.co_filename).name}, line {function.__code__.co_firstlineno})"
    msg = f"@blockread: {name}{place} {why}"
    raise OptionsError(msg) from cause
