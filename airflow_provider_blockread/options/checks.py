"""Checks that several options share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

from airflow_provider_blockread.errors import OptionsError


def is_template(text: str) -> bool:
    """Return whether a text is a Jinja template, whose value is known only when a task runs."""
    return "{{" in text or "{%" in text


def known_too_late(value: object, hint: object) -> str:
    """Return what a value is, as the beginning of an advice, if it is needed before tasks run; else an empty text."""
    if hasattr(value, "iter_references"):  # Airflow's result of a task, parameter of a DAG or item of a mapping
        return (
            f"a {type(value).__name__}, which has its value only when tasks run; write a template if it takes text, or"
        )
    accepted = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    no_text = all(one in (int, float, NoneType) or get_origin(one) is Literal for one in accepted)
    return "a template;" if no_text and isinstance(value, str) and is_template(value) else ""


def requiring_value(kind: str, name: str, render: Callable[[str], str]) -> Callable[[str], str]:
    """Return `render`, but with a refusal of templates that are rendered to None: that would be taken for a name.

    Raises:
        OptionsError: from the returned function, with the option's name and the template; also what `render` raises.
    """

    def rendered(text: str) -> str:
        try:
            found = render(text)
        except OptionsError as error:
            msg = f"{kind}: {name}: {error}"
            raise OptionsError(msg) from None
        if found == "None" and is_template(text):
            msg = f"{kind}: {name} is None after rendering {text}; give what the template names a value"
            raise OptionsError(msg)
        return found

    return rendered


def parsed_or_template(kind: str, name: str, value: str | float | None, parse: Callable[[Any], object]) -> None:
    """Refuse a value that `parse` refuses; None and templates are not checked, since these are parsed when rendered.

    Raises:
        OptionsError: with the option's name, and the message of `parse`.
    """
    if value is None or is_template(str(value)):
        return
    try:
        parse(value)
    except OptionsError as error:
        msg = f"{kind}: {name}: {error}"
        raise OptionsError(msg) from None


def one_of(kind: str, name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is not among the allowed ones.

    Raises:
        OptionsError: with the option's name and the allowed values.
    """
    if value not in allowed:
        msg = f"{kind}: {name} must be one of {', '.join(allowed)}, not {value!r}"
        raise OptionsError(msg)


def above_zero(kind: str, name: str, value: object) -> None:
    """Refuse a value that is not a whole number above 0.

    Raises:
        OptionsError: with the option's name.
    """
    if not isinstance(value, int) or value < 1:
        msg = f"{kind}: {name} must be a whole number above 0, not {value!r}"
        raise OptionsError(msg)


def zero_or_above(kind: str, name: str, value: object) -> None:
    """Refuse a value that is not a whole number from 0 on.

    Raises:
        OptionsError: with the option's name.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        msg = f"{kind}: {name} must be a whole number, 0 or above, not {value!r}"
        raise OptionsError(msg)


def true_or_false(task: str, name: str, value: object) -> None:
    """Refuse anything but a truth value: a template is a text, and any text is true.

    Raises:
        OptionsError: with the option's name.
    """
    if not isinstance(value, bool):
        msg = (
            f"{task}: {name} must be True or False where the DAG is parsed, not {value!r}; to decide when it runs,"
            " branch between two tasks"
        )
        raise OptionsError(msg)


def line_ends(kind: str, name: str, *uris: str) -> None:
    """Refuse URIs that end with a line end: they would name another place, where nothing is found.

    Raises:
        OptionsError: with the option's name.
    """
    if any(uri.endswith(("\n", "\r")) for uri in uris):
        msg = f"{kind}: {name} ends with a line end, as a variable that was read from a file may; remove it"
        raise OptionsError(msg)


def only_json(kind: str, options: Mapping[str, object]) -> None:
    """Refuse arguments of a class that JSON cannot hold, such as a set or a `Path`: the ledger stores them.

    Raises:
        OptionsError: with the argument's name.
    """
    for name, value in options.items():
        if (wrong := _beyond_json(value)) is not None:
            msg = (
                f"{kind}: option {name} has a value of type {type(wrong).__name__}, which the ledger cannot store; give"
                " texts, numbers, lists and mappings"
            )
            raise OptionsError(msg)


def _beyond_json(value: object) -> object | None:
    """Return the first value inside another that is neither JSON nor bytes; None if there is none."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return next((wrong for inner in value if (wrong := _beyond_json(inner)) is not None), None)
    return None if isinstance(value, (str, bytes, int, float, NoneType)) else value


def import_path(kind: str, path: str, name: str) -> None:
    """Refuse a path that does not name a module and, after a colon, what `name` says: `Class` or `function`.

    Raises:
        OptionsError: with the form of such a path.
    """
    if not all(path.partition(":")[::2]):
        msg = f"{kind}: path must be 'package.module:{name}', not {path!r}"
        raise OptionsError(msg)
