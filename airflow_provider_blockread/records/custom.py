"""Custom formats: imported by path, and checked before a window is planned with them."""

from __future__ import annotations

import importlib
from typing import Any, cast

from airflow_provider_blockread.errors import BlockReadError, OptionsError
from airflow_provider_blockread.options import CustomFormat
from airflow_provider_blockread.records.format import RecordFormat
from airflow_provider_blockread.records.model import Walk

_VALUES: dict[str, type] = {
    "name": str,
    "needs_scan": bool,
    "splittable": bool,
    "initial_state": int,
    "unfinished": str,
}
_METHODS = ("for_file", "data_offset", "cut", "walk", "scan", "explain", "content", "decoder")
_ADVICE = "derive it from records.BaseFormat and see docs/custom_formats.md"


def load_object(path: str, what: str) -> Any:  # noqa: ANN401 - whatever the user named
    """Return what the import path `"package.module:name"` names.

    Raises:
        OptionsError: when it cannot be imported; the message gives the path and the cause.
    """
    module, _, name = path.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except Exception as error:  # a module may raise anything while it is imported
        why = f"{type(error).__name__}: {error}"
        msg = (
            f"{what} {path!r} cannot be imported ({why}); correct it, and put its module on PYTHONPATH here and"
            " into SparkJob(py_files=...) for the job"
        )
        raise OptionsError(msg) from error


def make_custom(option: CustomFormat) -> RecordFormat:
    """Return the user's format; the option's encoding, if set, replaces that of the class.

    Raises:
        OptionsError: when it cannot be imported or built, or does not implement the protocol of record formats.
    """
    made = _build(option)
    _require_members(option, made)
    for name, kind in _VALUES.items():
        if not isinstance(getattr(made, name), kind):
            raise _refused(option, f"has {name}={getattr(made, name)!r}, which must be of type {kind.__name__}")
    for name in _METHODS:
        if not callable(getattr(made, name)):
            raise _refused(option, f"has a member {name} that is not a method")
    if option.encoding != CustomFormat.encoding:
        made.encoding = option.encoding
    _check_calls(option, made)
    return cast("RecordFormat", made)


def _build(option: CustomFormat) -> Any:  # noqa: ANN401 - not known to be a format yet
    cls = load_object(option.path, "record format")
    if not isinstance(cls, type):
        raise _refused(option, "is not a class")
    if not all(hasattr(cls, name) for name in _METHODS):  # what is no format is not called
        _require_members(option, cls)
    try:
        return cls(**option.options)
    except BlockReadError:
        raise
    except Exception as error:
        msg = f"record format {option.path!r} does not take the options {dict(option.options)} ({error}); correct them"
        raise OptionsError(msg) from error


def _require_members(option: CustomFormat, found: object) -> None:
    missing = [member for member in (*_VALUES, *_METHODS) if not hasattr(found, member)]
    if missing:
        raise _refused(option, f"lacks {', '.join(missing)}")


def _check_calls(option: CustomFormat, made: Any) -> None:  # noqa: ANN401 - as above
    """Walk an empty buffer, which holds no record, and get the columns."""
    try:
        walk = made.walk(b"", final=True)
        schema = made.decoder().schema
    except Exception as error:
        what = f"raises {type(error).__name__} ({error}) when it walks an empty buffer or makes its decoder"
        raise _refused(option, what) from error
    if not isinstance(walk, Walk) or len(walk.ends) != 0 or len(walk.nexts) != 0:
        raise _refused(option, f"walks an empty buffer to {walk!r} instead of a Walk without records")
    if not schema.names:
        raise _refused(option, "has a decoder without columns")


def _refused(option: CustomFormat, what: str) -> OptionsError:
    return OptionsError(f"record format {option.path!r} {what}; {_ADVICE}")
