"""What makes a Python worker of Spark quicker to start and to run."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder

import pyarrow as pa

from airflow_provider_blockread.options import AsRead, CustomFormat, GenerationOptions

_FREED = 16 * 2**20  # bytes; more than a chunk's arrays take


class _NoPandas(MetaPathFinder):
    """Says that there is no pandas."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """Refuse pandas, and leave all else to other finders."""
        del path, target
        if fullname == "pandas":
            msg = "pandas is left out of this process"
            raise ModuleNotFoundError(msg, name=fullname)


def leave_pandas_out(options: GenerationOptions) -> None:
    """Keep pyarrow from loading pandas in this process, unless code of the user's may want it.

    pyarrow imports pandas, which takes a second, only to see whether the first thing that it turns into an array is a
    `Series`. Told that there is none, it does not ask again; `to_pandas` still works.
    """
    if not isinstance(options.function, AsRead) or isinstance(options.record_format, CustomFormat):
        return
    if "pandas" in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(finder)


def keep_freed_memory() -> None:
    """Free one large block: glibc then gives chunk after chunk the same pages, instead of fresh ones each time.

    Touching fresh pages took a fifth of a read's time. Elsewhere this costs and changes nothing.
    """
    bytes(_FREED)
