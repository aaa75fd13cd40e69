"""`@blockread(...)`: a pipeline whose function is defined in the DAG's file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import partial, update_wrapper
from typing import Any, NoReturn

from airflow_provider_blockread.decorators.defining import Definition, define
from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import ArrowFunction, DataFrameFunction, FunctionOption
from airflow_provider_blockread.task_group import BlockReadTaskGroup

__all__ = ["BlockReadFunction", "blockread"]

_OPTIONS = {"arrow": ArrowFunction, "dataframe": DataFrameFunction}
_CALL = "call it once for each group, with what differs: {name}(group_id='other', feed='other')"
_REFUSED = {
    "expand": f"the tasks of a group cannot be mapped once more; {_CALL}",
    "expand_kwargs": f"the tasks of a group cannot be mapped once more; {_CALL}",
    "partial": f"it is called once with all its arguments; {_CALL}",
    "override": f"arguments are given in the call; {_CALL}",
}


class BlockReadFunction(partial[BlockReadTaskGroup]):
    """A decorated function: each call in a DAG makes a `BlockReadTaskGroup` and returns it.

    Keyword arguments of the call replace those of the decorator. `function` is the undecorated function, for tests.
    """

    function: Callable[..., Any]

    def __call__(
        self,
        /,
        *positional: Any,  # noqa: ANN401 - those of the group
        columns: Sequence[str] | None = None,
        schema: str | None = None,
        scope: str | None = None,
        **others: Any,  # noqa: ANN401 - those of the group
    ) -> BlockReadTaskGroup:
        """Return a new task group; `columns`, `schema` and `scope` replace those of the function's option."""
        given = {"columns": columns, "schema": schema, "scope": scope}
        own = {name: value for name, value in given.items() if value is not None}
        return super().__call__(*positional, function=replace(self.keywords["function"], **own), **others)

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse attributes that Airflow's decorated tasks have but a group lacks."""
        if name in _REFUSED:
            own = self.function.__name__
            msg = f"{own}.{name}: {_REFUSED[name].format(name=own)}"
            raise AttributeError(msg)
        msg = f"{type(self).__name__} has no attribute {name!r}"
        raise AttributeError(msg)


def blockread(
    *positional: object,
    kind: str | None = None,
    **arguments: Any,  # noqa: ANN401 - those of the task group, which refuses unknown ones
) -> Callable[[Callable[..., Any]], BlockReadFunction]:
    """Return a decorator for a function; each call of the decorated one makes a `BlockReadTaskGroup` that applies it.

    The function gets records of a window and returns rows to write: `RecordBatch -> RecordBatch | None`, or `DataFrame
    -> DataFrame`. Its text is sent to Spark, so it must be a plain function that imports and defines inside itself all
    that it uses. The digest of the text is part of a generation's options: if the function has changed, a window that
    is read again gets a new generation.

    Args:
        positional: must be empty; all arguments are given by name.
        kind: what the function takes, `arrow` or `dataframe`; by default its annotations decide.
        arguments: those of `BlockReadTaskGroup`, and those of `ArrowFunction` or `DataFrameFunction` (`columns`,
            `schema`, `scope`). `group_id` is the function's name by default.

    Raises:
        OptionsError: from the decorator, when the function's text is not self-contained, or its kind is not known.
    """
    if positional:
        msg = "blockread takes its arguments by name: @blockread(source=..., sink=...)"
        raise OptionsError(msg)

    def decorate(function: Callable[..., Any]) -> BlockReadFunction:
        option, others = _option(define(function), kind, arguments)
        named = {"group_id": function.__name__} | others
        made = BlockReadFunction(BlockReadTaskGroup, function=option, **named)
        made.function = function
        update_wrapper(made, function)
        return made

    return decorate


def _option(
    definition: Definition, kind: str | None, arguments: dict[str, Any]
) -> tuple[FunctionOption, dict[str, Any]]:
    """Return the function's option, and the arguments of the task group."""
    cls = _OPTIONS[definition.kind(kind)]
    own = {field.name for field in fields(cls)} & arguments.keys()
    others = {name: value for name, value in arguments.items() if name not in own}
    return cls(definition.text, **{name: arguments[name] for name in own}), others
