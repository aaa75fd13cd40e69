"""Making Spark's Python workers start and run faster."""

from __future__ import annotations

import sys
from functools import cache
from importlib.abc import MetaPathFinder

import pyarrow as pa

from airflow_provider_blockread.options import AsRead, CustomFormat, GenerationOptions

_FREED = 16 * 2**20  # bytes; more than a chunk's arrays take


class _NoPandas(MetaPathFinder):
    """Reports that pandas is not installed."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """Refuse pandas, and leave everything else to other finders."""
        del path, target
        if fullname == "pandas":
            msg = "pandas is left out of this process"
            raise ModuleNotFoundError(msg, name=fullname)


def leave_pandas_out(options: GenerationOptions) -> None:
    """Keep pyarrow from loading pandas in this process, unless the user's code may need it.

    pyarrow imports pandas, which takes a second, only to check whether the first value that it converts is a `Series`.
    If the import fails, pyarrow does not try again; `to_pandas` still works.
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


@cache  # glibc remembers; a second block would be made of those pages, and filling it takes milliseconds
def keep_freed_memory() -> None:
    """Free one large block, once in a process: glibc then reuses the same pages for chunk after chunk.

    Without this, touching new pages took a fifth of the time of a read. With another libc it has no effect.
    """
    bytes(_FREED)
