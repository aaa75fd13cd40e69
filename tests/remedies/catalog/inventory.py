"""Every error message of the package, as its source writes it: for the catalogs, which name each message's remedy."""

from __future__ import annotations

import ast
import builtins
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from airflow_provider_blockread import errors
from tests.architecture.tree import PACKAGE, package_files

#: What stands in a template for a part that is known at run time only.
HOLE = "{}"

#: No expression of the package has more readings; what has is cut, and its catalog entry cannot match the rest.
_MOST = 64

_FIELD = re.compile(r"\{[^{}]*\}")
_BUILTIN = {name for name, value in vars(builtins).items() if isinstance(value, type)}
_OURS = {
    name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, errors.BlockReadError)
}
_SHOWN = ("Airflow", "Click", "Usage", "BadParameter")

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Bound = dict[str, list[str]]


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message of one file: `text` has `{}` for each part that is known at run time only."""

    file: str
    line: int
    function: str
    text: str


def messages(source: str, file: str) -> list[Message]:
    """Return the messages of a module's source, one for each reading of each raised or returned error."""
    return sorted(_Module(ast.parse(source), file).messages(), key=lambda m: (m.line, m.text))


@cache
def every_message() -> tuple[Message, ...]:
    """Return the messages of all files of the package, in the order of files and lines."""
    found = []
    for path in package_files():
        found.extend(messages(path.read_text(encoding="utf-8"), str(path.relative_to(PACKAGE))))
    return tuple(found)


@cache
def unread_messages() -> tuple[tuple[str, str], ...]:
    """Return file and function of each error of this package whose message is worded elsewhere."""
    found = []
    for path in package_files():
        module = _Module(ast.parse(path.read_text(encoding="utf-8")), str(path.relative_to(PACKAGE)))
        found.extend(module.unread())
    return tuple(dict.fromkeys(found))


