"""Regular files of the local disk, opened without waiting for a pipe, and where an open file really lies."""

from __future__ import annotations

import errno
import fcntl
import io
import os
import stat
import time

from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.storage.uris import file_uri, printable

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY  # a pipe nobody writes to would be waited for
_NO_FILES = frozenset({errno.ENXIO, errno.ENODEV})  # what sockets give, and devices that nothing drives
_LEASE_S = 60.0  # what Linux gives the holder of a lease, such as a file server, to let go of a file
_PAUSE_S = 0.05
_DARWIN = getattr(fcntl, "F_GETPATH", None)


def open_regular(path: str) -> io.FileIO:
    """Return an unbuffered file to read.

    What is checked is what was opened, so a file that is exchanged for something else is noticed at any moment.

    Raises:
        SourceError: when it is a pipe, a socket or a device.
        OSError: when it cannot be opened; IsADirectoryError for a folder.
    """
    return io.FileIO(path, opener=_open)


def _open(path: str, _: int) -> int:
    try:
        handle = _without_lease(path)
    except OSError as error:
        if error.errno in _NO_FILES:
            raise _no_file(path) from error
        raise
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # of a folder the caller makes an error of its own
        os.close(handle)
        raise _no_file(path)
    return handle


def _no_file(path: str) -> SourceError:
    uri = file_uri(path)
    msg = f"{printable(uri)} is a pipe, a socket or a device where a file is needed; correct the path"
    return SourceError(msg, uri)


def _without_lease(path: str) -> int:
    """Return a handle, once whoever holds a lease on the file has given it up."""
    until = time.monotonic() + _LEASE_S
    while True:
        try:
            return os.open(path, _FLAGS)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(_PAUSE_S)


def real_path(file: io.FileIO) -> str:
    """Return the path of an open file, in which the system has resolved all links.

    Raises:
        OSError: when the system does not tell.
    """
    if _DARWIN is not None:
        return os.fsdecode(fcntl.fcntl(file, _DARWIN, bytes(1024)).rstrip(b"\0"))
    return os.readlink(f"/proc/self/fd/{file.fileno()}")  # noqa: PTH115 - making a Path costs more than the call
