"""Calls of the operating system for local files: open if regular, resolve, rename if the new name is free."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import io
import os
import stat
import sys
import time

from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.storage.uris import file_uri, readable_uri

#: For opening a file that may have become something else: otherwise a pipe without a writer would block.
READ_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_NO_FILES = frozenset({errno.ENXIO, errno.ENODEV})  # the errors for sockets, and for devices without a driver
_LEASE_S = 60.0  # that Linux gives the holder of a lease, such as a file server, to release a file
_PAUSE_S = 0.05
_ENCODING = sys.getfilesystemencoding()
_DARWIN = getattr(fcntl, "F_GETPATH", None)
_HERE = -100  # a path is relative to the working folder
_NO_REPLACE = 1
_EXCLUSIVE = 4  # the same on macOS
_UNKNOWN = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP})  # to the system, or to this kind of disk


def require_utf8(path: str) -> None:
    """Make sure that this process takes the names of files as UTF-8: in another encoding a file has another name.

    Raises:
        SourceError: if the path is not ASCII, and the process has another encoding.
    """
    if not path.isascii() and _ENCODING != "utf-8":
        uri = file_uri(path)
        msg = (
            f"{readable_uri(uri)}: this process takes names of files as {_ENCODING}, so one that takes them as UTF-8"
            " would take this file for another one and read it again; start this process with PYTHONUTF8=1, or in a"
            " locale of UTF-8 (LC_ALL=C.UTF-8), then retry"
        )
        raise SourceError(msg, uri)


def open_regular(path: str) -> io.FileIO:
    """Return an unbuffered file to read.

    The opened file itself is checked, so that a file that is replaced by something else is noticed at any moment.

    Raises:
        SourceError: if it is a pipe, a socket or a device, or if this process does not take its name as UTF-8.
        OSError: if it cannot be opened; IsADirectoryError for a folder.
    """
    require_utf8(path)  # before the name is encoded for the system
    return io.FileIO(path, opener=lambda path, _: open_handle(path))


def open_handle(path: str) -> int:
    """Return a handle of a file to read, which the caller closes; that of a folder cannot be read.

    Raises:
        SourceError: if it is a pipe, a socket or a device, or if this process does not take its name as UTF-8.
        OSError: if it cannot be opened.
    """
    require_utf8(path)
    try:
        handle = _without_lease(path)
    except OSError as error:
        if error.errno in _NO_FILES:
            raise _no_file(path) from error
        raise
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # the caller raises its own error for a folder
        os.close(handle)
        raise _no_file(path)
    return handle


def _no_file(path: str) -> SourceError:
    uri = file_uri(path)
    msg = f"{readable_uri(uri)} is a pipe, a socket or a device where a file is needed; correct the path"
    return SourceError(msg, uri)


def _without_lease(path: str) -> int:
    """Return a handle, after the holder of a lease on the file has released it."""
    until = time.monotonic() + _LEASE_S
    while True:
        try:
            return os.open(path, READ_FLAGS)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(_PAUSE_S)


def real_path(handle: int) -> str:
    """Return the path of an open file or folder, with all links resolved by the system.

    Raises:
        OSError: if the system does not provide the path.
    """
    if _DARWIN is not None:
        return os.fsdecode(fcntl.fcntl(handle, _DARWIN, bytes(1024)).rstrip(b"\0"))
    return os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115 - making a Path costs more than the call


def rename_if_free(source: str, target: str) -> None:
    """Rename a file, unless something has the new name; the system checks this in the same step.

    Raises:
        FileExistsError: if something has the new name.
        SourceError: if the disk cannot check and rename in one step.
        OSError: if it cannot be renamed.
    """
    code = _renamed(os.fsencode(source), os.fsencode(target))
    if code in _UNKNOWN:
        msg = (
            f"{readable_uri(file_uri(source))} is not moved to {readable_uri(file_uri(target))}, since this disk might"
            " overwrite a file that has appeared there meanwhile; check both, move the file by hand, then repeat"
        )
        raise SourceError(msg, file_uri(source))
    if code:
        raise OSError(code, os.strerror(code), source, None, target)


def _renamed(source: bytes, target: bytes) -> int:
    """Return 0, or the number of the error."""
    system = ctypes.CDLL(None, use_errno=True)
    try:
        if sys.platform == "darwin":
            failed = system.renamex_np(source, target, _EXCLUSIVE)
        else:
            failed = system.renameat2(_HERE, source, _HERE, target, _NO_REPLACE)
    except AttributeError:  # an old C library
        return errno.ENOSYS
    return ctypes.get_errno() if failed else 0