class _Module:
    def __init__(self, tree: ast.Module, file: str) -> None:
        self._file = file
        self._all = [f for f in ast.walk(tree) if isinstance(f, _Function)]  # several may have one name
        self._functions = {f.name: f for f in self._all}
        self._constants = _assigned(tree.body)
        self._imported = {
            alias.asname or alias.name: node.module
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(PACKAGE.name)
            for alias in node.names
        }
        self._tree = tree

    def messages(self) -> Iterator[Message]:
        raised = [node.exc for node in ast.walk(self._tree) if isinstance(node, ast.Raise)]
        makers = {name for exc in raised if isinstance(exc, ast.Call) and (name := _called(exc)) in self._functions}
        for function in self._all:
            for node in _own_nodes(function):
                if isinstance(node, ast.Call) and self._is_error(node, raised, within=function.name in makers):
                    yield from self._read(node, function)

    def unread(self) -> Iterator[tuple[str, str]]:
        """Yield file and function of each error that is made of a text whose words are not in the source."""
        for function in self._all:
            for node in _own_nodes(function):
                if isinstance(node, ast.Call) and _called(node) in _OURS and not any(self._read(node, function)):
                    yield self._file, function.name

    def _is_error(self, call: ast.Call, raised: list[ast.expr | None], *, within: bool) -> bool:
        name = _called(call)
        if call in raised:  # whatever is raised, classes in variables too, but for Python's own errors
            return name not in _BUILTIN and not name.endswith("Exception.instance")
        return not within and (name in _OURS or name.startswith(_SHOWN))

    def _read(self, call: ast.Call, function: _Function) -> Iterator[Message]:
        name = _called(call)
        texts = self._returned(name, call, function, {}) if name in self._functions else self._message(call, function)
        for text in dict.fromkeys(texts):
            if any(letter.isalpha() for letter in text):  # else it passes on what another error says
                yield Message(file=self._file, line=call.lineno, function=function.name, text=" ".join(text.split()))

    def _message(self, call: ast.Call, function: _Function) -> list[str]:
        return self._texts(call.args[0], function, {}, before=call.lineno) if call.args else []

    def _returned(self, name: str, call: ast.Call, caller: _Function, outer: _Bound) -> list[str]:
        """Return what the function says, or what the error it makes says, with the arguments in their places."""
        function = self._functions[name]
        names = [a.arg for a in function.args.args if a.arg not in {"self", "cls"}]
        given: dict[str, ast.expr] = dict(zip(names, call.args, strict=False))
        given |= {k.arg: k.value for k in call.keywords if k.arg}
        bound = {key: self._texts(value, caller, outer, before=call.lineno) for key, value in given.items()}
        texts: list[str] = []
        for node in _own_nodes(function):
            if isinstance(node, ast.Return) and node.value is not None:
                value = node.value
                if isinstance(value, ast.Call) and value.args and not self._knows(_called(value)):
                    value = value.args[0]  # of the error that is made
                texts += self._texts(value, function, bound, before=node.lineno)
        return texts or [HOLE]

    def _knows(self, name: str) -> bool:
        return name in self._functions or (name in self._imported and name not in _OURS) or name.endswith(".format")

    def _texts(self, node: ast.expr, function: _Function | None, bound: _Bound, *, before: int) -> list[str]:
        """Return the readings of an expression."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return [node.value]
        if isinstance(node, ast.Name):
            return self._named(node.id, function, bound, before=before)
        if isinstance(node, ast.Call):
            return self._called(node, function, bound, before=before)
        if parts := _parts(node):
            readings = [self._texts(part, function, bound, before=before) for part in parts]
            return ["".join(chosen) for chosen in itertools.islice(itertools.product(*readings), _MOST)]
        return [t for n in _choices(node) for t in self._texts(n, function, bound, before=before)] or [HOLE]

    def _named(self, name: str, function: _Function | None, bound: _Bound, *, before: int) -> list[str]:
        if name in bound:
            return bound[name]
        found = _last_assigned(function, name, before) if function else []
        if found:
            return [t for value in found for t in self._texts(value, function, bound, before=value.lineno)]
        if name in self._constants:
            return self._texts(self._constants[name], None, {}, before=before)
        if name in self._imported:
            return _foreign(self._imported[name]).constant(name)
        return [HOLE]

    def constant(self, name: str) -> list[str]:
        """Return the readings of a constant of the module."""
        return self._named(name, None, {}, before=0)

    def _called(self, call: ast.Call, function: _Function | None, bound: _Bound, *, before: int) -> list[str]:
        name = _called(call)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "format":
            return [_FIELD.sub(HOLE, t) for t in self._texts(call.func.value, function, bound, before=before)]
        if name.endswith(".join") and isinstance(call.args[0], ast.List):
            return self._texts(ast.JoinedStr(call.args[0].elts), function, bound, before=before)
        if name in self._functions and function is not None and name != function.name:
            return self._returned(name, call, function, bound)
        if name in self._imported and function is not None:
            return _foreign(self._imported[name]).said_by(name)
        return [HOLE]

    def said_by(self, name: str) -> list[str]:
        """Return the readings of what a function of the module returns, whatever its arguments."""
        if name not in self._functions:
            return [HOLE]
        return self._returned(name, ast.Call(ast.Name(name), [], []), self._functions[name], {})


def _parts(node: ast.expr) -> list[ast.expr]:
    """Return what the expression joins."""
    match node:
        case ast.JoinedStr(values=parts):
            return parts
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return [left, right]
        case ast.FormattedValue(value=value):
            return [value]
    return []


def _choices(node: ast.expr) -> list[ast.expr]:
    """Return what the expression may come to, if it is one of several."""
    match node:
        case ast.IfExp(body=body, orelse=other):
            return [body, other]
        case ast.BoolOp(values=values):
            return values
    return []


@cache
def _foreign(module: str) -> _Module:
    path = PACKAGE.parent / Path(*module.split("."))
    path = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"
    return _Module(ast.parse(path.read_text(encoding="utf-8")), str(path.relative_to(PACKAGE)))


def _called(call: ast.Call) -> str:
    """Return the name of what is called, without the object it belongs to unless that is a class of another package."""
    match call.func:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name
    return ast.unparse(call.func)


def _own_nodes(function: _Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of functions in it."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, _Function):
            yield node
            waiting.extend(ast.iter_child_nodes(node))


def _assigned(body: list[ast.stmt]) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            found[node.target.id] = node.value
    return found


def _last_assigned(function: _Function, name: str, before: int) -> list[ast.expr]:
    """Return what the name may hold at the line: all that is assigned to it since it was last raised."""
    values: list[ast.expr] = []
    events: list[tuple[int, ast.expr | None]] = []
    for node in _own_nodes(function):
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            events.append((node.lineno, node.value))
        if isinstance(node, ast.Raise) and name in {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}:
            events.append((node.lineno, None))
    for line, value in sorted(events, key=lambda event: event[0]):
        if line >= before:
            break
        values = [] if value is None else [*values, value]
    return values
