"""Objects of a user's class, such as custom formats: imported by path, and checked before anything is planned."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, cast

from airflow_provider_blockread.errors import BlockReadError, OptionsError, TransientError
from airflow_provider_blockread.options import CustomFormat
from airflow_provider_blockread.records.format import RecordFormat
from airflow_provider_blockread.records.model import Walk


@dataclass(frozen=True, kw_only=True)
class Demands:
    """What an object of a user's class must have: `what` it is, the class that has the rest, and where to read on."""

    what: str
    base: str
    page: str
    values: Mapping[str, type]
    methods: Sequence[str]


_FORMAT = Demands(
    what="record format",
    base="records.BaseFormat",
    page="docs/custom_formats.md",
    values={"name": str, "needs_scan": bool, "splittable": bool, "initial_state": int, "unfinished": str},
    methods=("for_file", "data_offset", "cut", "walk", "scan", "explain", "content", "decoder"),
)


#: Folders where `load_object` looks for a module that is not installed; "" is the working directory. They join
#: `sys.path` only then: libraries try to import modules that this system lacks, and files there may have their names.
MODULE_FOLDERS: list[str] = []


def load_object(path: str, what: str) -> Any:  # noqa: ANN401 - whatever the user named
    """Return what the import path `"package.module:name"` names.

    Raises:
        OptionsError: when it cannot be imported; the message gives the path and the cause.
    """
    module, _, name = path.partition(":")
    package = module.partition(".")[0]
    try:
        if package not in sys.modules and getattr(find_spec(package), "origin", None) is None:  # a mere folder has none
            sys.path += [folder for folder in MODULE_FOLDERS if folder not in sys.path]
        return getattr(importlib.import_module(module), name)
    except Exception as error:  # a module may raise anything while it is imported
        why = f"{type(error).__name__}: {error}"
        msg = (
            f"{what} {path!r} cannot be imported ({why}); correct it, and put its module on PYTHONPATH here and"
            " into SparkJob(py_files=...), or --py-file, for the job"
        )
        raise OptionsError(msg) from error


def make_object(
    path: str, options: Mapping[str, object], demands: Demands, make: Callable[..., Any] = lambda cls, own: cls(**own)
) -> Any:  # noqa: ANN401 - of the user's class
    """Return an object of the class that an import path names.

    Args:
        path: of the class.
        options: arguments of its constructor.
        demands: what the object must have.
        make: calls the class with the options, and with what else it takes.

    Raises:
        OptionsError: when the class cannot be imported or built, or lacks what is demanded.
        TransientError: when the class does not reach what it needs.
    """
    cls = load_object(path, demands.what)
    if not isinstance(cls, type):
        raise _refused(demands, path, "is not a class")
    _require_members(path, cls, demands, demands.methods)  # what is of another kind is not called
    try:
        made = make(cls, options)
    except BlockReadError:
        raise
    except OSError as error:
        msg = f"{demands.what} {path!r} cannot be made now ({type(error).__name__}: {error}); retry when it can"
        raise TransientError(msg) from error
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        msg = f"{demands.what} {path!r} does not take the options {dict(options)} ({why}); correct them, or the class"
        raise OptionsError(msg) from error
    _require_members(path, made, demands, (*demands.values, *demands.methods))
    _require_types(path, made, demands)
    return made


def make_custom(option: CustomFormat) -> RecordFormat:
    """Return the user's format; the option's encoding, if set, replaces that of the class.

    Raises:
        OptionsError: when it cannot be imported or built, or does not implement the protocol of record formats.
    """
    made = make_object(option.path, option.options, _FORMAT)
    if option.encoding != CustomFormat.encoding:
        made.encoding = option.encoding
    _check_calls(option, made)
    return cast("RecordFormat", made)


def _require_members(path: str, found: object, demands: Demands, members: Sequence[str]) -> None:
    missing = [member for member in members if not hasattr(found, member)]
    if missing:
        raise _refused(demands, path, f"lacks {', '.join(missing)}")


def _require_types(path: str, made: object, demands: Demands) -> None:
    for name, kind in demands.values.items():
        if not isinstance(getattr(made, name), kind):
            raise _refused(demands, path, f"has {name}={getattr(made, name)!r}, which must be of type {kind.__name__}")
    for name in demands.methods:
        if not callable(getattr(made, name)):
            raise _refused(demands, path, f"has a member {name} that is not a method")


def _check_calls(option: CustomFormat, made: Any) -> None:  # noqa: ANN401 - as above
    """Walk an empty buffer, which holds no record, and get the columns."""
    try:
        walk = made.walk(b"", final=True)
        schema = made.decoder().schema
    except Exception as error:
        what = f"raises {type(error).__name__} ({error}) when it walks an empty buffer or makes its decoder"
        raise _refused(_FORMAT, option.path, what) from error
    if not isinstance(walk, Walk) or len(walk.ends) != 0 or len(walk.nexts) != 0:
        raise _refused(_FORMAT, option.path, f"walks an empty buffer to {walk!r} instead of a Walk without records")
    if not schema.names:
        raise _refused(_FORMAT, option.path, "has a decoder without columns")


def _refused(demands: Demands, path: str, what: str) -> OptionsError:
    return OptionsError(f"{demands.what} {path!r} {what}; derive it from {demands.base} and see {demands.page}")
