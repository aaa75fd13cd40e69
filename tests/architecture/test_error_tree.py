"""The tree that is drawn in the docstring of the errors is that of the classes."""

from __future__ import annotations

import ast
import inspect
import re

from airflow_provider_blockread import errors
from tests.architecture.tree import PACKAGE

_LINE = re.compile(r"^    ([│ ]*)(?:[├└]── )?(\w+Error)\b", re.MULTILINE)


def test_the_tree_of_errors_is_drawn_as_it_is() -> None:
    """Each class stands below its base, and none is left out."""
    drawn: dict[str, str] = {}
    above: list[str] = []
    for line in _LINE.finditer(errors.__doc__ or ""):
        depth = (line.start(2) - line.start() - 4) // 4
        above[depth:] = [line[2]]
        drawn[line[2]] = above[depth - 1] if depth else "Exception"
    classes = (cls for _, cls in inspect.getmembers(errors, inspect.isclass) if cls.__module__ == errors.__name__)
    found = {cls.__name__: cls.__bases__[0].__name__ for cls in classes}

    assert drawn == found


def test_all_errors_are_in_one_place() -> None:
    """No other file defines one: errors that cross the borders of processes are found there by name."""
    known = {name for name, _ in inspect.getmembers(errors, inspect.isclass)}
    elsewhere = [
        f"{path.relative_to(PACKAGE)}: {node.name}"
        for path in PACKAGE.rglob("*.py")
        if path.name != "errors.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and known.intersection(map(ast.unparse, node.bases))
    ]

    assert elsewhere == []


def test_errors_that_another_try_ends_in_too_are_no_others() -> None:
    """Nothing that waiting can heal is among them: a transient error, an owner, a planner, a newer epoch."""
    heal = (errors.TransientError, errors.OwnedError, errors.FencedError, errors.PlanConflictError)

    assert not [cls for cls in heal if issubclass(cls, errors.FINAL_ERRORS)]
    assert errors.error_class("FINAL_ERRORS") is errors.BlockReadError
