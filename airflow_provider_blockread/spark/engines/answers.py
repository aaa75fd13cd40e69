"""Answers of tasks as bytes, which an untrusted server may pass on: data of known types, and never code."""

from __future__ import annotations

import io
import pickle
from dataclasses import is_dataclass
from typing import Any

from airflow_provider_blockread.errors import SparkJobError

_OWN = f"{__name__.partition('.')[0]}."
# Types of values in a partition's name or in statistics of a column.
_VALUES = {("datetime", name) for name in ("date", "datetime", "time", "timedelta", "timezone")} | {
    ("decimal", "Decimal")
}


def answer_from(data: bytes) -> Any:  # noqa: ANN401 - whatever the task returned
    """Return the answer that a task has pickled.

    Raises:
        SparkJobError: when the bytes contain anything except plain values and dataclasses of this package.
    """
    try:
        return _Answer(io.BytesIO(data)).load()
    except SparkJobError:
        raise
    except Exception as error:
        raise _foreign(type(error).__name__) from error


class _Answer(pickle.Unpickler):  # noqa: S301 - restricted below
    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - of the base class
        """Return an allowed class; a pickle can call whatever this returns."""
        if (module, name) in _VALUES:
            return super().find_class(module, name)
        found = super().find_class(module, name) if module.startswith(_OWN) else None
        if isinstance(found, type) and is_dataclass(found):
            return found
        what = f"{module}.{name}"
        raise _foreign(what)


def _foreign(what: str) -> SparkJobError:
    return SparkJobError(
        f"the Spark Connect server returned an answer that no task of this package gives ({what}); check who else runs"
        " code on it, then retry"
    )
