"""The house rules that no linter has: each takes a file's text and returns what breaks it, one line each."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

MAX_FILE_LINES = 300
MAX_FOLDER_FILES = 16
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 6
# `record_format("fixed", length=8)` is how people write a format down; it refuses unknown options itself. So does the
# task group whose arguments `@blockread(...)` takes.
KEYWORDS_BY_CONTRACT = {
    "blockread",
    "record_format",
    "_on_listing_answer",
    "_on_failure",
    "__new__",  # those of __init__
}

_STUB = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")
# Somebody's home; after a letter, dot or slash it is a part of some other path.
_MACHINE_PATH = re.compile(r"(?<![\w.:/~*}\]-])(?:file://)?/(?:root|home/\w+|Users/\w+)/\w")
# Of the present, not of durations (`time.monotonic`), nor of times that are given (`datetime.fromtimestamp`).
_CLOCK = re.compile(
    r"\b(datetime\.(now|utcnow|today)|date\.today|time\.(time|time_ns|localtime|gmtime|ctime))\("
    r"|from time import .*\btime\b|(?<!def )\butc_now\(\)"
)
# Modules of tests that pytest imports by itself.
_COLLECTED = re.compile(r"tests\.(\w+\.)*(conftest|test_\w+)")
_PARQUET_FILE = re.compile(r"ParquetFile\(.*\) as (\w+)")
_PARQUET_READS = {"iter_batches", "read_row_group", "read_row_groups", "read_table"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def long_file(text: str) -> list[str]:
    """A file is read in one sitting."""
    lines = len(text.splitlines())
    return [f"{lines} lines, at most {MAX_FILE_LINES}"] if lines > MAX_FILE_LINES else []


def long_functions(text: str) -> list[str]:
    """A function fits on a screen."""
    sizes = [(f.name, (f.end_lineno or f.lineno) - f.lineno + 1) for f in _functions(text)]
    return [f"{name}: {size} lines, at most {MAX_FUNCTION_LINES}" for name, size in sizes if size > MAX_FUNCTION_LINES]


def parameter_walls(text: str) -> list[str]:
    """More than a handful of parameters are a value that has no name yet.

    An operator's constructor is such a value: all its options are keywords, and Airflow's own continue to `super()`.
    """
    counts = [(f.name, len(_parameters(f))) for f in _functions(text)]
    return [f"{name}: {count} parameters, at most {MAX_PARAMETERS}" for name, count in counts if count > MAX_PARAMETERS]


def loose_keywords(text: str) -> list[str]:
    """`**kwargs` goes whole to the method that is overridden, or from a command to a value; both check names."""
    loose = (f for f in _functions(text) if f.args.kwarg and f.name not in KEYWORDS_BY_CONTRACT)
    return [f"{f.name}: **{f.args.kwarg.arg}" for f in loose if f.args.kwarg and not _hands_on(f)]


def undocumented(text: str) -> list[str]:
    """Everything public says in a sentence what it is or returns."""
    tree = ast.parse(text)
    missing = [] if ast.get_docstring(tree) else ["module"]
    return missing + [name for name, node in _public(tree.body) if not ast.get_docstring(node)]


def stubs(text: str) -> list[str]:
    """What is shipped is finished."""
    return [f"line {number}: {line.strip()}" for number, line in _lines(text) if _STUB.search(line)]


def mocks(text: str) -> list[str]:
    """The package needs no test tool to run."""
    return [name for name in _imports(text) if name.partition(".")[0] == "unittest"]


def borrowed(text: str) -> list[str]:
    """What tests share is in helper modules, not in what pytest collects."""
    return [name for name in _imports(text) if _COLLECTED.fullmatch(name)]


def machine_paths(text: str) -> list[str]:
    """Nothing knows the machine that it was written on."""
    return [f"line {number}: {line.strip()}" for number, line in _lines(text) if _MACHINE_PATH.search(line)]


def clocks(text: str) -> list[str]:
    """What time it is comes from a clock that is handed over: only durations are measured here."""
    return [f"line {number}: {line.strip()}" for number, line in _lines(text) if _CLOCK.search(line)]


def threaded_reads(text: str) -> list[str]:
    """Parquet is read by one thread: one of Arrow's may still hold a Python file at exit, which aborts the process."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    opened = _PARQUET_FILE.findall(text)
    reads = [
        c
        for c in calls
        if isinstance(c.func, ast.Attribute)
        and (c.func.attr in _PARQUET_READS or (c.func.attr == "read" and ast.unparse(c.func.value) in opened))
    ]
    held = [c for c in reads if "use_threads=False" not in map(ast.unparse, c.keywords)]
    return [f"line {call.lineno}: {ast.unparse(call.func)}" for call in held]


def _functions(text: str) -> Iterator[Function]:
    return (node for node in ast.walk(ast.parse(text)) if isinstance(node, Function))


def _parameters(function: Function) -> list[str]:
    a = function.args
    is_operator = function.name == "__init__" and a.kwarg and _hands_on(function)
    names = [p.arg for p in (*a.posonlyargs, *a.args, *([] if is_operator else a.kwonlyargs))]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def _hands_on(function: Function) -> bool:
    name = function.args.kwarg.arg if function.args.kwarg else ""
    is_command = any(ast.unparse(decorator).startswith("click.") for decorator in function.decorator_list)
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    targets = [
        call
        for call in calls
        if ast.unparse(call.func) == f"super().{function.name}" or (is_command and ast.unparse(call.func)[0].isupper())
    ]
    passed = [keyword.value for call in targets for keyword in call.keywords if not keyword.arg]
    used = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name]
    return bool(passed) and all(node in passed for node in used)


def _public(body: list[ast.stmt], owner: str = "") -> Iterator[tuple[str, Function | ast.ClassDef]]:
    for node in body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_") and not _is_overload(node):
            yield f"{owner}{node.name}", node
            if isinstance(node, ast.ClassDef):
                yield from _public(node.body, f"{owner}{node.name}.")


def _is_overload(node: Function | ast.ClassDef) -> bool:
    return any(
        ast.unparse(d) in {"overload", "typing.overload"} or ".setter" in ast.unparse(d) for d in node.decorator_list
    )


def _imports(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""


def _lines(text: str) -> Iterator[tuple[int, str]]:
    return enumerate(text.splitlines(), start=1)
