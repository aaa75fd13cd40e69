"""Fault points: every place in the package where a process may die with the ledger or a store half changed.

    statement:ledger.windows.groups.claim_group/1        a statement is sent to the database
    commit:ledger.windows.groups.claim_group/1           a transaction that writes is committed; `:before` and `:after`
    store:sinks.directory.Directory._add/1       a store is changed; `:before` and `:after`
    disk:storage.backends.disk.LocalDisk.move/1           one step of such a change on the local disk
    table:sinks.tables.table.Table.apply/1      a commit is made to a table; `:before` and `:after`

A name is the kind, module and function, and the number of the place in the function, from 1. The names come from the
code's syntax tree, and the place that is running from its frame, so the package knows nothing of all this.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from types import FrameType

PACKAGE = Path(__file__).resolve().parents[2] / "airflow_provider_blockread"
POINTS = Path(__file__).with_name("points.txt")

_STATEMENTS = {"execute", "scalar", "scalars", "exec_driver_sql", "has_table", "create_all", "run_migrations"}
_CHANGES = {
    "move",
    "place",
    "tag",
    "delete_version",
    "finish_delete",
    "write_bytes_atomic",
    "remove",
    "makedirs",
    "open_write",
    "remove_folder",
}
_STEPS = {"write_bytes", "replace", "unlink", "mkdir", "copyfile", "rmtree", "link"}
_TABLES = {("sinks.tables.table", "_commit"), ("sinks.tables.delta.table", "_add_columns")}
_BOTH_SIDES = ("commit", "store", "table")

#: Statements that only answer what people ask; they change nothing, and are no fault points.
READ_ONLY = ("statement:ledger.windows.queries.", "statement:ledger.overview.")

#: Where a node ends, as the interpreter reports it for a running frame: line, column in bytes.
End = tuple[int, int]


class Places(ast.NodeVisitor):
    """The fault points of one file."""

    def __init__(self, file: Path) -> None:
        """Read the file."""
        self._module = ".".join(file.relative_to(PACKAGE).with_suffix("").parts)
        self._scope: list[str] = []
        self._counts: Counter[str] = Counter()
        self.calls: dict[End, str] = {}
        self.commits: dict[int, str] = {}  # by the line of the `with`, where leaving it is accounted for
        self.visit(ast.parse(file.read_text("utf-8")))

    @property
    def sites(self) -> list[str]:
        """All names, in the order of the file."""
        return [site for site in (*self.calls.values(), *self.commits.values()) if not site.startswith(READ_ONLY)]

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Go into a class."""
        self._inside(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Go into a function."""
        self._inside(node)

    def visit_With(self, node: ast.With) -> None:
        """Note a transaction that writes, or a batch of migration steps."""
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "writing":
                self.commits[node.lineno] = self._named("commit")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Note a call that is a fault point."""
        kind = self._kind(node)
        if kind:
            self.calls[(node.end_lineno or 0, node.end_col_offset or 0)] = self._named(kind)
        self.generic_visit(node)

    def _inside(self, node: ast.ClassDef | ast.FunctionDef) -> None:
        self._scope.append(node.name)
        self.generic_visit(node)
        self._scope.pop()

    def _named(self, kind: str) -> str:
        place = f"{kind}:{'.'.join([self._module, *self._scope])}"
        self._counts[place] += 1
        return f"{place}/{self._counts[place]}"

    def _kind(self, node: ast.Call) -> str:
        func = node.func
        if not isinstance(func, ast.Attribute):
            return ""
        owner = ast.unparse(func.value).rpartition(".")[2]
        if (self._module, func.attr) in _TABLES:
            return "table"
        if self._module.startswith("ledger."):
            is_statement = func.attr in _STATEMENTS and owner not in {"cursor", "raw"}
            is_migration = owner == "op" and func.attr not in {"f", "get_bind"}
            return "statement" if is_statement or is_migration else ""
        if self._module == "storage.backends.disk":
            opens = func.attr == "FileIO" and len(node.args) > 1
            return "disk" if func.attr in _STEPS or opens else ""
        is_store = owner.endswith("stores") or (owner == "self" and self._module == "storage.stores")
        return "store" if func.attr in _CHANGES and is_store else ""


@cache
def places(file: str) -> Places:
    """Return the fault points of a file of the package."""
    return Places(Path(file))


@cache
def all_sites() -> tuple[str, ...]:
    """Return the names of all fault points in the code."""
    files = sorted(set(PACKAGE.rglob("*.py")).difference((PACKAGE / "testing").iterdir()))  # which tests alone run
    return tuple(sorted(site for file in files for site in places(str(file)).sites))


def listed_sites() -> tuple[str, ...]:
    """Return the names that the list in this folder holds."""
    lines = POINTS.read_text("utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def running_site(kind: str) -> str:
    """Return the fault point of this kind that is running: of the innermost frame of the package.

    Raises:
        LookupError: when that frame stands at no place of this kind.
    """
    for frame in _frames():
        if frame.f_code.co_filename.startswith(str(PACKAGE)):
            found = places(frame.f_code.co_filename)
            site = found.commits.get(frame.f_lineno, "") if kind == "commit" else found.calls.get(_end(frame), "")
            if site.startswith(f"{kind}:"):
                return site
            msg = f"no {kind} is known at {frame.f_code.co_filename}:{frame.f_lineno}, in {frame.f_code.co_qualname}"
            raise LookupError(msg)
    msg = f"a {kind} is not of this package"
    raise LookupError(msg)


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _end(frame: FrameType) -> End:
    positions = islice(frame.f_code.co_positions(), frame.f_lasti // 2, None)
    _, end_line, _, end_column = next(positions)
    return end_line or 0, end_column or 0


def fault_names(site: str) -> tuple[str, ...]:
    """Return the moments at which a process may die there."""
    return (f"{site}:before", f"{site}:after") if site.startswith(_BOTH_SIDES) else (site,)


def write_list() -> None:
    """Write the list from the code."""
    head = "# Every fault point; written by `python -m tests.crash --list`, which a new statement or step asks for.\n"
    POINTS.write_text(head + "".join(f"{site}\n" for site in all_sites()), "utf-8")
