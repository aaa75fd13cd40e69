"""The edge to the stores: their errors become this package's, once, with the place and what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from airflow_provider_blockread.errors import BlockReadError, FileMissingError, SourceError, TransientError
from airflow_provider_blockread.storage.faults import Fault, Kind, fault_of

_NO_PATH = {errno.ENAMETOOLONG, errno.ELOOP}
#: What is said of a fault besides those of absence and of denied access, the store's word in it.
_SAYS: dict[Kind, tuple[type[BlockReadError], str]] = {
    "expired": (
        SourceError,
        "the credentials have expired or are not accepted ({}); renew them in the connection, then retry",
    ),
    "archived": (
        SourceError,
        "the object is archived ({}); restore it in its store, or exclude it (`blockread windows exclude`), then retry",
    ),
    "refused": (SourceError, "the store refuses this request ({}); correct the path or the connection, then retry"),
    "throttled": (TransientError, "the store asks to slow down ({}); try again later, with less at once"),
    "failed": (TransientError, "the store failed ({}); try again when it is back"),
}
_OF_THE_SYSTEM: dict[type[OSError], str] = {
    FileExistsError: " is a file where a folder is needed; correct the path, or move the file away",
    NotADirectoryError: ": a part of this path is a file where a folder is needed; correct the path",
    IsADirectoryError: " is a folder where a file is needed; correct the path",
}
_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def translated(uri: str) -> Iterator[None]:
    """Turn what a store raises about `uri` into an error that names it, and says nothing that may be secret.

    Raises:
        FileMissingError: when nothing is there.
        SourceError: when access is denied, or it is a folder where a file is needed or the other way round.
        TransientError: for any other input or output error.
    """
    try:
        yield
    except BlockReadError:
        raise
    except Exception as error:
        found = as_error(uri, error)
        if found is None:
            raise
        raise found from quiet(error)


def quiet(error: Exception) -> Exception | None:
    """Return an error that may be shown as a cause; what a client says about its requests may hold secrets."""
    return error if fault_of(error) is None else None


def as_error(uri: str, error: Exception) -> BlockReadError | None:
    """Return the error of this package that says what an error of the system or of a store means, None for others."""
    fault = fault_of(error)
    if fault is not None and not _plainer(error, fault):
        return _of_client(uri, fault)
    if isinstance(error, OSError):
        return system_error(uri, error)
    if isinstance(error, (RuntimeError, ValueError)):  # what some file systems make of a refusal
        return _of_client(uri, Fault(kind="refused", word=type(error).__name__))
    return None


def _plainer(error: BaseException, fault: Fault) -> bool:
    """Tell whether the error's own type says more than the client's code below it."""
    return isinstance(error, (FileNotFoundError, PermissionError, FileExistsError)) and fault.kind in {
        "failed",
        "refused",
        "denied",
    }


def _of_client(uri: str, fault: Fault) -> BlockReadError:
    if fault.kind == "missing":
        return _missing(uri)
    if fault.kind == "denied":
        return _denied(uri, f" ({fault.word})")
    kind, says = _SAYS[fault.kind]
    return kind(f"{uri}: {says.format(fault.word)}")


def system_error(uri: str, error: OSError) -> BlockReadError:
    """Return the error of this package that says what an error of the operating system means."""
    if isinstance(error, FileNotFoundError):
        return _missing(uri)
    if isinstance(error, PermissionError) or str(error).startswith("Forbidden"):  # as gcsfs says it
        return _denied(uri, "")
    for kind, says in _OF_THE_SYSTEM.items():
        if isinstance(error, kind):
            return SourceError(f"{uri}{says}")
    reason = error.strerror or type(error).__name__
    if error.errno in _NO_PATH:
        return SourceError(f"{uri}: no file can have this path ({reason}); correct it")
    if error.errno in _FULL:
        return TransientError(f"{uri}: the store is full ({reason}); free space there, then retry")
    return TransientError(f"{uri}: the store failed ({reason}); try again when it is back")


def _missing(uri: str) -> BlockReadError:
    return FileMissingError(
        f"{uri} does not exist; restore it, or exclude it from its window (`blockread windows exclude`)"
    )


def _denied(uri: str, word: str) -> BlockReadError:
    renew = "; renew its key, signature or token if that has expired" if word else ""
    return SourceError(
        f"{uri}: access denied{word}; let the account that runs this (or its connection) in{renew}, then retry"
    )
