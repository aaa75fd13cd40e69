"""Renaming a file of the local disk to a name that is free, which the system looks at in the same step."""

from __future__ import annotations

import ctypes
import errno
import os
import sys

from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.storage.uris import file_uri, printable

_HERE = -100  # a path is relative to the working folder
_NO_REPLACE = 1
_EXCLUSIVE = 4  # the same on macOS
_UNKNOWN = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP})  # to the system, or to this kind of disk


def rename_if_free(source: str, target: str) -> None:
    """Rename a file at once, unless something has the new name.

    Raises:
        FileExistsError: when something has.
        SourceError: when the disk cannot tell in one step.
        OSError: when it cannot be renamed.
    """
    code = _renamed(os.fsencode(source), os.fsencode(target))
    if code in _UNKNOWN:
        msg = (
            f"{printable(file_uri(source))} is not brought to {printable(file_uri(target))}, since this disk might"
            " overwrite what has come there meanwhile; look at both, move the file by hand, then repeat"
        )
        raise SourceError(msg, file_uri(source))
    if code:
        raise OSError(code, os.strerror(code), source, None, target)


def _renamed(source: bytes, target: bytes) -> int:
    """Return 0, or the number of what went wrong."""
    system = ctypes.CDLL(None, use_errno=True)
    try:
        if sys.platform == "darwin":
            failed = system.renamex_np(source, target, _EXCLUSIVE)
        else:
            failed = system.renameat2(_HERE, source, _HERE, target, _NO_REPLACE)
    except AttributeError:  # an old C library
        return errno.ENOSYS
    return ctypes.get_errno() if failed else 0
